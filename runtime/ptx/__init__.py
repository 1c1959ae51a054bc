"""Executes PTX without a GPU: an interpreter on NumPy arrays, one element for each thread, that looks for errors while it runs.

>>> from wengert.runtime import ptx
>>> memory = ptx.Memory()
>>> image = ptx.Image(ptx.parse(text, "kernels.ptx"), memory)
>>> x = memory.put(numbers)
>>> image.launch("scale", grid=4, block=256, arguments=[x, np.float32(2)])
>>> memory.read(x, numbers.shape, numbers.dtype)
"""

from wengert.runtime.ptx.errors import Fault, LaunchError, MemoryAccessError, ParseError, UnsupportedError
from wengert.runtime.ptx.launch import Image
from wengert.runtime.ptx.machine import Checks
from wengert.runtime.ptx.memory import Memory
from wengert.runtime.ptx.parser import parse
from wengert.runtime.ptx.program import Module

__all__ = ["Checks", "Fault", "Image", "LaunchError", "Memory", "MemoryAccessError", "Module", "ParseError", "UnsupportedError", "parse"]
