"""From the graph of a ``torch.export.ExportedProgram`` to a module of ours.

The export is decomposed to core ATen ops first; then every node of the graph is translated, in order. An op carries the
innermost line of Python outside of PyTorch that asked for it.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from functools import cache
from typing import Any, cast

from xdsl.dialects.builtin import UNKNOWN_LOC, ArrayAttr, DictionaryAttr, LocationAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region

from wengert.dialects.builder import Value
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.meanings import meanings
from wengert.frontends.torch_programs.arrays import to_array
from wengert.frontends.torch_programs.control_flow import CONTROL_FLOW
from wengert.frontends.torch_programs.grad_mode import with_detached_blocks
from wengert.frontends.torch_programs.library import element_of_dtype, torch_module, type_of_tensor
from wengert.frontends.torch_programs.recurrent import by_name, drops_between_layers, with_layers_apart
from wengert.frontends.torch_programs.signature import RANDOM_STATE, Roles
from wengert.ir.diagnostics import DiagnosticError, did_you_mean
from wengert.ir.location.locations import at
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import tensor, ui64

_CHECKS = {"_assert_tensor_metadata.default", "_assert_async.msg", "_assert_async.default", "_linalg_check_errors.default"}
"""Ops that compute nothing. Programs do not check what values are; what is checked of types has held at export."""
_TOKEN = object()
"""The token that orders effects in a graph; a check among them leaves one."""


def decomposed(exported: Any) -> Any:
    """The export with every op that has no translation taken apart, as far as PyTorch knows how.

    Raises:
        DiagnosticError: a recurrent network of packed sequences has dropout between its layers, which PyTorch's decomposition leaves out.
    """
    for node in exported.graph.nodes:
        if drops_between_layers(node, _PACKED):
            hint = "write the layers one by one, with nn.Dropout between them"
            raise error_at(location_of(node), f"the dropout between the layers of {node.target} ({node.name}) has no translation", hint)
    return with_detached_blocks(with_layers_apart(exported)).run_decompositions(dict(_decompositions()))


_PACKED = ("aten.lstm.data", "aten.gru.data", "aten.rnn_tanh.data", "aten.rnn_relu.data")


@cache
def _decompositions() -> dict[Any, Any]:
    """PyTorch's decompositions to core ATen ops and further ones, but for what has a translation: a detach, for one, would be lost."""
    known = torch_module("torch._decomp").global_decomposition_table["post_autograd"]
    # Those written as references lead to another set of ops, prims, and not to ATen.
    further = {op: rule for op, rule in known.items() if str(op).startswith("aten.") and "torch._refs" not in str(rule.__module__)}
    table = {**further, **torch_module().export.default_decompositions()}
    return {op: rule for op, rule in table.items() if str(op).removeprefix("aten.") not in meanings()}


def import_graph(exported: Any, roles: Roles) -> ModuleOp:
    """The module of a decomposed export, with its function ``@main``; raises DiagnosticError for a node without translation."""
    placeholders = {node.name: node for node in exported.graph.nodes if node.op == "placeholder"}
    types = [tensor((2,), ui64) if a.kind == "random" else type_of_tensor(placeholders[a.placeholder].meta["val"]) for a in roles.arguments]
    block = Block(arg_types=types)
    importer = _Importer(AtenBuilder(block), exported.graph_module)
    for argument, value in zip(roles.arguments, block.args, strict=True):
        if argument.kind == "random":
            importer.builder.random_state = value
        importer.values[argument.placeholder] = value
    for name, constant in roles.constants.items():
        importer.values[name] = importer.builder.constant(to_array(constant))
    for node in exported.graph.nodes:
        importer.add(node)
    importer.values[RANDOM_STATE] = importer.builder.random_state
    results = [importer.values[r.node] for r in roles.results]
    block.add_op(ReturnOp(*results))
    main = FuncOp("main", ([a.type for a in block.args], [r.type for r in results]), Region([block]), StringAttr("public"))
    main.arg_attrs = _names("jax.arg_info", [a.name for a in roles.arguments])
    main.res_attrs = _names("jax.result_info", [r.name for r in roles.results])
    return ModuleOp([main])


def _names(key: str, names: Sequence[str]) -> ArrayAttr[DictionaryAttr]:
    return ArrayAttr([DictionaryAttr({key: StringAttr(name)}) for name in names])


