"""Between JAX and programs: functions and exported artifacts come in, any program goes out as a function that JAX transforms.

What goes out is a primitive of JAX that is lowered to the program's own StableHLO. Its derivatives and batches are those of
:class:`wengert.Program`, so JAX's transforms of it run our passes; ``jax.jit`` puts the text into the rest of a JAX program.
The inside is reached through ``jax.extend`` and ``jax.interpreters``; only merging modules takes a private function (the version is pinned).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.dialects.host_calls import TARGET, called_function
from wengert.frontends.transforms.program_calls import apply_program
from wengert.ir.installation import command
from wengert.runtime.arguments import plain_key
from wengert.runtime.derived.linear_program import LinearProgram
from wengert.runtime.errors import InputError
from wengert.runtime.functions import entry_function
from wengert.runtime.loading import parse
from wengert.runtime.program import Program
from wengert.transforms.shapes.arguments import fix_integer_argument

if TYPE_CHECKING:
    from xdsl.ir import Attribute


def _jax(module: str = "jax") -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise InputError(f"this needs JAX: {command('jax')}") from None


class ImportedFunction:
    """A function that came as a program: called with the trees that it had, also while a function is traced.

    Whatever can be asked of a program can be asked of it: it has the methods and attributes of :class:`wengert.Program` (``f.vjp()``, ``f.compile()``,
    ``f.signature``, ``f.costs()``), whose arguments are the leaves of the trees, and stands for its program in functions that take one.

    Attributes:
        program: its program; arguments are the leaves.
        name: what it was called.
    """

    def __init__(self, program: Program, in_tree: Any, out_tree: Any, name: str, results: Sequence[Any] = ()):
        self.program = program
        self._keys: dict[int, str] = {j: result.dtype._impl.name for j, result in enumerate(results) if str(result.dtype).startswith("key<")}
        self.name = name
        self.__name__ = name
        self._in_tree, self._out_tree = in_tree, out_tree

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result, a tree like JAX's; raises InputError for trees, shapes or dtypes that the program was not made for."""
        tree_util = _jax("jax.tree_util")
        leaves, tree = tree_util.tree_flatten((args, kwargs))
        if tree != self._in_tree:
            raise InputError(f"{self.name} was imported for arguments of the structure {self._in_tree}, found {tree}")
        results = list(apply_program(self.program, [plain_key(x) for x in leaves]))
        for j, kind in self._keys.items():
            if isinstance(results[j], np.ndarray):
                results[j] = _jax("jax.random").wrap_key_data(results[j], impl=kind)
        return tree_util.tree_unflatten(self._out_tree, results)

    def ir(self) -> str:
        """The program's text."""
        return str(self.program)

    def __getattr__(self, name: str) -> Any:
        """What the program has."""
        if name.startswith("_") or "program" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if not hasattr(Program, name) and not hasattr(self.program, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}, and neither has its program")
        return getattr(self.program, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name for name in dir(self.program) if not name.startswith("_"))})

    def __str__(self) -> str:
        return str(self.program)

    def _repr_html_(self) -> str:
        return self.program._repr_html_()  # pyright: ignore[reportPrivateUsage]

    def __repr__(self) -> str:
        return f"<imported {self.name}: {self.program.signature}>"


# -- in


