"""Taylor mode: truncated Taylor polynomials of a function along a path.

.. code-block:: text

    series.py: the coefficients of a value     sweep.py: those of each op's results from those of its operands
    recurrences.py: ops that say how            by_rule.py: all others, whose derivative rule is read as a differential equation
    powers.py, systems.py, factorisations.py: more of these
    control.py: loops and branches              taylor.py: the function; taylor_pass.py: the pass
"""