class _Importer:
    """The values of the nodes translated so far: a value, or a tuple of them, by the node's name; a graph for a node that names one."""

    def __init__(self, builder: AtenBuilder, graph_module: Any):
        self.builder = builder
        self.graph_module = graph_module
        self.values: dict[str, Any] = {}

    def add(self, node: Any) -> None:
        """Translates a node."""
        if node.op in ("placeholder", "output"):
            return
        location = location_of(node)
        if node.op == "get_attr" and hasattr(graph := getattr(self.graph_module, node.target, None), "graph"):
            self.values[node.name] = graph
            return
        if node.op != "call_function":
            raise error_at(location, f"the node {node.name} ({node.op}) has no translation", "only calls of ATen ops have one")
        if node.target is operator.getitem:
            self.values[node.name] = self._item(node, location)
            return
        name = str(node.target).removeprefix("aten.")
        if name in _CHECKS:
            return
        if name == "with_effects" and str(node.args[1]).removeprefix("aten.") in _CHECKS:
            self.values[node.name] = (_TOKEN,)
            return
        if name in CONTROL_FLOW:
            with self.builder.at(location):
                self.values[node.name] = CONTROL_FLOW[name](self.builder, self._subgraph, *self._arguments_as_written(node))
            return
        if any(not isinstance(n, int) for v in _listed(node.meta["val"]) for n in getattr(v, "shape", ())):
            raise error_at(
                location,
                f"the shape of the result of {node.target} ({node.name}) depends on the elements of its operands",
                "keep all elements, and choose by a mask: torch.where(mask, x, y)",
            )
        meaning = meanings().get(name)
        if meaning is None or not str(node.target).startswith("aten."):
            raise _unknown(node, name, location)
        b = self.builder
        b.types = [type_of_tensor(v) if hasattr(v, "dtype") else None for v in _listed(node.meta["val"])]
        b.promoted = _promoted(node)
        b.layout = _layout(node)
        b.used = {user.args[1] for user in node.users if user.target is operator.getitem}
        arguments = self._arguments(node)
        with b.at(location):
            try:
                self.values[node.name] = meaning.apply(b, arguments)
            except DiagnosticError:
                raise
            except Exception as error:
                error.add_note(f"in the meaning of {node.format_node()}")
                raise

    def _item(self, node: Any, location: LocationAttr) -> Any:
        source, index = node.args
        value = self.values[source.name][index]
        if value is None:
            raise error_at(location, f"result {index} of {source.target} ({source.name}) is used, which has no translation")
        return value

    def _arguments(self, node: Any) -> dict[str, Any]:
        """All arguments by their names in the op's schema, with defaults filled in."""
        return {name: self._operand(value) for name, value in by_name(node).items()}

    def _arguments_as_written(self, node: Any) -> list[Any]:
        return [self._operand(value) for value in node.args]

    def _subgraph(self, builder: AtenBuilder, graph_module: Any, operands: Sequence[Value]) -> list[Value]:
        """Translates a graph that control flow runs, for these operands."""
        inner = _Importer(builder, graph_module)
        nodes = list(graph_module.graph.nodes)
        inner.values.update(zip([n.name for n in nodes if n.op == "placeholder"], operands, strict=True))
        for node in nodes:
            inner.add(node)
        output = next(n for n in nodes if n.op == "output")
        return [inner.values[node.name] for node in _listed(output.args[0])]

    def _operand(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [self._operand(item) for item in cast("Sequence[Any]", value)]
        return self.values[value.name] if hasattr(value, "op") and hasattr(value, "target") else value


def _listed(value: Any) -> Sequence[Any]:
    return cast("Sequence[Any]", value) if isinstance(value, list | tuple) else (value,)


def _layout(node: Any) -> tuple[list[int], int] | None:
    """The strides and the offset of the first operand in memory, where it is a tensor."""
    value: Any = node.args[0].meta.get("val") if node.args and hasattr(node.args[0], "meta") else None
    return (list(value.stride()), int(value.storage_offset())) if hasattr(value, "storage_offset") else None


def _promoted(node: Any) -> Attribute | None:
    """The element type that the first two operands promote to, where they are tensors or numbers."""
    operands = [a.meta.get("val") if hasattr(a, "meta") else a for a in node.args[:2]]
    if len(operands) < 2 or not all(hasattr(x, "dtype") or isinstance(x, bool | int | float | complex) for x in operands):
        return None
    return element_of_dtype(torch_module().result_type(*operands))


def is_random(node: Any) -> bool:
    """Whether a node draws random numbers, or is a graph in which one does."""
    inner: Any = getattr(node.graph.owning_module, str(node.target), None) if node.op == "get_attr" else None
    if hasattr(inner, "graph"):
        return any(map(is_random, inner.graph.nodes))
    return any(tag.name == "nondeterministic_seeded" for tag in getattr(node.target, "tags", ()))


def _unknown(node: Any, name: str, location: LocationAttr) -> DiagnosticError:
    hint = did_you_mean(name, meanings())
    if is_random(node):
        hint = "export the module in eval mode, or pass random numbers as an input"
    return error_at(location, f"the op {node.target} (node {node.name}) has no translation", hint)


_FRAME = re.compile(r'^\s*File "([^"]+)", line (\d+)', re.MULTILINE)


def location_of(node: Any) -> LocationAttr:
    """The innermost line outside of PyTorch that a node comes from."""
    home = str(torch_module().__file__).removesuffix("__init__.py")
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    for file, line in reversed([f for f in frames if not f[0].startswith(home)] or frames):
        return at(file, int(line), 1)
    return UNKNOWN_LOC
