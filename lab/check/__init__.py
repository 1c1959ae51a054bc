"""The check of derivatives: against differences, and of both modes against each other.

.. code-block:: text

    gradient_check.py: check ──► checker.py: the tests of one program ──► differences.py, rounding.py, precision.py
            │                               └──► comparison.py ──► report.py: findings
            └──► declared_rules.py, culprit.py: where a mismatch comes from
"""

from wengert.lab.check.gradient_check import TESTS, check
from wengert.lab.check.report import CheckReport

__all__ = ["TESTS", "CheckReport", "check"]
