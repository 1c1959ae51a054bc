"""Functions that programs share: left out of their text, compiled once for a process and a machine, and never taken for others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert.ir import plugins
from wengert.ir.parsing.parser import parse_module
from wengert.runtime import cache
from wengert.runtime.cpu import compile, shared_functions
from wengert.runtime.cpu.compilation import compile_text
from wengert.runtime.cpu.engine import Library
from wengert.transforms.codegen.cpu.program import generate
from wengert.transforms.codegen.cpu.shared_functions import divided
from wengert.transforms.codegen.llvm.module import SHARED
from wengert.transforms.lowering import remaining
from wengert.transforms.pipelines import parse_pipeline, placing
from wengert.transforms.schedule.host import host

Loaded = dict[str, tuple[Library, str]]


def product(order: int, function: str = "tanh") -> str:
    kind = f"tensor<{order}x{order}xf32>"
    return (
        f"func.func public @main(%x: {kind}, %y: {kind}) -> {kind} {{\n  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : ({kind}, {kind}) -> {kind}\n"
        f"  %1 = stablehlo.{function} %0 : {kind}\n  return %1 : {kind}\n}}"
    )


ANGLES = "func.func public @main(%x: tensor<11xf64>) -> tensor<11xf64> {\n  %0 = stablehlo.sine %x : tensor<11xf64>\n  return %0 : tensor<11xf64>\n}"
MATRICES = tuple(np.random.default_rng(0).standard_normal((2, 320, 320)).astype(np.float32))


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> Loaded:
    """A process that has loaded none of them."""
    functions: Loaded = {}
    monkeypatch.setattr(shared_functions, "_loaded", functions)
    return functions


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, and a compiler that no other test has extended."""
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(plugins, "LOADED", {})
    monkeypatch.setattr(plugins, "_REGISTERING", set())
    return tmp_path / "cache"


@pytest.mark.parametrize(("text", "inputs"), [(product(320), MATRICES), (ANGLES, (np.geomspace(1e-3, 1e300, 11),))], ids=["product", "angles"])
def test_results_are_those_of_the_whole_text(text: str, inputs: tuple[np.ndarray, ...]) -> None:
    module = parse_module(text)
    shared = compile(module)(*inputs)
    lowered = parse_pipeline(f"{remaining(module, reassociate=True)},{placing(strict=False)}").applied(module)
    whole = compile_text(lowered, generate(lowered, host().target).text)(*inputs)
    for x, y in zip(shared, whole, strict=True):
        np.testing.assert_array_equal(x, y, strict=True)


def test_a_program_declares_what_it_shares() -> None:
    module = parse_module(product(320))
    lowered = parse_pipeline(f"{remaining(module, reassociate=True)},{placing(strict=False)}").applied(module)
    whole, code = generate(lowered, host().target).text, generate(lowered, host().target, share=True)
    symbols = [function.symbol for function in code.shared]
    assert len(symbols) == whole.count(SHARED) > 2
    assert SHARED not in code.text
    assert any(f"declare void @{symbol}(" in code.text for symbol in symbols)
    for position, function in enumerate(code.shared):
        assert function.text.count("\ndefine ") + function.text.startswith("define ") == 1
        assert set(function.calls) <= set(symbols[:position])
        assert all(f"@{symbol}(" in function.text for symbol in (function.symbol, *function.calls))


def test_programs_share_them(loaded: Loaded) -> None:
    compile(parse_module(product(320)))
    first = dict(loaded)
    assert first
    compile(parse_module(product(320, "exponential")))
    assert dict(loaded) == first
    compile(parse_module(ANGLES))
    assert len(loaded) == len(first) + 1


def test_nothing_is_shared_in_the_fast_tier_and_with_debug_lines(loaded: Loaded) -> None:
    compile(parse_module(product(320)), opt="fast")
    compile(parse_module(product(320)), debug_lines=True)
    assert not loaded


def test_another_text_is_another_function() -> None:
    def helpers(value: int, constant: int) -> dict[str, str]:
        return {
            "table": f"@table = internal constant i64 {constant}\n",
            "leaf": f"define internal i64 @leaf(i64 %x) {SHARED} nounwind {{\n%1 = load i64, ptr @table\n%2 = add i64 %1, {value}\nret i64 %2\n}}\n",
            "root": f"define internal i64 @root(i64 %x) {SHARED} nounwind {{\n%1 = call i64 @leaf(i64 %x)\nret i64 %1\n}}\n",
        }

    program = "define i64 @entry(i64 %x) {\n%1 = call i64 @root(i64 %x)\nret i64 %1\n}\n"
    names = [tuple(f.symbol for f in divided(helpers(*numbers), program).functions) for numbers in ((1, 2), (1, 2), (3, 2), (1, 4))]
    assert names[0] == names[1]
    assert len(set(names)) == 3
    assert all(a != b for a, b in zip(names[0], names[2], strict=True))  # the caller's text is the same, but not what it calls
    leaf, root = divided(helpers(1, 2), program).functions
    assert "@table = " in leaf.text
    assert "@table" not in root.text
    assert f"declare i64 @{leaf.symbol}(i64)" in root.text
    text = divided(helpers(1, 2), program).text
    assert f"declare i64 @{root.symbol}(i64)" in text
    assert "@table" not in text
    assert "leaf" not in text


def test_a_function_whose_address_is_taken_stays() -> None:
    text = f"define internal void @leaf(ptr %x) {SHARED} nounwind {{\nret void\n}}\n"
    program = "define void @entry(ptr %x) {\nstore ptr @leaf, ptr %x\nret void\n}\n"
    code = divided({"leaf": text}, program)
    assert not code.functions
    assert text.strip() in code.text


def test_known_programs_load_what_they_share(home: Path, loaded: Loaded) -> None:
    first = wg.parse(product(320)).compile()
    expected = first(*MATRICES)
    symbols = set(loaded)
    loaded.clear()  # as in another process
    again = wg.parse(product(320)).compile()
    assert again.stats.cache_hit
    assert set(loaded) == symbols
    np.testing.assert_array_equal(again(*MATRICES)[0], expected[0], strict=True)


def test_a_known_program_is_compiled_again_where_one_is_lost(home: Path, loaded: Loaded) -> None:
    expected = wg.parse(product(320)).compile()(*MATRICES)
    names = [name for _, name in loaded.values()]
    assert all(cache.read(name) is not None for name in names)
    folder = cache.folder()
    assert folder is not None
    for path in folder.rglob(f"{names[0]}*"):
        path.unlink()
    loaded.clear()
    np.testing.assert_array_equal(wg.parse(product(320)).compile()(*MATRICES)[0], expected[0], strict=True)
    assert cache.read(names[0]) is not None
