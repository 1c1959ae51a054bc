"""Threading buffers through a function: each op on buffers becomes ops on tensors, in the order of the text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, DictionaryAttr, FunctionType, MemRefType, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects.upstream import UpstreamOp
from wengert.ir.construction import erase, insert_before, replace_uses, retype, unverified
from wengert.ir.diagnostics import did_you_mean
from wengert.ir.tensor_types import DYNAMIC
from wengert.ir.traversal import all_ops
from wengert.transforms.upstream import requests
from wengert.transforms.upstream.affine import reduction_of
from wengert.transforms.upstream.convert.errors import refusal
from wengert.transforms.upstream.convert.integers import number_of
from wengert.transforms.upstream.memrefs import regions
from wengert.transforms.upstream.memrefs.buffers import Buffers, View, buffers_of, is_buffer, written_by
from wengert.transforms.upstream.memrefs.views import VIEWS, Strided, cast_to, step_of, tensor_of
from wengert.transforms.upstream.requests import Callee, callee_of
from wengert.transforms.upstream.writer import Writer, replaced

Globals = dict[str, UpstreamOp]


class Module:
    """The functions of a module, whose buffers become tensors one after the other: those that a request for a derivative names before the one that asks."""

    def __init__(self, module: ModuleOp):
        self.functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
        self.globals = globals_of(module)
        self.written: dict[str, list[int]] = {}
        self.pending: list[str] = []

    def thread(self, name: str) -> None:
        """Makes the buffers of a function tensors, once."""
        function = self.functions[name]
        if name not in self.written and function.body.blocks:
            self.pending.append(name)
            self.written[name] = thread_function(function, self) if _concerns(function) else []
            self.pending.pop()

    def callee(self, op: Operation, name: str) -> Callee:
        """The function that a request names; an error where there is none, or where it asks for its own derivative."""
        if name not in self.functions or not self.functions[name].body.blocks:
            raise refusal(op, f"there is no function @{name} with a body", did_you_mean(name, self.functions))
        if name in self.pending:
            raise refusal(op, f"the derivative of @{name} is asked for in its own body")
        self.thread(name)
        return callee_of(self.functions[name], self.written[name])


def _concerns(function: FuncOp) -> bool:
    """Whether a function has buffers or requests."""
    arguments = (argument for block in function.body.blocks for argument in block.args)
    ops = all_ops(function)
    values = (value for op in ops for value in (*op.operands, *op.results))
    return any(op.name in requests.NAMES for op in ops) or any(is_buffer(value) for value in (*arguments, *values))


def thread_function(function: FuncOp, known: Module) -> list[int]:
    """Makes a function's buffers tensors, in place: its arguments become tensors, and the final contents of those that it writes become results.

    Returns the positions of the arguments that it writes.
    """
    if len(function.body.blocks) != 1:
        hint = "mlir-opt --lift-cf-to-scf makes structured control flow of jumps"
        raise refusal(function, f"@{function.sym_name.data} has {len(function.body.blocks)} blocks; one is supported", hint)
    block = function.body.block
    threading = Threading(known)
    first, last = block.first_op, block.last_op
    assert first is not None
    assert isinstance(last, ReturnOp)
    start, entries = Writer(first), dict[View, SSAValue]()
    for argument in block.args:
        if is_buffer(argument):
            _check_type(function, argument)
            contents = start.one("bufferization.to_tensor", (argument,), tensor_of(argument.type))
            entries[threading.buffers.new_root(argument, contents, number=argument.index)] = contents
    threading.block(block, after=cast(Operation, next(reversed(entries.values())).owner) if entries else None)
    end = Writer(last)
    for index, value in enumerate(list(last.operands)):
        if is_buffer(value):
            last.operands[index] = threading.buffers.read(end, threading.buffers.view(last, value))
    written = [root for root, contents in entries.items() if threading.buffers.contents[root] is not contents]
    last.operands = [*last.operands, *(threading.buffers.contents[root] for root in written)]
    threading.erase_views()
    for root, contents in entries.items():
        argument, entry = block.args[cast(int, root.number)], contents.owner
        retype(argument, root.type)
        replace_uses(contents, argument)
        erase(cast(Operation, entry))
    _retype_function(function, written)
    return [cast(int, root.number) for root in written]


def _check_type(op: Operation, value: SSAValue) -> None:
    buffer = cast("MemRefType[Any]", value.type)
    if isinstance(buffer.element_type, MemRefType):
        raise refusal(op, f"buffers in buffers ({buffer}) are not supported")


def _retype_function(function: FuncOp, written: list[View]) -> None:
    """Gives a function the type that its block has by now; the results that are final contents are named so."""
    block, last = function.body.block, function.body.block.last_op
    assert last is not None
    count = len(function.function_type.outputs)
    function.properties["function_type"] = FunctionType.from_lists([a.type for a in block.args], [o.type for o in last.operands])
    if written:
        kept = list(function.res_attrs.data) if function.res_attrs is not None else [DictionaryAttr({})] * count
        function.res_attrs = ArrayAttr([*kept, *(_named(block, root) for root in written)])


def _named(block: Block, root: View) -> DictionaryAttr:
    number = cast(int, root.number)
    hint = block.args[number].name_hint
    return DictionaryAttr({"jax.result_info": StringAttr(f"contents of argument {number}" + (f" ({hint})" if hint else ""))})


class Threading:
    """Goes through blocks with the buffers' contents at each point."""

    def __init__(self, known: Module):
        self.buffers = Buffers()
        self.known = known
        self.views: list[Operation] = []

    def block(self, block: Block, after: Operation | None = None) -> None:
        """Threads buffers through the ops of a block (those after an op), but for its terminator."""
        last, ops = block.last_op, list(block.ops)
        for op in ops[ops.index(after) + 1 :] if after is not None else ops:
            if isinstance(op, UpstreamOp) and op is not last:
                self.op(op)

    def op(self, op: UpstreamOp) -> None:
        """Threads buffers through an op."""
        handler = HANDLERS.get(op.name) or regions.STRUCTURES.get(op.name)
        if handler is not None:
            handler(self, op)
        elif op.name in requests.NAMES:
            requests.HANDLERS[op.name](self, op)
        elif op.name in VIEWS:
            self._view(op)
        elif op.name.startswith("linalg.") and (buffers_of(op) or op.regions):
            self._structured(op)
        elif op.regions:
            regions.read_only(self, op)
        elif buffers_of(op) or any(is_buffer(result) for result in op.results):
            hint = "a buffer that is chosen at run time is not supported" if op.name == "arith.select" else ""
            raise refusal(op, "this op on buffers has no meaning here", hint)

    def callee(self, op: Operation, name: str) -> requests.Callee:
        """The function that a request names."""
        return self.known.callee(op, name)

    def erase_views(self) -> None:
        """Erases the ops that made views, which nothing uses any more."""
        for op in reversed(self.views):
            if op.parent is not None:
                erase(op)

    def resolve_region(self, op: Operation) -> list[View]:
        """The roots that exist before an op and that ops in its regions write, in the order of the first writes."""
        reached: dict[View, None] = {}
        for region in op.regions:
            for inner in region.walk():
                for value in written_by(inner) if isinstance(inner, UpstreamOp) else ():
                    root = self._root_of(value)
                    if root is not None:
                        reached[root] = None
        return list(reached)

    def _root_of(self, value: SSAValue) -> View | None:
        while value not in self.buffers.views and isinstance(value.owner, UpstreamOp) and value.owner.name in VIEWS:
            value = value.owner.operands[0]
        view = self.buffers.views.get(value)
        return view.root if view is not None and view.root in self.buffers.contents else None

    # -- views and allocations

    def _view(self, op: UpstreamOp) -> None:
        w, parent = Writer(op), self.buffers.view(op, op.operands[0])
        sizes = self._listed_sizes(w, op) if op.name == "memref.reshape" else None
        step = step_of(w, op, sizes)
        if op.name == "memref.reinterpret_cast" and isinstance(step, Strided) and parent.parent is not None:
            raise refusal(op, "the layout of a view of a view is not known here")
        self.views.append(op)
        for result in op.results:
            self.buffers.views[result] = View(tensor_of(result.type), parent, step)

    def _listed_sizes(self, w: Writer, op: UpstreamOp) -> list[SSAValue]:
        shape = cast("MemRefType[Any]", op.results[0].type).get_shape()
        if DYNAMIC not in shape:
            return [w.index(n) for n in shape]
        listed = self.buffers.view(op, op.operands[1])
        element = cast("MemRefType[Any]", op.operands[1].type).element_type
        sizes: list[SSAValue] = []
        for d in range(len(shape)):
            size = self.buffers.load(w, listed, [w.index(d)], element)
            sizes.append(size if size.type == w.index(0).type else w.one("arith.index_cast", (size,)))
        return sizes

    def _structured(self, op: UpstreamOp) -> None:
        """A linalg op: buffers that it reads are read before it, those that it writes are written after it."""
        self._check_overlaps(op)
        for region in op.regions:
            for inner in list(region.walk()):
                if isinstance(inner, UpstreamOp) and written_by(inner):
                    raise refusal(inner, f"a body of {op.name} writes a buffer")
        if not buffers_of(op):
            self._bodies(op)
            return
        w, targets = Writer(op), written_by(op)
        views = [self.buffers.view(op, value) for value in targets]
        operands = [self.buffers.read(w, self.buffers.view(op, value)) if is_buffer(value) else value for value in op.operands]
        types = [result.type for result in op.results] + [view.type for view in views]
        self._bodies(op)
        regions = [op.detach_region(region) for region in list(op.regions)]
        made = type(op).create(operands=operands, result_types=types, attributes=op.attributes, regions=regions, location=op.location)
        insert_before(op, made)
        for view, value in zip(views, made.results[len(op.results) :], strict=True):
            self.buffers.write(w, op, view, value)
        replaced(op, made.results[: len(op.results)])

    def _bodies(self, op: UpstreamOp) -> None:
        for region in op.regions:
            for block in region.blocks:
                self.block(block)

    def _check_overlaps(self, op: UpstreamOp) -> None:
        """Refuses an op that reads one view of a buffer and writes another one of it, unless they are seen to be apart or to be walked through alike."""
        targets = written_by(op)
        for value in buffers_of(op):
            for target in targets:
                if value is target or self._root_of(value) is not self._root_of(target):
                    continue
                if not _apart(value, target):
                    raise refusal(op, "it reads and writes views of one buffer that may overlap", "copy what is read into a buffer of its own")


