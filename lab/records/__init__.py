"""Records of experiments: what was run, where, and every sample that was taken, in one SQLite file that other machines' files merge into.

.. code-block:: text

    Program ──► work.py: what is run, and the hash that names it ──► execution.py: counts, samples ──► record.py ──► database.py (schema.py)
                    environment.py: commit, machine, versions ─────────────────────────────────────┘                      │
       replay.py: runs a record again ◄── selection.py: a run, a commit, a file ◄─────────────────────────────────────────┤
       comparison.py: two sets of records, by verdict.py                               export.py: JSON, Parquet, pyperf ◄─┘
"""
