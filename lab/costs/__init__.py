"""Costs of programs and their derivatives: counted, predicted and measured.

.. code-block:: text

    Program ──► transforms/analysis/program_cost: ops, flops, bytes as polynomials ──┐
       │                                                                             ├─► cost_report.py: rows, decision.py: the line that decides
       ├──► compiled.py: kernels, launches and memory, read off the IR on buffers ───┤
       │         └──► time_model.py: seconds by kernel class ◄── calibration.py ─────┘
       └──► formulas.py: ops, flops, bytes as polynomials in sizes too, from instances

Of one program: :func:`wengert.transforms.analysis.program_cost.program_cost` counts, :func:`compiled` gives kernels and memory,
:func:`predicted_time` seconds; all three are polynomials in what only a run tells. :func:`report` puts all of it together for a program and its
derivatives. ``exactness.py`` compares it with what the interpreter counts and with what compiled programs allocate and take, over a corpus.
"""

from wengert.lab.costs.compiled import compiled
from wengert.lab.costs.cost_report import CostReport, report
from wengert.lab.costs.formulas import Formulas, formulas, formulas_of_instances, formulas_of_points, formulas_of_shapes
from wengert.lab.costs.rows import Row
from wengert.lab.costs.time_model import Prediction, predicted_time

__all__ = [
    "CostReport",
    "Formulas",
    "Prediction",
    "Row",
    "compiled",
    "formulas",
    "formulas_of_instances",
    "formulas_of_points",
    "formulas_of_shapes",
    "predicted_time",
    "report",
]