def _apart(first: SSAValue, second: SSAValue) -> bool:
    """Whether two slices of one buffer have no element in common, or are the same slice."""
    one, other = first.owner, second.owner
    if not (isinstance(one, UpstreamOp) and isinstance(other, UpstreamOp)) or one.name != "memref.subview" or other.name != "memref.subview":
        return False
    if one.operands[0] is not other.operands[0]:
        return False
    if tuple(one.operands) == tuple(other.operands) and one.attributes == other.attributes and first.type == second.type:
        return True
    parts = [[cast(Any, op.attributes[key]).get_values() for key in ("static_offsets", "static_sizes", "static_strides")] for op in (one, other)]
    for d in range(len(parts[0][0])):
        (o1, n1, s1), (o2, n2, s2) = ([part[d] for part in parts[0]], [part[d] for part in parts[1]])
        if DYNAMIC in (o1, n1, s1, o2, n2, s2):
            continue
        if not set(range(o1, o1 + n1 * s1, s1)) & set(range(o2, o2 + n2 * s2, s2)):
            return True
    return False


# -- ops on buffers


def _alloc(t: Threading, op: UpstreamOp) -> None:
    w, sizes = Writer(op), op.groups()[0]
    _check_type(op, op.results[0])
    t.buffers.new_root(op.results[0], w.one("tensor.empty", sizes, tensor_of(op.results[0].type)))
    t.views.append(op)


