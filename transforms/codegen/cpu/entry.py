"""Builds the text of a program: its entry, and the functions that this calls.

The entry's ABI is ``i32 entry(ptr table, ptr arena)``. The table holds pointers: inputs, outputs, constants, and last the Python function
that runs an op in the interpreter, by its number, on an array of pointers to its operands and results. The entry returns 0, or at once
another status where that failed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager

from xdsl.dialects.builtin import LocationAttr

from wengert.dialects.kernel import InterpretOp
from wengert.dialects.kernel.memory import ALIGNMENT
from wengert.ir.location.locations import left_off, sources
from wengert.transforms.codegen.cpu.alike import merged
from wengert.transforms.codegen.cpu.cells import PROMOTE
from wengert.transforms.codegen.cpu.clock import Clock, Timed
from wengert.transforms.codegen.cpu.inline import marked
from wengert.transforms.codegen.cpu.pointers.described_jobs import DECLARATION as JOB_DECLARATION
from wengert.transforms.codegen.cpu.pointers.described_jobs import description
from wengert.transforms.codegen.cpu.pointers.frames import FILL, FILL_TEXT, FRAME, IN_ARENA, NOWHERE, Place, frame_constant, store_pointers
from wengert.transforms.codegen.cpu.pointers.near_pointers import near_pointers
from wengert.transforms.codegen.cpu.polls import DECLARATION, UNLIKELY
from wengert.transforms.codegen.cpu.shared_functions import Divided, divided
from wengert.transforms.codegen.cpu.subnormals import flushed_task, flushing
from wengert.transforms.codegen.cpu.symbols import BLAS_HOLD, BLAS_RELEASE, FREE, POLL, POOL_CLOSE, POOL_JOB, POOL_OPEN, POOL_RUN
from wengert.transforms.codegen.cpu.tasks import DECLARATIONS, run_task
from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.codegen.llvm.debug_lines import described, mark, with_debug_lines
from wengert.transforms.codegen.llvm.debug_lines import marked as marked_function
from wengert.transforms.schedule.chunks import Split, stay_awake
from wengert.transforms.schedule.target import Target

ENTRY = "entry"
MOST_CELLS = 64
"""So many cells, or fewer, are never used for another value."""
_END = "; end"
"""Marks the returns of the entry, for the instructions before them, which are known at the end."""


class EntryBuilder:
    """The entry of a program while its blocks are written, and what they share.

    Attributes:
        builder: writes the function that the blocks are in: the entry, or for a while a task of it.
        inputs, outputs: the pointers of the table that the function takes and gives.
        interpreted: the ops that the callback runs, by number.
        free_cells: cells of the function that is being written that may be used again, by their bytes.
        places: the pointers of that function that lie at fixed places.
        symbols: functions from outside of the program, and their declarations.
        clock: times kernels, in a program that is profiled.
        runs: how often loops around run what is written.
    """

    def __init__(
        self,
        target: Target,
        strict: bool,
        inputs: int,
        outputs: int,
        constants: int,
        *,
        flush: bool = False,
        timed: Timed = "no",
        debug_lines: bool = False,
        describe: bool = False,
    ):
        self.target = target
        self.strict = strict
        self.mode = flushing(target) if flush else None
        self.debug_lines = debug_lines
        self._describe = describe
        self._origins: dict[str, dict[LocationAttr, None]] = {}
        self.functions: dict[str, str] = {}
        self.helpers: dict[str, str] = {}
        self.builder = FunctionBuilder()
        self.uses_tapes = False
        self.interpreted: list[InterpretOp] = []
        self.symbols: dict[str, str] = {}
        self.runs = 1
        self._frame = 0
        self._shared_ns = 0.0
        self.places: dict[str, Place] = {"%arena": IN_ARENA, "null": NOWHERE}
        self._descriptions: list[str] = []
        self._frames: dict[int, str] = {}
        self._uses_cells = False
        self._cells = 0
        self._cell_bytes: dict[str, int] = {}
        self.free_cells: dict[int, list[str]] = {}
        self._constants = inputs + outputs
        self._numbered = 0
        self._passed: dict[int, str] = {}
        self.callback = self._table(self._constants + constants)
        pointers = [self._table(number) for number in range(inputs + outputs)]
        self.inputs, self.outputs = pointers[:inputs], pointers[inputs:]
        self.clock: Clock | None = None
        if timed != "no":
            counters, log = (self._table(self._constants + constants + n) for n in (1, 2))
            self.clock = Clock(counters, log, timed == "kernels")
            self.helpers.update(Clock.helpers)

    def text(self) -> str:
        """The whole program."""
        kernels = self._kernels_and_entry()
        text = self._with_conversions("\n".join([*self.helpers.values(), kernels]))
        return with_debug_lines(text) if self.debug_lines else text

    def divided(self) -> Divided:
        """The program without the functions that it shares with others, and these."""
        if self.debug_lines or not self.target.has_f16:  # marks of lines, and conversions that LLVM calls, belong to one module
            return Divided(self.text(), ())
        kernels = self._kernels_and_entry()
        division = divided(self.helpers, kernels)
        return Divided(self._with_conversions(division.text), division.functions)

    def _with_conversions(self, text: str) -> str:
        """The text with the conversions of f16 that LLVM may call."""
        if "half" not in text:
            return text
        from wengert.transforms.codegen.llvm.half import half_conversions  # here, because hardly any program needs it

        return text + half_conversions(text, native=self.target.has_f16)

    def _kernels_and_entry(self) -> str:
        """All of the program but what its kernels refer to."""
        ends = self._ends()
        lines = near_pointers(self.builder.body(), "%table")
        body = "\n".join([text for line in [*self._beginning(), *lines, _END] for text in (ends if line is _END else [line])])
        promoted = f" {PROMOTE}" if self._uses_cells else ""
        entry = f"define i32 @{ENTRY}(ptr %table, ptr %arena) {self.target.attributes}{promoted} {{\n{body}\nret i32 0\n}}\n"
        named, common = {name: text.replace("@KERNEL", f"@{name}") for text, name in self.functions.items()}, ""
        if not self.debug_lines:  # lines are those of one kernel
            named, common = merged(named)
        kernels = marked(named, entry)
        kernels = [f"{self._description(name)}{kernel}" for kernel, name in zip(kernels, self.functions.values(), strict=True)]
        return "\n".join([common, *kernels, *self._descriptions, entry])

    def next_constant(self) -> int:
        """The number of the constant that comes next."""
        self._numbered += 1
        return self._numbered - 1

    def coming_constants(self, count: int) -> dict[int, str]:
        """The pointers of so many constants that come next, by their numbers."""
        return {number: self.constant(number) for number in range(self._numbered, self._numbered + count)}

    def constant(self, number: int) -> str:
        """The pointer of a constant."""
        return self._passed.get(number) or self._table(self._constants + number)

    def _table(self, number: int) -> str:
        """A pointer of the table."""
        pointer = self.builder.load("ptr", self.builder.op(f"getelementptr ptr, ptr %table, i64 {number}"))
        self.places[pointer] = Place(number)
        return pointer

    def offset(self, pointer: str, count: int) -> str:
        """An address so many bytes further on."""
        result, place = self.builder.offset(pointer, "i8", count), self.places.get(pointer)
        if place is not None:
            self.places[result] = place.further(count)
        return result

    def cell(self, count: int) -> str:
        """A pointer to so many bytes on the stack, which become registers where no kernel that is called needs their address."""
        if free := self.free_cells.get(count):
            return free.pop()
        self._uses_cells = True
        self._cells += 1
        name = self.builder.alloca(f"[{count} x i8]", ALIGNMENT)
        self._cell_bytes[name] = count
        return name

    def release(self, pointers: Iterable[str]) -> None:
        """Cells among these pointers are not needed any more where the entry is now. Where there are many cells they are used again: LLVM's time for
        their promotion grows faster than their number. Few are not, since each is better off with values of one type."""
        if self._cells > MOST_CELLS:
            for name in pointers:
                if (count := self._cell_bytes.get(name)) is not None:
                    self.free_cells.setdefault(count, []).append(name)

    def at(self, location: LocationAttr) -> None:
        """Says where the instructions that follow come from."""
        if self.debug_lines and (line := mark(location)) is not None:
            self.builder.line(line)

    def function(self, text: str, location: LocationAttr) -> str:
        """The name of the function with this text, which is made once; kernels of several places may share it."""
        if self.debug_lines:
            text = marked_function(text, location)
        name = self.functions.get(text)
        if name is None:
            name = self.functions[text] = f"kernel{len(self.functions)}{described(location) if self.debug_lines else ''}"
        if self._describe:
            self._origins.setdefault(name, {})[location] = None
        return name

    def _description(self, name: str) -> str:
        """Comments that say which ops a function is fused from."""
        lines: list[str] = []
        for location in self._origins.get(name, ()):
            listed = [str(source) for source in sources(location)]
            more = left_off(location)
            lines += [f"; {name}: {listed[0]}", *(f";   {other}" for other in listed[1:]), *([f";   and {more} more"] if more else [])]
        return "".join(f"{line}\n" for line in lines)

    def external(self, symbol: str, declaration: str) -> None:
        """Declares a function from outside of the program."""
        self.symbols[symbol] = self.helpers[symbol] = declaration

    def job(self, task: str, pointers: Sequence[str], cut: Split, scratch: str = "null", count: int = 0) -> None:
        """Runs a task on the thread pool; every thread but this one has ``count`` bytes of scratch memory of its own."""
        if self.mode is not None:
            task, self.helpers[f"{task}.flushed"] = flushed_task(task, self.mode, self.target.attributes)
        self._shared_ns += self.runs * cut.nanoseconds
        places = [place for pointer in (scratch, *pointers) if (place := self.places.get(pointer)) is not None]
        if len(places) <= len(pointers):
            self.external(POOL_RUN, DECLARATIONS[POOL_RUN])
            self._frame = max(self._frame, len(pointers))
            run_task(self.builder, task, pointers, cut, scratch, count)
            return
        self.external(POOL_JOB, JOB_DECLARATION)
        name = f"job{len(self._descriptions)}"
        self._descriptions.append(description(name, task, places[1:], cut, places[0], count))
        self.builder.call_void(POOL_JOB, [("ptr", f"@{name}"), ("ptr", "%table"), ("ptr", "%arena")])

    def call_framed(self, name: str, pointers: Sequence[str]) -> None:
        """Calls a kernel that takes its pointers in a frame."""
        frame = self._call_frame(len(pointers))
        places = [place for pointer in pointers if (place := self.places.get(pointer)) is not None]
        if len(places) < len(pointers):
            store_pointers(self.builder, frame, pointers)
        else:
            self.helpers[FILL] = FILL_TEXT
            constant = f"frame{len(self._descriptions)}"
            self._descriptions.append(frame_constant(constant, places))
            self.builder.call_void(FILL, [("ptr", frame), ("ptr", f"@{constant}"), ("ptr", "%table"), ("ptr", "%arena")])
        self.builder.call_void(name, [("ptr", frame)])

    def _call_frame(self, count: int) -> str:
        """Memory on the stack for so many pointers, which the calls of one function share."""
        room = 1 << (count - 1).bit_length()
        if room not in self._frames:
            self._frames[room] = self.builder.alloca(f"[{room} x ptr]", 16)
        return self._frames[room]

    @contextmanager
    def task(self, constants: dict[int, str]) -> Generator[FunctionBuilder]:
        """Opens a function of its own, into which blocks are written; yields its builder. It is handed these constants, by number, in registers."""
        entry, free, places, frames = self.builder, self.free_cells, self.places, self._frames
        self.builder, self.free_cells, self._passed, self.places, self._frames = FunctionBuilder(), {}, constants, {}, {}
        yield self.builder
        self.builder, self.free_cells, self._passed, self.places, self._frames = entry, free, {}, places, frames

    @contextmanager
    def timing(self, number: int) -> Generator[None]:
        """Times what is written inside, if the program is profiled; ``number`` as :class:`~wengert.transforms.codegen.cpu.clock.Clock` counts."""
        start = "" if self.clock is None else self.clock.begin(self.builder)
        yield
        if self.clock is not None:
            self.clock.end(self.builder, start, number)

    def check(self, status: str) -> None:
        """Ends the entry with a status that is not 0."""
        with self.builder.leaving(self.builder.icmp("ne", "i32", status, 0)):
            self.builder.line(_END)
            self.builder.line(f"ret i32 {status}")

    def poll(self) -> None:
        """Ends the entry if a signal's handler has raised an exception."""
        self.external(POLL, DECLARATION)
        self.check(self.builder.call(POLL, "i32", []))

    def poll_in_loop(self, iteration: str, every: int) -> None:
        """Polls once in ``every`` iterations, a power of two, by the number of the iteration."""
        if every == 1:
            self.poll()
            return
        last = self.builder.binary("and", "i64", iteration, every - 1)
        with self.builder.when(self.builder.icmp("eq", "i64", last, every - 1), UNLIKELY):
            self.poll()

    @contextmanager
    def repeated(self, count: int) -> Generator[None]:
        """A loop runs so often what is written inside."""
        self.runs *= count
        yield
        self.runs //= count

    def _ends(self) -> list[str]:
        """The instructions before each return of the entry."""
        ends: list[str] = []
        if self._opens_pool:
            for symbol in (POOL_OPEN, POOL_CLOSE):
                self.external(symbol, DECLARATIONS[symbol])
            ends.append(f"call void @{POOL_CLOSE}()")
        if self.uses_tapes:
            ends.append(f"call void @{FREE}(ptr %tapes)")
        if self._calls_blas:
            for symbol in (BLAS_HOLD, BLAS_RELEASE):
                self.external(symbol, DECLARATIONS[symbol])
            ends.append(f"call void @{BLAS_RELEASE}()")
        if self.mode is not None:
            self.helpers.update(zip(self.mode.declarations, self.mode.declarations, strict=True))
            ends += self.mode.leave
        return ends

    def _beginning(self) -> list[str]:
        """The instructions at the beginning of the entry."""
        lines: list[str] = []
        if self._frame:
            lines.append(f"{FRAME} = alloca [{self._frame} x ptr]")
        if self.mode is not None:
            lines += self.mode.enter
        if self._opens_pool:
            lines.append(f"call void @{POOL_OPEN}()")
        if self._calls_blas:
            lines.append(f"call void @{BLAS_HOLD}()")
        if self.uses_tapes:
            lines += ["%tapes = alloca [2 x i64], align 16", "call void @llvm.memset.p0.i64(ptr %tapes, i8 0, i64 16, i1 false)"]
        return lines

    @property
    def _opens_pool(self) -> bool:
        return stay_awake(self._shared_ns)

    @property
    def _calls_blas(self) -> bool:
        return any(symbol.startswith(("wg.blas.", "wg.lapack.")) for symbol in self.symbols)
