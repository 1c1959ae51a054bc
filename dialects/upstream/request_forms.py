"""The custom forms of requests for derivatives: Enzyme's and LAGrad's."""

from __future__ import annotations

from xdsl.dialects.builtin import SymbolRefAttr

from wengert.dialects.upstream.forms import Form, bracketed, dictionary, use
from wengert.ir.parsing.operations import OpState, Reader


def _call(reader: Reader, state: OpState) -> None:
    """``@f(%x, %dx) {activity = [...]} : (T, T) -> U``."""
    state.attributes["fn"] = SymbolRefAttr(reader.symbol())
    _arguments(reader, state)


def _arguments(reader: Reader, state: OpState) -> None:
    listed = bracketed(reader)
    if reader.peek() == "<":
        _properties(reader, state)
    dictionary(reader, state)
    reader.need(":")
    inputs, state.result_types = reader.function_type()
    use(state, listed, inputs)


def _properties(reader: Reader, state: OpState) -> None:
    """Reads ``<{activity = [...]}>`` or ``<activity = [...]>``."""
    if reader.text.startswith("<{", reader.skip()):
        state.attributes.update(reader.properties())
        return
    reader.need("<")
    while key := reader.accept_key():
        state.attributes[key] = reader.attribute()
        reader.accept(",")
    reader.need(">")


def _lagrad(reader: Reader, state: OpState) -> None:
    """``%f(%x) {of = [0]} : (T -> U, T) -> V``, or ``@f(%x) ...``."""
    state.attributes["F"] = SymbolRefAttr(reader.symbol())
    _arguments(reader, state)


FORMS: dict[str, Form] = {
    "enzyme.autodiff": Form(_call),
    "enzyme.fwddiff": Form(_call),
    "lagrad.grad": Form(_lagrad),
    "lagrad.tangent": Form(_lagrad),
}