def _dealloc(t: Threading, op: UpstreamOp) -> None:
    erase(op)


def _load(t: Threading, op: UpstreamOp) -> None:
    source, *at = op.operands
    replaced(op, [t.buffers.load(Writer(op), t.buffers.view(op, source), at, op.results[0].type)])


def _store(t: Threading, op: UpstreamOp) -> None:
    value, target, *at = op.operands
    t.buffers.store(Writer(op), op, t.buffers.view(op, target), at, value)
    erase(op)


def _copy(t: Threading, op: UpstreamOp) -> None:
    w = Writer(op)
    source, target = (t.buffers.view(op, value) for value in op.operands)
    t.buffers.write(w, op, target, cast_to(w, t.buffers.read(w, source), target.type))
    erase(op)


def _dim(t: Threading, op: UpstreamOp) -> None:
    w = Writer(op)
    replaced(op, [w.one("tensor.dim", (t.buffers.read(w, t.buffers.view(op, op.operands[0])), op.operands[1]))])


def _rank(t: Threading, op: UpstreamOp) -> None:
    replaced(op, [Writer(op).index(len(cast("MemRefType[Any]", op.operands[0].type).get_shape()))])


def _get_global(t: Threading, op: UpstreamOp) -> None:
    w, name = Writer(op), cast(SymbolRefAttr, op.attributes["name"]).string_value()
    definition = t.known.globals.get(name)
    if definition is None:
        raise refusal(op, f"there is no global @{name}")
    value, type = definition.attributes.get("initial_value"), tensor_of(op.results[0].type)
    if not isinstance(value, DenseIntOrFPElementsAttr):
        raise refusal(op, f"the global @{name} has no value", "only globals with a value, which are read, are supported")
    value = unverified(DenseIntOrFPElementsAttr, type=type, data=cast("DenseIntOrFPElementsAttr[Any]", value).data)
    t.buffers.new_root(op.results[0], w.one("arith.constant", (), type, value=value), is_constant=True)
    t.views.append(op)


