"""The interpreter of the gpu level: kernels of devices in NumPy, their threads in lockstep, with every access checked.

What a kernel does that has no meaning on a device is a :class:`KernelFaultError` at the place of the op, with the thread and the block: a barrier that some
threads of a group do not reach, an access outside of a buffer, a read of what nobody has written, a data race.
"""

from wengert.runtime.interpreter.gpu.batch import KernelFaultError
from wengert.runtime.interpreter.gpu.launch import Kernel

__all__ = ["Kernel", "KernelFaultError"]
