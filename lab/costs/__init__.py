"""What programs and their derivatives cost: counted, predicted and measured.

.. code-block:: text

    Program ──► transforms/analysis/program_cost: ops, flops, bytes as polynomials ──┐
       │                                                                             ├─► cost_report.py: rows, decision.py: the line that decides
       ├──► compiled.py: kernels, launches and memory, read off the IR on buffers ───┤
       │         └──► time_model.py: seconds by kernel class ◄── calibration.py ─────┘
       └──► sizes.py: the same as polynomials in sizes, from instances

:func:`report` puts all of it together for a program and its derivatives. ``exactness.py`` compares it with what the interpreter counts and
with what compiled programs allocate and take, over a corpus.
"""

from wengert.lab.costs.cost_report import CostReport, Row, report

__all__ = ["CostReport", "Row", "report"]
