"""The names that PyTorch gives to parameters of operations which its nodes keep: ``grad_fn._saved_dim`` and the like."""

from __future__ import annotations

ONE_PARAMETER: dict[str, tuple[str, ...]] = {
    "cumsum": ("dim",),
    "flip": ("dims",),
    "gather": ("dim",),
    "permute": ("dims",),
    "unsqueeze": ("dim",),
}
"""Operations whose only parameter stands by itself, which may be a tuple."""

NAMES_OF_PARAMETERS: dict[str, tuple[str, ...]] = {
    "amax": ("dim", "keepdim"),
    "amin": ("dim", "keepdim"),
    "as_strided": ("size", "stride", "storage_offset"),
    "cat": ("dim",),
    "clamp": ("min", "max"),
    "index_select": ("dim",),
    "mean_dim": ("dim", "keepdim"),
    "select": ("dim", "index"),
    "slice": ("dim", "start", "end", "step"),
    "softmax": ("dim",),
    "log_softmax": ("dim",),
    "stack": ("dim",),
    "sum_dim": ("dim", "keepdim"),
    **ONE_PARAMETER,
}
"""The names of parameters in the order in which operations have them, by the operation's name; dimensions are counted from the first."""

PARAMETERS = frozenset(name for names in NAMES_OF_PARAMETERS.values() for name in names) | {"indices", "self_sym_sizes"}
