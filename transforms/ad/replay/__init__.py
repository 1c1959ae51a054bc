"""Loops whose reverse derivative keeps a few states and computes the others again: binomial checkpointing as IR.

.. code-block:: text

    core.for, core.while ──► linearize.py: a loop that stores states in slots, and ad.replay, its linear part
                                                     │ transpose.py: ad.replay the other way round
                                                     ▼
                  schedule.py: when to store ──► expand.py: ad.replay as loops, counted.py and uncounted.py
"""
