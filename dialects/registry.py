"""The context that programs are parsed in: our dialects and those of xDSL, each imported when a program first names it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, UnregisteredAttr, UnregisteredOp
from xdsl.ir import Attribute, Dialect, Operation, TypeAttribute

from wengert.ir.plugins import RULE_GROUP, PluginError, is_declared, load_declared
from wengert.ir.traversal import all_ops
from wengert.ir.verification.typing_rules import ATTRIBUTE_MODULES

if TYPE_CHECKING:
    from wengert.ir.bytecode.entries import Vocabulary
    from wengert.ir.parsing.dialect_names import DialectText
    from wengert.ir.parsing.operations import Reader

_MODULES = {
    "stablehlo": ("wengert.dialects.stablehlo", "StableHLO"),
    "chlo": ("wengert.dialects.chlo", "Chlo"),
    "core": ("wengert.dialects.core", "Core"),
    "ad": ("wengert.dialects.ad", "AD"),
    "kernel": ("wengert.dialects.kernel", "Kernel"),
    "quant": ("wengert.dialects.quant", "Quant"),
    "sdy": ("wengert.dialects.sdy", "Sdy"),
    "vhlo": ("wengert.dialects.vhlo", "Vhlo"),
    "func": ("xdsl.dialects.func", "Func"),
    "arith": ("xdsl.dialects.arith", "Arith"),
    "math": ("xdsl.dialects.math", "Math"),
    "complex": ("xdsl.dialects.complex", "Complex"),
    "scf": ("xdsl.dialects.scf", "Scf"),
    "cf": ("xdsl.dialects.cf", "Cf"),
    "affine": ("xdsl.dialects.affine", "Affine"),
    "tensor": ("xdsl.dialects.tensor", "Tensor"),
    "linalg": ("xdsl.dialects.linalg", "Linalg"),
    "memref": ("wengert.dialects.gpu.atomics", "MemRef"),
    "vector": ("xdsl.dialects.vector", "Vector"),
    "gpu": ("wengert.dialects.gpu", "GPU"),
    "nvgpu": ("wengert.dialects.gpu.matrices", "NVGPU"),
    "nvvm": ("wengert.dialects.gpu.targets", "NVVM"),
    "rocdl": ("wengert.dialects.gpu.targets", "ROCDL"),
    "spirv": ("wengert.dialects.gpu.targets", "SPIRV"),
    "llvm": ("xdsl.dialects.llvm", "LLVM"),
}

ATTRIBUTE_MODULES["ad"] = "wengert.dialects.ad_parts"

CLOSED = ("builtin", "func", "stablehlo", "chlo", "core", "ad", "kernel", "gpu", "nvgpu")
"""Dialects of which every op is known: an unknown op in one of them is an error, elsewhere it is carried along."""

UPSTREAM = ("arith", "math", "complex", "index", "tensor", "linalg", "scf", "affine", "memref", "bufferization", "cf", "enzyme", "lagrad")
"""Dialects of upstream MLIR whose ops programs may come in as."""

OPAQUE = frozenset(
    (
        "#gpu.select_object",
        "!stablehlo.future",
        "!stablehlo.token",
        "#stablehlo.axis_ref",
        "#stablehlo.mesh",
        "#stablehlo.mesh_axis",
        "#stablehlo.bounds",
        "#stablehlo.channel_handle",
        "#stablehlo.dot_algorithm",
        "#stablehlo.output_operand_alias",
        "#stablehlo.result_accuracy",
        "#stablehlo.result_accuracy_mode",
        "#stablehlo.sub_axis_info",
        "#stablehlo.type_extensions",
    )
)
"""Attributes and types of closed dialects that are kept as their text."""

_REGISTERED: dict[str, Dialect] = {}
"""The dialects of plug-ins."""


def register_dialect(dialect: Dialect) -> None:
    """Makes a dialect of a plug-in known to the parser. Ops whose facts say so have the typing rule of one type for operands and results; the others need
    ``@typing_rule`` (:mod:`wengert.ir.verification.typing_rules`), or are verified by xDSL's structure alone. Raises ValueError for the name of one of ours."""
    from wengert.dialects.stablehlo.typing.elementwise import declare_one_type

    if dialect.name in _MODULES or dialect.name == "builtin":
        raise ValueError(f"there is a dialect {dialect.name!r} already: one of wengert")
    declare_one_type(dialect.operations)
    _REGISTERED[dialect.name] = dialect


def foreign_ops(module: Operation) -> list[type[Operation]]:
    """The classes of ops of plug-ins under an op; none, and nothing is looked at, where no plug-in has registered a dialect."""
    return list({type(op): None for op in all_ops(module) if op.name.partition(".")[0] in _REGISTERED}) if _REGISTERED else []


def _declared_dialect(name: str) -> Dialect | None:
    """The dialect of this name of a plug-in, or None; the module that an installed package declares for it is imported."""
    if name not in _REGISTERED and is_declared(RULE_GROUP, name):
        declared = load_declared(RULE_GROUP, name)
        if isinstance(declared, Dialect):
            register_dialect(declared)
        if name not in _REGISTERED:
            raise PluginError(f"the entry point {name} of {RULE_GROUP} registers no dialect of this name")
    return _REGISTERED.get(name)


def _loader(module: str, name: str) -> Callable[[], Dialect]:
    return lambda: getattr(import_module(module), name)


@cache
def _unknown_op(name: str) -> type[Operation]:
    return UnregisteredOp.with_name(name)


