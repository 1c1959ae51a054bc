"""Costs as polynomials in what a program's text leaves open.

.. code-block:: text

    text with tensor<?xf64>, or several instances of a program
        │  refine-shapes, jvp, vjp at a few sizes
        ▼
    modules that differ in numbers only
        │  instances.py: each extent and integer constant becomes a polynomial in the sizes
        ▼
    extents ──► opcost: flops and bytes of each op ───────────────┐
        │                                                         ▼
        └────► trip_counts.py: iterations of each loop ──► executions.py: how often each block runs ──► program_cost

A polynomial's symbols are sizes (``n``, at least 1), total iterations of loops that depend on data (``T0``) and how often a branch was taken
(``B0_1``). ``measured.py`` reads the latter two off a run of the interpreter: with them put in, costs are what that run counts.
"""