def from_jax(function: Callable[..., Any], *args: Any, **kwargs: Any) -> ImportedFunction:
    """A JAX function as a program for arguments like these (arrays, or ``jax.ShapeDtypeStruct``); ops keep the lines of its source.

    The result is called as the function is, with the same trees, and may be differentiated, batched and called in traced functions.
    ``.program`` is the program. Functions with rules of their own (``jax.custom_jvp``, ``jax.custom_vjp``) keep them, at any depth;
    see :mod:`wengert.frontends.jax_functions`.

    Raises:
        InputError: JAX is not there, or a rule cannot be traced.
    """
    jax = _jax()
    _leave_us_out()
    name = getattr(function, "__name__", type(function).__name__)
    name = "f" if name == "<lambda>" else name

    # A function around it, as a function that is compiled already may drop arguments that it does not use.
    def around(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    from wengert.frontends.jax_functions.lowered import lowered_with_rules

    around.__name__ = around.__qualname__ = name  # what locations call it
    traced = jax.jit(around, keep_unused=True).trace(*args, **kwargs)
    module = lowered_with_rules(traced, name)
    lowered = traced.lower()
    program = Program(parse(lowered.as_text(debug_info=True), name).module if module is None else module, name=name)
    paths, _ = _jax("jax.tree_util").tree_flatten_with_path((args, kwargs))
    _name_arguments(program, [_path_text(path) for path, _ in paths])
    program = Program(program.module, name=name)  # with the names
    return ImportedFunction(program, lowered.in_tree, lowered.out_tree, name, _jax("jax.tree_util").tree_leaves(lowered.out_info))


@cache
def _leave_us_out() -> None:
    """Has JAX write locations without our files, as it does without its own: ops are at the user's lines, called from the user's lines."""
    _jax("jax.extend.source_info_util").register_exclusion(str(Path(__file__).parent) + os.sep)


def _path_text(path: Any) -> str:
    """``args[0]['w']`` for a path below ``(args, kwargs)``."""
    keystr = _jax("jax.tree_util").keystr
    return ("args" if path[0].idx == 0 else "kwargs") + keystr(path[1:])


def _name_arguments(program: Program, names: Sequence[str]) -> None:
    from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr

    main = entry_function(program.module, program.entry)
    given: list[dict[str, Attribute]] = [{}] * len(names)
    if main.arg_attrs is not None:
        given = [dict(entry.data) for entry in main.arg_attrs]
    shardings = [{key: value for key, value in entry.items() if key.startswith("sdy.")} for entry in given]
    main.arg_attrs = ArrayAttr([DictionaryAttr({"jax.arg_info": StringAttr(name), **kept}) for name, kept in zip(names, shardings, strict=True)])


def from_exported(data: bytes | bytearray) -> ImportedFunction:
    """A function that ``jax.export`` serialized, as :func:`from_jax`.

    Where it was exported for symbolic shapes, it takes arguments of all shapes that these allow. Of an artifact for several platforms the
    one for the CPU is taken, or else the first.

    Raises:
        InputError: JAX is not there, or the artifact cannot be read.
    """
    export = _jax("jax.export")
    try:
        exported = export.deserialize(bytearray(data))
    except Exception as error:
        raise InputError(f"this is no artifact of jax.export: {error}") from None
    module = parse(exported.mlir_module(), exported.fun_name).module
    if len(exported.platforms) > 1:
        index = exported.platforms.index("cpu") if "cpu" in exported.platforms else 0
        fix_integer_argument(entry_function(module, "main"), 0, index)
    program = Program(module, name=exported.fun_name)
    if len(program.signature.arguments) != len(exported.in_avals):
        raise InputError(f"the artifact {exported.fun_name} drops arguments that it does not use; export jax.jit(f, keep_unused=True)")
    return ImportedFunction(program, exported.in_tree, exported.out_tree, exported.fun_name)


# -- out


def to_jax(program: Program) -> Callable[..., tuple[Any, ...]]:
    """The program as a JAX function of its arguments; see :meth:`wengert.Program.to_jax`."""
    primitive = _primitives().call

    def function(*inputs: Any) -> tuple[Any, ...]:
        if len(inputs) != len(program.signature.arguments):
            raise InputError(f"{program.name} takes {len(program.signature.arguments)} arguments, found {len(inputs)}")
        jnp = _jax("jax.numpy")
        arrays = [jnp.asarray(x) for x in inputs]
        for x, parameter in zip(arrays, program.signature.arguments, strict=True):
            if x.shape != parameter.shape or x.dtype != parameter.dtype:
                hint = "; jax.config.update('jax_enable_x64', True) lets JAX have 64 bits" if x.dtype.itemsize < parameter.dtype.itemsize else ""
                raise InputError(f"{parameter} was given {x.dtype}{list(x.shape)}{hint}")
        return tuple(primitive.bind(*arrays, program=program))

    function.__name__ = function.__qualname__ = program.name
    return function


class _Primitives:
    """Two primitives: a program, and one that is linear in its last arguments, which is what differentiating the first one gives.

    A linear call is a program of which the first results are dropped, with the program that it is transposed to: the linear map that a
    program is split into, with its transpose, or a JVP, with the VJP.
    """

    def __init__(self) -> None:
        core, ad = _jax("jax.extend.core"), _jax("jax.interpreters.ad")
        batching, mlir = _jax("jax.interpreters.batching"), _jax("jax.interpreters.mlir")
        self._zeros = ad
        self.call, self.linear = core.Primitive("wengert_call"), core.Primitive("wengert_linear_call")
        for primitive, first in ((self.call, _all_results), (self.linear, _linear_results)):
            primitive.multiple_results = True
            primitive.def_impl(partial(_evaluated, primitive))
            primitive.def_abstract_eval(partial(_types, first))
            mlir.register_lowering(primitive, partial(_lowered, first))
        ad.primitive_jvps[self.call] = self._jvp
        ad.primitive_jvps[self.linear] = self._jvp_of_linear
        ad.primitive_transposes[self.linear] = self._transposed
        batching.primitive_batchers[self.call] = self._batched
        batching.primitive_batchers[self.linear] = self._batched_linear

    # derivatives

    def _jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, program: Program) -> tuple[Any, Any]:
        arguments, results = program.signature.arguments, program.signature.results
        wrt = [i for i, t in enumerate(tangents) if type(t) is not self._zeros.Zero and arguments[i].differentiable]
        of = [j for j, r in enumerate(results) if r.differentiable]
        if wrt and of and (split := program.linearize(wrt, of, shared=True)).is_split:
            return self._split(split, primals, [tangents[i] for i in wrt], len(results))
        outputs = self.call.bind(*primals, program=program)
        return outputs, self._pushed(program, primals, tangents, outputs, of, 0)

    def _split(self, split: LinearProgram, primals: Sequence[Any], x_dots: Sequence[Any], count: int) -> tuple[Any, Any]:
        """Outputs and their tangents by the parts of a program: the linear map takes what the evaluation of the program keeps for it."""
        kept = self.call.bind(*primals, program=split.primal)
        outputs = kept[:count]
        residuals = split.residuals(primals, outputs, kept[count:])
        options = {"program": split.linear, "transposed": split.transposed(), "dropped": 0, "moving": len(x_dots)}
        y_dots = dict(zip(split.of, self.linear.bind(*residuals, *x_dots, **options), strict=True))
        return outputs, [y_dots[j] if j in y_dots else self._zeros.Zero.from_primal_value(y) for j, y in enumerate(outputs)]

    def _jvp_of_linear(self, primals: Sequence[Any], tangents: Sequence[Any], *, program: Program, dropped: int, **rest: Any) -> tuple[Any, Any]:
        outputs = self.linear.bind(*primals, program=program, dropped=dropped, **rest)
        return outputs, self._pushed(program, primals, tangents, outputs, range(dropped, len(program.signature.results)), dropped)

    def _pushed(self, program: Program, primals: Sequence[Any], tangents: Sequence[Any], outputs: Sequence[Any], of: Sequence[int], dropped: int) -> list[Any]:
        """Tangents of the results ``of``, zeros for the others; results before ``dropped`` are not among the outputs."""
        zero = self._zeros.Zero
        arguments = program.signature.arguments
        wrt = [i for i, t in enumerate(tangents) if type(t) is not zero and arguments[i].differentiable]
        if not wrt or not of:
            return [zero.from_primal_value(y) for y in outputs]
        forward, backward = program.jvp(wrt, of), program.vjp(wrt, of)
        count = len(program.signature.results)
        moved = iter(self.linear.bind(*primals, *(tangents[i] for i in wrt), program=forward, transposed=backward, dropped=count, moving=len(wrt)))
        return [next(moved) if j + dropped in of else zero.from_primal_value(y) for j, y in enumerate(outputs)]

    def _transposed(self, cotangents: Sequence[Any], *inputs: Any, program: Program, transposed: Program, dropped: int, moving: int) -> list[Any]:
        fixed, linear = inputs[: len(inputs) - moving], inputs[len(inputs) - moving :]
        jnp, zero = _jax("jax.numpy"), self._zeros.Zero
        given = [jnp.zeros(c.aval.shape, c.aval.dtype) if type(c) is zero else c for c in cotangents]
        gradients = self.call.bind(*fixed, *given, program=transposed)[-moving:]
        pulled = [x_bar if self._zeros.is_undefined_primal(x) else None for x, x_bar in zip(linear, gradients, strict=True)]
        return [None] * len(fixed) + pulled

    # batches

    def _batched(self, inputs: Sequence[Any], dims: Sequence[Any], *, program: Program) -> tuple[Any, Any]:
        size, axes = _size(inputs, dims)
        return self.call.bind(*inputs, program=program.vmap(axes, size=size)), [0] * len(program.signature.results)

    def _batched_linear(
        self, inputs: Sequence[Any], dims: Sequence[Any], *, program: Program, transposed: Program, dropped: int, moving: int
    ) -> tuple[Any, Any]:
        size, axes = _size(inputs, dims)
        jnp, first = _jax("jax.numpy"), len(inputs) - moving
        # what is linear is batched in dimension 0, so that its cotangents are too
        spread = [
            jnp.broadcast_to(x, (size, *x.shape)) if axes[first + i] is None else jnp.moveaxis(x, axes[first + i], 0) for i, x in enumerate(inputs[first:])
        ]
        axes = [*axes[:first], *[0] * moving]
        count = len(program.signature.results) - dropped
        batched, backward = program.vmap(axes, size=size), transposed.vmap([*axes[:first], *[0] * count], size=size)
        batched_outputs = self.linear.bind(*inputs[:first], *spread, program=batched, transposed=backward, dropped=dropped, moving=moving)
        return batched_outputs, [0] * count


