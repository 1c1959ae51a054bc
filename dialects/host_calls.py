"""Calls of Python functions from programs: ``stablehlo.custom_call @wengert_host_function``.

The function itself lives in the process that imported the program; the call names it by the process and a number, and carries what an error can say of it::

    %y = stablehlo.custom_call @wengert_host_function(%x) {api_version = 4 : i32, has_side_effect = true, backend_config =
           {function = "numpy.sin", number = 3 : i64, process = "5f0c..", ordered = true}} : (tensor<3xf64>) -> tensor<3xf64>

With ``has_side_effect`` it is neither removed nor repeated, and all such calls of a program are made in its order.
"""

from __future__ import annotations

from msgspec import Struct
from xdsl.ir import Operation

from wengert.dialects.stablehlo import CustomCallOp

TARGET = "wengert_host_function"
JAX_TARGETS = (
    "xla_ffi_python_cpu_callback",
    "xla_ffi_partitioned_python_cpu_callback",
    "xla_python_cpu_callback",
    "xla_ffi_python_gpu_callback",
    "xla_python_gpu_callback",
)
"""What JAX writes for a callback, in texts that say nothing else of it."""


class HostCall(Struct, frozen=True):
    """The properties of a called function that its call states.

    Attributes:
        function: its name and place, for people.
        number, process: which it is; a number of a process.
        ordered: whether it must not be called for many batch elements.
    """

    function: str
    number: int
    process: str
    ordered: bool


def host_call(op: Operation) -> HostCall | None:
    """The Python function that an op calls, and what the op says of it; None for any other op."""
    if not isinstance(op, CustomCallOp) or op.call_target_name.data != TARGET:
        return None
    options = op.options
    return HostCall(str(options.get("function", "?")), int(options.get("number", -1)), str(options.get("process", "")), bool(options.get("ordered", 0)))


def called_function(op: Operation) -> str | None:
    """``the Python function NAME`` for an op that calls one, or one of a JAX process; None for any other op."""
    if (call := host_call(op)) is not None:
        return f"the Python function {call.function}"
    if isinstance(op, CustomCallOp) and op.call_target_name.data in JAX_TARGETS:
        return f"a Python function (@{op.call_target_name.data}, number {op.options.get('index', '?')})"
    return None
