"""Values that equations say, whose derivatives follow from these and not from what solves them; and matrix-free solvers of linear systems.

::

    equations.py   custom_linear_solve, custom_root, custom_fixed_point
    krylov.py      cg, bicgstab, gmres
"""
