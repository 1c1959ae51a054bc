"""Names for the arguments and results of derivatives: ``tangent of x``, ``cotangent of result 0``.

They are attributes of the entry function, where JAX puts the names of results too, so that they survive as text.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr

from wengert.runtime.derived.requests import Mode
from wengert.runtime.functions import entry_function
from wengert.runtime.signature import Parameter, Signature


def name_derivative(module: ModuleOp, primal: Signature, mode: Mode, wrt: Sequence[int], of: Sequence[int]) -> None:
    """Names the arguments and results of a derivative after those of the program that it is of."""
    arguments, results = [primal.arguments[i] for i in wrt], [primal.results[j] for j in of]
    given, derived, noun = (arguments, results, "tangent") if mode == "jvp" else (results, arguments, "cotangent")
    main = entry_function(module, "main")
    main.arg_attrs = _attributes("jax.arg_info", primal.arguments, given, noun)
    main.res_attrs = _attributes("jax.result_info", primal.results, derived, noun)


def name_jacobian(module: ModuleOp, primal: Signature, wrt: Sequence[Parameter], of: Sequence[Parameter]) -> None:
    """Names the arguments of a Jacobian after those of the program, and its results after what they are the derivative of."""
    main = entry_function(module, "main")
    main.arg_attrs = _attributes("jax.arg_info", primal.arguments, (), "")
    names = [f"derivative of {_shown(y)} by {_shown(x)}" for y in of for x in wrt]
    main.res_attrs = _named("jax.result_info", names)


def name_compressed(module: ModuleOp, primal: Signature, of: Sequence[Parameter]) -> None:
    """Names the arguments of a compressed Jacobian after those of the program, and its results after the program's."""
    main = entry_function(module, "main")
    main.arg_attrs = _attributes("jax.arg_info", primal.arguments, (), "")
    main.res_attrs = _named("jax.result_info", [f"columns of {_shown(y)}" for y in of])


def name_elements(module: ModuleOp, primal: Signature) -> None:
    """Names the arguments of a sparse Jacobian after those of the program, and its results after what they hold."""
    main = entry_function(module, "main")
    main.arg_attrs = _attributes("jax.arg_info", primal.arguments, (), "")
    count = len(main.function_type.outputs)
    main.res_attrs = _named("jax.result_info", ["elements", "columns"][:count] if count < 3 else ["elements", "rows", "columns"])


def name_linear(module: ModuleOp, residuals: int, given: Sequence[Parameter], derived: Sequence[Parameter], noun: str) -> None:
    """Names the arguments and results of a linear map: residuals, then tangents (or cotangents) of these parameters, to those of others."""
    main = entry_function(module, "main")
    main.arg_attrs = _named("jax.arg_info", [*(f"residual {i}" for i in range(residuals)), *(f"{noun} of {_shown(p)}" for p in given)])
    main.res_attrs = _named("jax.result_info", [f"{noun} of {_shown(p)}" for p in derived])


def name_forward(module: ModuleOp, primal: Signature, residuals: Sequence[int]) -> None:
    """Names the arguments and results of the forward half of a derivative: those of the program, then the residuals with these numbers."""
    main = entry_function(module, "main")
    main.arg_attrs = _named("jax.arg_info", [p.name for p in primal.arguments])
    main.res_attrs = _named("jax.result_info", [*(p.name for p in primal.results), *(f"residual {i}" for i in residuals)])


def _shown(p: Parameter) -> str:
    return p.name or f"{p.role} {p.position}"


def _attributes(key: str, primal: Sequence[Parameter], derived: Sequence[Parameter], noun: str) -> ArrayAttr[DictionaryAttr]:
    names = [p.name for p in primal] + [f"{noun} of {_shown(p)}" for p in derived]
    return _named(key, names)


def _named(key: str, names: Sequence[str | None]) -> ArrayAttr[DictionaryAttr]:
    return ArrayAttr([DictionaryAttr({key: StringAttr(name)} if name else {}) for name in names])
