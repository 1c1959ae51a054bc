"""Checkpointing under a byte budget: which values of the forward part of a reverse derivative are kept, and which are computed again and when.

.. code-block:: text

    derivative ──► graph.py: ops by number ──► segments.py, cheap.py, cuts.py, binomial.py: orders of execution
                                                     │ order.py: an order as IR, what is repeated behind barriers
                                                     ▼
                            frontier.py: arena (down to bufferize) and flops of each ──► the plan for a budget
"""
