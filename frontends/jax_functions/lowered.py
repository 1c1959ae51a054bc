"""The module of a JAX function whose rules are kept: each text is lowered by itself, and functions are put together by their names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, SymbolRefAttr, UnitAttr
from xdsl.dialects.func import FuncOp

from wengert.dialects.sdy import MeshOp
from wengert.frontends.jax_functions import foreign, linear_solves
from wengert.frontends.jax_functions.activity import Level
from wengert.frontends.jax_functions.custom_functions import CustomFunction, CustomFunctions
from wengert.frontends.jax_functions.jaxprs import spec_of
from wengert.frontends.jax_functions.primitives import named, without_bodies_of
from wengert.frontends.jax_functions.shard_maps import Around
from wengert.ir.symbols import rename_references
from wengert.runtime.errors import InputError
from wengert.runtime.loading import parse
from wengert.transforms.ad.requests.custom import CUSTOM_JVP, CUSTOM_VJP, REFUSED, SYMBOLIC_ZEROS
from wengert.transforms.spmd.localize import unwrap_main

_PARTS = {CUSTOM_JVP: ("jvp",), CUSTOM_VJP: ("forward", "backward"), linear_solves.KIND: ("matvec", "transpose"), foreign.KIND: ("jvp", "transpose")}
"""What the functions of a rule are called."""
_OURS = re.compile(r"(wengertcustom\d+x)(_\d+)?")
"""What functions with rules are called until they get their own names, and copies of them."""


def lowered_with_rules(traced: Any, name: str) -> ModuleOp | None:
    """The module of what ``jax.jit(f).trace(...)`` gave, with the rules of the functions in it; None where it calls none that has a rule
    and stops no gradient.

    Raises:
        InputError: a rule cannot be traced.
    """
    custom = CustomFunctions()
    closed = custom.replaced(traced.jaxpr, [Level.ACTIVE] * len(traced.jaxpr.in_avals))
    if closed is traced.jaxpr:
        return None
    merged = _Merged(custom)
    merged.add(_text(closed, name), name, "main")
    declared: dict[str, list[str]] = {}
    for symbol, function in custom.by_symbol.items():
        names = _parts_of(function)
        if function.too_deep:  # a reference to nothing: an error for whoever asks for this derivative
            declared[symbol] = [f"rule_of_{function.name}_which_is_more_than_{function.too_deep}_rules_deep"] * len(names)
            continue
        declared[symbol] = symbols = [merged.fresh(f"{function.name}_{part}") for part in names]
        for rule, part, own in zip(function.rules, names, symbols, strict=True):
            with without_bodies_of(merged.written):
                text = _text(rule, f"{function.name}_{part}", function.maps)
            merged.add(text, f"{name}, {part} of {function.name}", own, function.maps)
    for symbol, symbols in declared.items():
        merged.declare(symbol, custom.by_symbol[symbol], symbols)
    return merged.module


def _parts_of(function: CustomFunction) -> Sequence[str]:
    """What the functions of its rule are called."""
    names = _PARTS[function.kind]
    if function.too_deep:
        return names
    if function.kind == foreign.KIND:  # either may be missing
        return names if len(function.rules) == len(names) else names[:1] if function.because else names[1:]
    return names[: len(function.rules)]


def _text(closed: Any, name: str, maps: Sequence[Around] = ()) -> str:
    """A closed jaxpr, which knows the axes of these ``shard_map``s, as a module with as many manual computations around it."""
    specs = [spec_of(aval, inside=False) for aval in closed.in_avals]
    return named(closed, name, maps).lower(*specs).as_text(debug_info=True)


class _Merged:
    """A module that texts are put into, function by function.

    Attributes:
        written: the functions with rules that are in it, by their first names.
    """

    def __init__(self, custom: CustomFunctions):
        self.written: set[str] = set()
        self.module = ModuleOp([])
        self._taken = {"main"}
        self._symbols = {symbol: self.fresh(f.name) for symbol, f in custom.by_symbol.items()}
        self._symbols |= {alias: self._symbols[custom.named(alias)] for alias in custom.aliases}
        self._functions: dict[str, FuncOp] = {}
        self._meshes: dict[str, MeshOp] = {}

    def fresh(self, base: str) -> str:
        """A name that no function has."""
        name = next(n for n in (base, *(f"{base}_{i}" for i in range(len(self._taken) + 1))) if n not in self._taken)
        self._taken.add(name)
        return name

    def add(self, text: str, filename: str, entry: str, maps: Sequence[Around] = ()) -> None:
        """Adds the functions of a text; its ``@main`` becomes ``entry``, without so many manual computations around it. Functions with a rule that are there
        already are left out."""
        parsed = parse(text, filename).module
        for _ in maps:
            unwrap_main(parsed)
        self._add_devices(parsed, filename, whole=entry == "main")
        functions = [op for op in parsed.body.block.ops if isinstance(op, FuncOp)]
        names = {f.sym_name.data: self._name(f.sym_name.data, entry) for f in functions}
        rename_references(parsed, names)
        self.written.update(ours[1] for name in names if (ours := _OURS.fullmatch(name)))
        for function in functions:
            name = names[function.sym_name.data]
            function.detach()
            if name in self._functions:
                continue
            function.sym_name = StringAttr(name)
            if name != "main":
                function.sym_visibility = StringAttr("private")
                function.properties.pop("arg_attrs", None)
                function.properties.pop("res_attrs", None)
            self._functions[name] = function
            self.module.body.block.add_op(function)

    def _add_devices(self, parsed: ModuleOp, filename: str, *, whole: bool) -> None:
        """Adds the meshes of a text; the number of devices is what the whole program says."""
        if whole:
            self.module.attributes.update(parsed.attributes)
        for mesh in [op for op in parsed.body.block.ops if isinstance(op, MeshOp)]:
            name = mesh.sym_name.data
            if name not in self._meshes:
                mesh.detach()
                self._meshes[name] = mesh
                self.module.body.block.add_op(mesh)
            elif self._meshes[name].mesh != mesh.mesh:
                raise InputError(f"{filename}: its mesh @{name} is another one than that of the function that calls it")

    def _name(self, name: str, entry: str) -> str:
        if name == "main":
            return entry
        ours = _OURS.fullmatch(name)
        return self._symbols[ours[1]] if ours else self.fresh(name)

    def declare(self, symbol: str, declared: CustomFunction, rules: Sequence[str]) -> None:
        """Gives a function its rule, if it is called anywhere."""
        references = [SymbolRefAttr(rule) for rule in rules]
        if (function := self._functions.get(self._symbols[symbol])) is not None and declared.kind == linear_solves.KIND:
            linear_solves.declare_solves(self.module, function, list(rules))
        elif function is not None and declared.kind == foreign.KIND:
            self._declare_linear(function, declared, rules)
        elif function is not None:
            if references:
                function.attributes[declared.kind] = references[0] if declared.kind == CUSTOM_JVP else ArrayAttr(references)
            if declared.refused:
                function.attributes[REFUSED] = ArrayAttr([StringAttr(reason) for reason in declared.refused])
            if declared.symbolic_zeros:
                function.attributes[SYMBOLIC_ZEROS] = UnitAttr()

    def _declare_linear(self, function: FuncOp, declared: CustomFunction, rules: Sequence[str]) -> None:
        """Makes calls of a function linear calls, and gives it its rule for derivatives by its other operands."""
        parts = dict(zip(_parts_of(declared), rules, strict=True))
        if (jvp := parts.get("jvp")) is not None:
            function.attributes[CUSTOM_JVP] = SymbolRefAttr(jvp)
        if any(declared.refused):
            function.attributes[REFUSED] = ArrayAttr([StringAttr(reason) for reason in declared.refused])
        foreign.declare_linear(self.module, function.sym_name.data, declared.linear, parts.get("transpose"), declared.because)
