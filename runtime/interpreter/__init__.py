"""The interpreter: NumPy definitions of every op, written for reading. It says what programs mean and counts what they cost.

``run`` executes a function of a module, ``evaluate`` and ``prepare`` one op, ``Counter`` counts. Each family of ops has
its file in ``ops``, with the arithmetic that NumPy lacks in ``numerics``; importing them fills the table of rules.
"""

from wengert.runtime.interpreter.counter import Counter
from wengert.runtime.interpreter.execution import Prepared, evaluate, prepare, run
from wengert.runtime.interpreter.machine import Machine
from wengert.runtime.interpreter.ops import (
    buffers,
    communication,
    compound,
    contraction,
    control,
    conversion,
    custom_call,
    dynamic,
    elementwise,
    factorizations,
    fft,
    indexing,
    kernels,
    linalg,
    loops,
    random,
    reduction,
    shape,
    sorting,
    windows,
)
from wengert.runtime.interpreter.rules import EVALUATION_RULES

FAMILIES = (
    buffers,
    communication,
    compound,
    contraction,
    control,
    conversion,
    custom_call,
    dynamic,
    elementwise,
    factorizations,
    fft,
    indexing,
    kernels,
    linalg,
    loops,
    random,
    reduction,
    shape,
    sorting,
    windows,
)

__all__ = ["EVALUATION_RULES", "FAMILIES", "Counter", "Machine", "Prepared", "evaluate", "prepare", "run"]