def _all_results(options: dict[str, Any]) -> int:
    return 0


def _linear_results(options: dict[str, Any]) -> int:
    return options["dropped"]


@cache
def _primitives() -> _Primitives:
    _jax("jaxlib.lapack")._lapack.initialize()  # without it a custom call to LAPACK ends the process
    return _Primitives()


def _size(inputs: Sequence[Any], dims: Sequence[Any]) -> tuple[int, list[int | None]]:
    axes = [int(d) if isinstance(d, int) else None for d in dims]  # what is not mapped has None
    return next(x.shape[d] for x, d in zip(inputs, axes, strict=True) if d is not None), axes


@cache
def _compiled(primitive: Any, items: tuple[tuple[str, Any], ...]) -> Any:
    return _jax().jit(partial(primitive.bind, **dict(items)))


def _evaluated(primitive: Any, *inputs: Any, **options: Any) -> Any:
    """Outside of jit: the primitive compiled by itself."""
    return _compiled(primitive, tuple(sorted(options.items(), key=lambda item: item[0])))(*inputs)


def _types(first: Callable[[dict[str, Any]], int], *inputs: Any, **options: Any) -> list[Any]:
    shaped = _jax("jax.core").ShapedArray
    return [shaped(p.shape, p.dtype) for p in options["program"].signature.results[first(options) :]]