@cache
def _unknown_attribute(name: str, is_type: bool) -> type[Attribute]:
    return UnregisteredAttr.with_name_and_type(name, is_type)


@cache
def _contents(name: str) -> tuple[Dialect, dict[str, type[Operation]], dict[str, type[Attribute]], dict[str, type[TypeAttribute]]]:
    """A dialect of ours, and its ops, attributes and types by name."""
    context, dialect = Context(), _loader(*_MODULES[name])()
    context.load_dialect(dialect)
    return dialect, context._loaded_ops, context._loaded_attrs, context._loaded_types  # pyright: ignore[reportPrivateUsage]


class OpenContext(Context):
    """A context that carries along what it does not know. Classes of unknown things are shared by all such contexts, so that
    equal texts give equal modules."""

    def load_registered_dialect(self, name: str) -> None:
        """Loads a dialect that is registered; of ours, the tables of what is in them are made once, for all contexts."""
        if name not in _MODULES or name not in self._registered_dialects:
            super().load_registered_dialect(name)
            return
        dialect, ops, attributes, types = _contents(name)
        self._loaded_dialects[name] = dialect
        self._loaded_ops.update(ops)
        self._loaded_attrs.update(attributes)
        self._loaded_types.update(types)

    def get_optional_op(self, name: str, *, dialect_stack: Sequence[str] = ()) -> type[Operation] | None:
        """The class of an op; of an unknown one, a class that stands for it."""
        if name not in self._loaded_ops and "." in name and (dialect := name.partition(".")[0]) not in self._registered_dialects:
            if (declared := _declared_dialect(dialect)) is not None:
                self.load_dialect(declared)
            else:
                self._loaded_ops[name] = _unknown_op(name)
        return super().get_optional_op(name, dialect_stack=dialect_stack)

    def get_optional_type(self, name: str) -> type[TypeAttribute] | None:
        """The class of a type; of an unknown one, a class that stands for it."""
        allowed, self.allow_unregistered = self.allow_unregistered, False
        cls = super().get_optional_type(name)
        self.allow_unregistered = allowed
        return cls or cast("type[TypeAttribute]", _unknown_attribute(name, True))

    def get_optional_attr(self, name: str) -> type[Attribute] | None:
        """The class of an attribute; of an unknown one, a class that stands for it."""
        allowed, self.allow_unregistered = self.allow_unregistered, False
        cls = super().get_optional_attr(name)
        self.allow_unregistered = allowed
        return cls or _unknown_attribute(name, False)


def make_context() -> Context:
    """A context with every dialect registered and none but ``builtin`` imported; ops of other dialects stay as they are."""
    return _filled(OpenContext(allow_unregistered=True))


_MENTIONED = re.compile(rf"(?:^|[={{}};])\s*\"?(?:{'|'.join(UPSTREAM)})\.[a-z][\w.]++(?!\s*[=,}}])|(?<![\w.])memref<", re.MULTILINE)
_LOWERED = re.compile(r"(?:^|[={};])\s*\"?(?:gpu|nvgpu|nvvm|rocdl|spirv|kernel|llvm|vector|core)\.[\w.]++(?!\s*[=,}])", re.MULTILINE)


def vocabulary_for(context: Context | None, op_names: Sequence[str]) -> Vocabulary:
    """The vocabulary for bytecode with these ops: a context, or the one that text with such ops would be parsed in, and the encodings of dialects."""
    from wengert.dialects.bytecode.encodings import encoding_of
    from wengert.dialects.bytecode.properties import elided_defaults, properties_of
    from wengert.ir.bytecode.entries import Vocabulary

    known = context or context_for("".join(f'\n"{name}"(' for name in op_names))
    return Vocabulary(known, encoding_of, properties_of, elided_defaults, frozenset((*CLOSED, "vhlo")), OPAQUE)


def own_texts(text: str) -> Mapping[str, Callable[[Reader], DialectText]]:
    """The dialects of a text that read their attributes and types themselves, each with what makes its reader."""
    if "vhlo" not in text:
        return {}
    from wengert.dialects.vhlo.text import VhloText

    return {"vhlo": VhloText}


def is_upstream(text: str) -> bool:
    """Whether a text is an upstream program: it has an op of these dialects, and none of those that kernels are lowered to, for which xDSL's classes are
    used."""
    return _MENTIONED.search(text) is not None and _LOWERED.search(text) is None


def context_for(text: str) -> Context:
    """The context to parse a text in: one that knows upstream ops by our classes if it is a program of those."""
    if "memref" not in text and not any(f"{name}." in text for name in UPSTREAM):
        return make_context()
    if not is_upstream(text):
        return make_context()
    from wengert.dialects.upstream.context import UpstreamContext

    return _filled(UpstreamContext(allow_unregistered=True), UPSTREAM)


def has_upstream(module: Operation) -> bool:
    """Whether there is an op of an upstream dialect under an op (the classes of those need not be imported to see that there is none)."""
    return any(getattr(type(op), "IS_UPSTREAM", False) for op in all_ops(module))


def _filled(context: Context, but: Sequence[str] = ()) -> Context:
    """The context with every dialect registered but these."""
    context.load_dialect(Builtin)
    for known, (module, name) in _MODULES.items():
        if known in but:
            continue
        context.register_dialect(known, _loader(module, name))
    for name, dialect in _REGISTERED.items():
        context.register_dialect(name, lambda dialect=dialect: dialect)
    return context
