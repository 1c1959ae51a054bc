"""Automatic differentiation as IR passes: forward mode, linearization, transposition, reverse mode.

::

    rule.py         the rule table: one declaration per op            rules/    the declarations, by family of ops
    forward.py      the sweep that emits primal, coefficient and linear ops
    jvp.py          forward mode: linear ops beside the primal ones
    linearize.py    linear ops in a function of their own              policies.py: what is kept for it
    backward.py     transposition of linear ops                        transpose.py: of functions
    join.py         a function and its linear part put together        vjp.py: the three in one go
    direct/         the other strategy of reverse mode: adjoints written out op by op
    custom.py       derivatives that functions declare                 expand.py, lower.py: the ad dialect
"""

from wengert.transforms.ad.derive import jvp, vjp

__all__ = ["jvp", "vjp"]
