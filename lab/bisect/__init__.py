"""Finds the pass that breaks a program: the walk over a pipeline, bisection within a pass, and reproducers (``wengert bisect``)."""

from wengert.lab.bisect.bisection import Bisection, bisect
from wengert.lab.bisect.culprits import Culprit
from wengert.lab.bisect.faults import Fault

__all__ = ["Bisection", "Culprit", "Fault", "bisect"]
