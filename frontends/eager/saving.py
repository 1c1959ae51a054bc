"""``save`` and ``load``: values with tensors in them, in files.

A file is a pickle. What a pickle names is run when it is read, so :func:`load` lets it name only what tensors and containers are made of, unless the
file is said to be trusted.
"""

from __future__ import annotations

import pickle
from collections.abc import Generator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO, Any, TypeAlias

File: TypeAlias = "str | PathLike[str] | IO[bytes]"

_TENSORS = {("wengert.eager.tensor", "_restored"), ("collections", "OrderedDict"), ("_codecs", "encode")}
_ARRAYS = {(f"numpy.{core}.{module}", name) for core in ("_core", "core") for module, name in (
    ("multiarray", "_reconstruct"), ("multiarray", "scalar"), ("numeric", "_frombuffer"),
)}  # fmt: skip
_NUMPY = {("numpy", name) for name in ("ndarray", "dtype")} | {("numpy.dtypes", f"{kind}DType") for kind in ("Float32", "Float64", "Int32", "Int64", "Bool")}
_BUILTINS = {("builtins", name) for name in ("set", "frozenset", "complex", "slice", "bytearray")}
ALLOWED = _TENSORS | _ARRAYS | _NUMPY | _BUILTINS
"""The names that a file may have in it that is not trusted: (module, name)."""


class _Reading(pickle.Unpickler):
    """Reads what tensors, arrays and containers are made of, and nothing else."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        if (module_name, global_name) not in ALLOWED:
            raise pickle.UnpicklingError(
                f"load: the file names {module_name}.{global_name}, which is no part of tensors and containers; a file that is trusted not to run anything"
                " harmful is read with weights_only=False"
            )
        return super().find_class(module_name, global_name)


@contextmanager
def _opened(file: File, mode: str) -> Generator[Any]:
    """A file by its path, or one that is open already, which stays open."""
    if isinstance(file, str | PathLike):
        with Path(file).open(mode) as stream:
            yield stream
    else:
        yield file


def save(obj: Any, f: File, *, pickle_protocol: int = 5) -> None:
    """Writes a tensor, or a value with tensors in it (the ``state_dict`` of a module, lists, dictionaries), to a file.

    A tensor is written as its elements, whether it requires a gradient, and whether it is a parameter; not with its place on a tape. Tensors that share
    memory do not share it any more when they are read.

    Args:
        obj: the value.
        f: a path, or a file that is open for writing bytes.
        pickle_protocol: the version of the format.

    >>> import io
    >>> import wengert.eager as eager
    >>> file = io.BytesIO()
    >>> eager.save({"w": eager.tensor([1.0, 2.0], requires_grad=True)}, file)
    >>> _ = file.seek(0)
    >>> eager.load(file)
    {'w': tensor([1., 2.], requires_grad=True)}
    """
    with _opened(f, "wb") as stream:
        pickle.dump(obj, stream, protocol=pickle_protocol)


def load(f: File, map_location: Any = None, *, weights_only: bool = True, mmap: bool = False) -> Any:
    """The value that :func:`save` has written.

    Args:
        f: a path, or a file that is open for reading bytes.
        map_location: taken for compatibility; there is one device.
        weights_only: whether the file may have nothing but tensors, arrays, numbers, text and containers in it. Otherwise it may have objects of any
            class, and run any code while it is read.
        mmap: taken for compatibility; files are read wholly.

    Raises:
        pickle.UnpicklingError: the file is none of these, or names something else.
    """
    with _opened(f, "rb") as stream:
        return (_Reading if weights_only else pickle.Unpickler)(stream).load()