def _lowered(first: Callable[[dict[str, Any]], int], context: Any, *operands: Any, **options: Any) -> Any:
    """The program's text as a private function of the module that JAX is writing, and a call of it."""
    mlir, ir = _jax("jax._src.interpreters.mlir"), _jax("jaxlib.mlir.ir")
    func = _jax("jaxlib.mlir.dialects.func")
    program, module = options["program"], context.module_context
    text = str(program)
    if (unknown := re.search(r"\bcore\.\w+", text)) is not None:
        raise InputError(
            f"{program.name} holds {unknown[0]}, for which StableHLO has no word, so JAX cannot run it: it is the reverse of a loop whose iterations nobody"
            " counts; take a counted loop (wg.fori_loop, wg.scan), or forward mode"
        )
    if f"@{TARGET}" in text:
        called = next(name for op in parse(text).module.walk() if (name := called_function(op)) is not None)
        raise InputError(f"{program.name} calls {called}, which JAX cannot call from a program of wengert")
    parsed = ir.Module.parse(text)
    kind = ir.TypeAttr(ir.SymbolTable(parsed.operation)[program.entry].attributes["function_type"]).value
    symbol = mlir.merge_mlir_modules(module.module, f"wengert_{program.name}".replace(" ", "_"), parsed, dst_symtab=module.symbol_table)
    return func.CallOp(kind.results, ir.FlatSymbolRefAttr.get(symbol), operands).results[first(options) :]
