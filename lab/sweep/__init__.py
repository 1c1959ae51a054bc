"""Sweeps: a program over sizes and modes, counted, predicted, timed and recorded, with the growth of each figure and where the modes cross.

.. code-block:: text

    axes.py: n=2..4096 ──► Subject.at(sizes) ──► task.py, in worker processes ──► records ──► series.py ──► report.py: tables
                           subject.py: a function, a file            resume: what is recorded       fit.py, crossover.py, formulas.py    plot.py: SVG
"""
