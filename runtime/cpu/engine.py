"""Loads machine code: object files into memory by LLVM, and the addresses of their functions.

The symbols that LLVM knows belong to one thread at a time: loading holds the lock of compiler stages. Machine code lives as long as the
:class:`Library` that holds it.
"""

from __future__ import annotations

from typing import Any

from wengert.ir.pipeline.stages import locked
from wengert.runtime.cpu.object_file import undefined, visible
from wengert.transforms.schedule.host import host, llvm_binding


class UnresolvedError(RuntimeError):
    """Machine code refers to symbols that are not there."""


class Library:
    """The machine code of object files, which may refer to each other, in memory.

    LLVM tells debuggers of it in any case (GDB's interface for such code); ``perf`` is told if asked.

    Raises:
        UnresolvedError: it refers to a symbol that is nowhere in the process. LLVM would load it and put zero for the address.
    """

    def __init__(self, *images: bytes, profiled: bool = False):
        llvm = llvm_binding()

        @locked
        def loaded() -> Any:
            machine = llvm.Target.from_triple(host().triple).create_target_machine(opt=0, jit=True)  # it only loads what is compiled already
            engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)  # the first one also makes the C library's functions known
            if missing := [name for name in sorted(undefined(*images)) if not llvm.address_of_symbol(name)]:
                raise UnresolvedError(f"machine code refers to {', '.join(missing)}, which this process does not have")
            for image in images:
                engine.add_object_file(llvm.ObjectFileRef.from_data(image))
            engine.finalize_object()
            return engine

        self._engine = loaded()
        if profiled:
            from wengert.runtime.cpu.perf_map import write_map  # here, because few programs are profiled

            for image in images:
                if (name := visible(image)) is not None:
                    write_map(image, name, self.address(name))

    @locked
    def address(self, name: str) -> int:
        """The address of a function."""
        return self._engine.get_function_address(name)
