"""Ways to compute a derivative, side by side.

.. code-block:: text

    Program ──► plans.py: every plan ──► row.py: costs of each ──► choice.py: the line that decides
                   │ plan.py: a program and its directions,             ▲
                   │          compiled: inputs in, blocks out           │
                   └──────────────► measuring.py: times, errors ────────┘      table.py: all of it; accuracy.py: over a corpus
"""
