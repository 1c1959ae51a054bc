"""Files of inputs with mistakes in them: archives and arrays cut short, with other bytes, other names, other headers."""

from __future__ import annotations

import io
import random
import zipfile
from pathlib import Path

import numpy as np

import wengert as wg
from wengert.lab.inputs import read_inputs
from wengert.runtime.errors import InputError

PROGRAM = """func.func @main(%x: tensor<4x3xf64>, %k: tensor<2xi32>) -> (tensor<4x3xf64>, tensor<2xi32>) {
  return %x, %k : tensor<4x3xf64>, tensor<2xi32>
}
"""
HEADERS = (
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (4, 3), }",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (-4, -3), }",
    b"{'descr': '8f8', 'fortran_order': False, 'shape': (4, 3), }",
    b"{'descr': ('<f8', (2, 2)), 'fortran_order': False, 'shape': (), }",
    b"{'descr': '|O', 'fortran_order': False, 'shape': (4, 3), }",
    b"{'descr': '<U99999999', 'fortran_order': False, 'shape': (1,), }",
    b"{'descr': '<V16', 'fortran_order': True, 'shape': (4, 3), }",
    b"{'descr': [('a', '<f8'), ('b', '|O')], 'fortran_order': False, 'shape': (4,), }",
    b"{'descr': '<f8', 'fortran_order': 3, 'shape': 'x'}",
    b"{'descr': __import__('os'), 'fortran_order': False, 'shape': (4, 3)}",
    b"{" * 3000,
    b"",
)
NAMES = ("in_0", "in_1", "in_00", "in_99999999999999999999999", "arg0", "x", "../x", "arr_0", "in_0.npy", "\u03c6", "a" * 300)


def npy(choose: random.Random) -> bytes:
    """An array as a file, whole or with another header."""
    stream = io.BytesIO()
    np.save(stream, choose.choice((np.ones((4, 3)), np.ones((3, 4), np.float32), np.ones(2, np.int32), np.zeros((0, 3)), np.array(["a"]))))
    data = stream.getvalue()
    if choose.random() < 0.4:
        header = choose.choice(HEADERS)
        data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data[128:]
    return data


def archive(choose: random.Random) -> bytes:
    """An .npz file of up to four members."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", choose.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as file:
        names = [choose.choice(NAMES) for _ in range(choose.randrange(5))] + ["in_0", "in_1"] * (choose.random() < 0.8)
        members = dict.fromkeys(name + ".npy" * (choose.random() < 0.9) for name in names)
        for name in members:
            file.writestr(name, npy(choose) if choose.random() < 0.9 else b"text")
    return stream.getvalue()


def damaged(data: bytes, choose: random.Random) -> bytes:
    """A file with other bytes, more or fewer of them."""
    changed = bytearray(data)
    for _ in range(choose.choice((1, 1, 2, 8))):
        if not changed:
            break
        at, kind = choose.randrange(len(changed)), choose.randrange(4)
        if kind == 0:
            changed[at] = choose.randrange(256)
        elif kind == 1:
            changed[at] ^= 1 << choose.randrange(8)
        elif kind == 2:
            del changed[at : at + choose.choice((1, 4, 100))]
        else:
            changed[at:at] = choose.randbytes(choose.choice((1, 4, 100)))
    return bytes(changed) if choose.random() < 0.8 else bytes(changed[: choose.randrange(len(changed) + 1)])


def file_mutant(seed: int) -> tuple[str, bytes]:
    """The name's ending and the contents of the file of a seed."""
    choose = random.Random(seed)
    data, ending = (archive(choose), ".npz") if choose.random() < 0.8 else (npy(choose), ".npy")
    return choose.choice((ending, ending, ending, ".npz", ".txt")), damaged(data, choose) if choose.random() < 0.6 else data


def check_inputs(seed: int, folder: Path) -> str:
    """Reads the file of a seed as the inputs of a program; a mistake is an InputError."""
    ending, data = file_mutant(seed)
    path = folder / f"inputs{ending}"
    path.write_bytes(data)
    try:
        read_inputs(path, wg.parse(PROGRAM).signature)
    except InputError as error:
        refused = str(error)
    else:
        return "read"
    assert str(path) in refused or "argument" in refused
    return "refused"