def _atomic(t: Threading, op: UpstreamOp) -> None:
    if op.results[0].first_use is not None:
        raise refusal(op, "the result of an atomic update is used", "load the element before or after it")
    value, target, *at = op.operands
    w, view, kind = Writer(op), t.buffers.view(op, target), number_of(op, "kind")
    old = t.buffers.load(w, view, at, value.type)
    t.buffers.store(w, op, view, at, value if kind == 2 else w.one(reduction_of(op, kind), (old, value), value.type))
    erase(op)


def _generic_atomic(t: Threading, op: UpstreamOp) -> None:
    target, *at = op.operands
    w, view, block = Writer(op), t.buffers.view(op, target), op.regions[0].block
    replace_uses(block.args[0], t.buffers.load(w, view, at, op.results[0].type))
    t.block(block)
    for inner in list(block.ops):
        inner.detach()
        insert_before(op, inner)
    last = op.prev_op
    assert last is not None
    value = last.operands[0]
    t.buffers.store(w, op, view, at, value)
    erase(last)
    replaced(op, [value])


def _to_tensor(t: Threading, op: UpstreamOp) -> None:
    w = Writer(op)
    replaced(op, [cast_to(w, t.buffers.read(w, t.buffers.view(op, op.operands[0])), op.results[0].type)])


def _to_buffer(t: Threading, op: UpstreamOp) -> None:
    t.buffers.new_root(op.results[0], cast_to(Writer(op), op.operands[0], tensor_of(op.results[0].type)))
    t.views.append(op)


def _materialize(t: Threading, op: UpstreamOp) -> None:
    source, target = op.operands
    if is_buffer(target):
        view = t.buffers.view(op, target)
        t.buffers.write(Writer(op), op, view, cast_to(Writer(op), source, view.type))
        erase(op)
    else:
        replaced(op, [cast_to(Writer(op), source, op.results[0].type)])


def _clone(t: Threading, op: UpstreamOp) -> None:
    w = Writer(op)
    contents = t.buffers.read(w, t.buffers.view(op, op.operands[0]))
    t.buffers.new_root(op.results[0], cast_to(w, contents, tensor_of(op.results[0].type)))
    t.views.append(op)


HANDLERS: dict[str, Callable[[Threading, UpstreamOp], None]] = {
    "bufferization.clone": _clone,
    "bufferization.dealloc_tensor": _dealloc,
    "bufferization.materialize_in_destination": _materialize,
    "bufferization.to_buffer": _to_buffer,
    "bufferization.to_memref": _to_buffer,
    "bufferization.to_tensor": _to_tensor,
    "memref.alloc": _alloc,
    "memref.alloca": _alloc,
    "memref.atomic_rmw": _atomic,
    "memref.copy": _copy,
    "memref.dealloc": _dealloc,
    "memref.dim": _dim,
    "memref.generic_atomic_rmw": _generic_atomic,
    "memref.get_global": _get_global,
    "memref.load": _load,
    "memref.rank": _rank,
    "memref.store": _store,
}


def globals_of(module: ModuleOp) -> Globals:
    """The globals of a module by name."""
    return {cast(StringAttr, op.attributes["sym_name"]).data: op for op in module.ops if isinstance(op, UpstreamOp) and op.name == "memref.global"}
