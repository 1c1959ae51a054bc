"""Automatic differentiation as IR passes: forward mode, linearization, transposition, reverse mode, batching.

::

    derive.py          from a request to a derivative                    passes.py: the same as passes, by name
    rule.py            the rule table: one declaration per op            rules/: the declarations, by family of ops; case.py: their tests
    forward/           the sweep that emits primal, coefficient and linear ops; forward mode
    linear/            linear programs: linearize.py, transpose.py, join.py, and vjp.py, which is the three in one go
    residuals/         which values are stored for a linear program, and which it recomputes
    direct/            the other strategy of reverse mode: an adjoint per op
    batching/          vectorization over a batch (vmap)                 jacobians/: modes batched over a basis
    requests/          the ad dialect: requests in the text, derivatives that functions declare
    rewrites/          expansion of ops without rules before differentiation
    building_blocks/   matrix algebra, scans and products that rules are written with
"""
