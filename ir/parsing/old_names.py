"""Present names of ops that had others in MLIR before 2022, when the standard dialect was taken apart: for hints.

Texts in the old names are refused and not read, because MLIR's own parser refuses them: what is a program here is one there.
"""

from __future__ import annotations

_ARITH = (
    "addf addi andi ceildivsi cmpf cmpi constant divf floordivsi index_cast mulf muli negf ori remf select shli sitofp subf subi trunci truncf uitofp xori"
    " bitcast extsi extui extf fptosi fptoui divsi divui remsi remui shrsi shrui"
)
_OTHERS = {
    "signed_ceildiv": "ceildivsi", "signed_divi": "divsi", "signed_floordiv": "floordivsi", "signed_remi": "remsi", "signed_shift_right": "shrsi",
    "divi_signed": "divsi", "divi_unsigned": "divui", "remi_signed": "remsi", "remi_unsigned": "remui", "shift_left": "shli",
    "shift_right_signed": "shrsi", "shift_right_unsigned": "shrui", "fpext": "extf", "fptrunc": "truncf", "sexti": "extsi", "zexti": "extui",
    "and": "andi", "or": "ori", "xor": "xori", "maxf": "maximumf", "minf": "minimumf",
}  # fmt: skip
_MATH = {"absf": "absf", "ceilf": "ceil", "copysign": "copysign", "floorf": "floor", "fmaf": "fma"} | {
    name: name for name in ("atan", "atan2", "cos", "exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "powf", "rsqrt", "sin", "sqrt", "tanh")
}
_MEMREF = "alloc alloca assume_alignment copy dealloc load memref_cast memref_reinterpret_cast memref_reshape store subview transpose view"

NEW_NAMES: dict[str, str] = {
    **{name: f"arith.{name}" for name in _ARITH.split()},
    **{name: f"arith.{new}" for name, new in _OTHERS.items()},
    **{name: f"math.{new}" for name, new in _MATH.items()},
    **{name: f"memref.{name.removeprefix('memref_')}" for name in _MEMREF.split()},
    "assert": "cf.assert",
    "br": "cf.br",
    "cond_br": "cf.cond_br",
    "switch": "cf.switch",
    "dim": "tensor.dim' or 'memref.dim",
    "rank": "tensor.rank' or 'memref.rank",
    "splat": "tensor.splat",
    "atomic_rmw": "memref.atomic_rmw",
    "extract_element": "tensor.extract",
    "tensor_from_elements": "tensor.from_elements",
    "dynamic_tensor_from_elements": "tensor.generate",
    "subtensor": "tensor.extract_slice",
    "subtensor_insert": "tensor.insert_slice",
    "tensor_cast": "tensor.cast",
    "tensor_load": "bufferization.to_tensor",
    "tensor_to_memref": "bufferization.to_buffer",
    "memref.buffer_cast": "bufferization.to_buffer",
    "memref.tensor_load": "bufferization.to_tensor",
    "memref.clone": "bufferization.clone",
    "linalg.init_tensor": "tensor.empty",
    "linalg.tensor_expand_shape": "tensor.expand_shape",
    "linalg.tensor_collapse_shape": "tensor.collapse_shape",
    "linalg.pad_tensor": "tensor.pad",
    "arith.maxf": "arith.maximumf",
    "arith.minf": "arith.minimumf",
    "math.abs": "math.absf",
}
"""The new name by the old one; those of the standard dialect without the ``std.`` that they may have."""

_FORMS = {"linalg.init_tensor": ", with the extents that are not known as operands: tensor.empty(%n) : tensor<?x4xf32>"}
"""What else has changed."""


def hint_of_new_name(name: str) -> str:
    """The present name of an op of this old name, as a hint; empty where the name is not one."""
    new = NEW_NAMES.get(name.removeprefix("std."))
    return "" if new is None or new == name else f"the old name of '{new}'{_FORMS.get(name, '')}"
