"""Compares strategies of reverse mode over a corpus: whether their derivatives are right, and what they cost."""

from wengert.lab.compare.outcome import FIGURES, Outcome
from wengert.lab.compare.summary import Mean, Pair, means, worst
from wengert.lab.compare.task import CompareTask, run_task

__all__ = ["FIGURES", "CompareTask", "Mean", "Outcome", "Pair", "means", "run_task", "worst"]
