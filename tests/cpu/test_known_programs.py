"""Programs that were compiled before: found by their identities, without a pass, and never taken for another."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from wengert.ir import plugins
from wengert.ir.printing.printer import print_module
from wengert.runtime import cache, identity, memory
from wengert.runtime.program import Program
from wengert.transforms.ad.rule import RULES, derivative

TEXT = """
func.func public @main(%x: tensor<3x5xf64> {jax.arg_info = "x"}, %w: tensor<5xf64>) -> (tensor<3xf64> {jax.result_info = "y"}) {
  %c = stablehlo.constant dense<[0.5, 1.0, 2.0, 4.0, 8.0]> : tensor<5xf64>
  %0 = stablehlo.multiply %w, %c : tensor<5xf64>
  %1 = stablehlo.tanh %x : tensor<3x5xf64>
  %2 = stablehlo.dot_general %1, %0, contracting_dims = [1] x [0] : (tensor<3x5xf64>, tensor<5xf64>) -> tensor<3xf64>
  return %2 : tensor<3xf64>
}"""
X, W, Y_BAR = np.linspace(-1, 1, 15).reshape(3, 5), np.linspace(0, 1, 5), np.array([1.0, -2.0, 0.5])


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, and a compiler that no other test has extended."""
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(plugins, "LOADED", {})
    monkeypatch.setattr(plugins, "_REGISTERING", set())
    return tmp_path / "cache"


def is_known(program: Program) -> bool:
    """Whether nobody had to make the module of a program."""
    return "module" not in vars(program)


def gradient(text: str = TEXT) -> tuple[Program, bool]:
    """The derivative of a program, parsed anew, whose results are right in any case, and whether it was known."""
    program = wg.parse(text)
    derived = program.vjp()
    compiled = derived.compile()
    y, x_bar, w_bar = compiled(X, W, Y_BAR)
    scaled = W * [0.5, 1, 2, 4, 8]
    np.testing.assert_allclose(y, np.tanh(X) @ scaled, rtol=1e-14)
    np.testing.assert_allclose(x_bar, np.outer(Y_BAR, scaled) * (1 - np.tanh(X) ** 2), rtol=1e-14)
    np.testing.assert_allclose(w_bar, (Y_BAR @ np.tanh(X)) * [0.5, 1, 2, 4, 8], rtol=1e-14)
    return derived, is_known(program) and is_known(derived) and compiled.stats.cache_hit


def test_a_program_that_was_compiled_is_neither_read_nor_derived_again(home: Path) -> None:
    first, known = gradient()
    assert not known
    again, known = gradient()
    assert known
    assert again.signature == first.signature
    assert [p.name for p in again.signature.results] == ["y", "cotangent of x", "cotangent of argument 1"]
    for a, b in zip(first(X, W, Y_BAR), again(X, W, Y_BAR), strict=True):
        np.testing.assert_array_equal(a, b, strict=True)


def test_what_is_not_kept_is_made_when_it_is_looked_at(home: Path) -> None:
    first, _ = gradient()
    again, known = gradient()
    assert known
    fresh, second = first.compile().executable, again.compile().executable
    assert second.llvm_text == fresh.llvm_text  # pyright: ignore
    assert str(second.kernel_module) == str(fresh.kernel_module)  # pyright: ignore
    assert again.text() == first.text()
    assert print_module(again.module, locations=True) == print_module(first.module, locations=True)
    assert str(again.optimized_module) == str(first.optimized_module)


def test_statistics_of_a_known_program_are_those_of_the_first(home: Path) -> None:
    first, again = (gradient()[0].compile().stats for _ in range(2))
    assert again.cache_hit
    for name in ("kernels", "calls", "interpreted", "arena_bytes", "constant_bytes", "result_bytes", "peak_bytes"):
        assert getattr(again, name) == getattr(first, name), name
    assert set(again.compile_ms) == {"cache", "load"}
    assert first.constant_bytes > 0, "the constant is kept, too"


def test_derivatives_of_derivatives_and_other_requests(home: Path) -> None:
    requests = {
        "itself": lambda p: p,
        "jvp": lambda p: p.jvp(),
        "vjp": lambda p: p.vjp(),
        "vjp by one": lambda p: p.vjp(wrt=(1,)),
        "vjp by the other": lambda p: p.vjp(wrt=(0,)),
        "direct": lambda p: p.vjp(strategy="direct"),
        "recomputed": lambda p: p.vjp(residuals="recompute-all"),
        "hessian": lambda p: p.hessian(wrt=(1,)),
        "jacfwd": lambda p: p.jacfwd(wrt=(0,)),
        "jacrev": lambda p: p.jacrev(wrt=(0,)),
        "vmap": lambda p: p.vmap(size=2),
        "vmap by the last": lambda p: p.vmap(in_axes=(-1, None), size=2),
        "applied": lambda p: p.apply("vjp{wrt=0},simplify"),
        "twice": lambda p: p.vjp().jvp(wrt=(0,)),
    }
    rng = np.random.default_rng(0)
    expected = {}
    for name, request in requests.items():
        program = request(wg.parse(TEXT))
        inputs = [rng.normal(size=a.shape) for a in program.signature.arguments]
        expected[name] = (program.signature, inputs, program(*inputs))
    identities = {request(wg.parse(TEXT)).identity for request in requests.values()}
    assert len(identities) == len(requests)
    assert None not in identities
    for name, request in requests.items():
        program = request(wg.parse(TEXT))
        signature, inputs, results = expected[name]
        assert program.signature == signature, name
        assert program.compile().stats.cache_hit, name
        assert is_known(program) or name == "hessian", name  # whose order of modes is chosen by looking at each of them
        for a, b in zip(program(*inputs), results, strict=True):
            np.testing.assert_array_equal(a, b, strict=True, err_msg=name)


def test_types_that_are_kept_are_those_of_the_program(home: Path) -> None:
    elements = ["f64", "f32", "f16", "bf16", "complex<f32>", "complex<f64>", "i1", "i8", "i64", "ui8", "ui32", "i4", "f8E4M3FN"]
    for element in elements:
        text = f"""func.func public @main(%x: tensor<2x0x3x{element}>, %s: tensor<{element}> {{jax.arg_info = "s"}}) -> tensor<{element}> {{
          return %s : tensor<{element}> }}"""
        program = wg.parse(text)
        program.compile()
        again = wg.parse(text)
        assert is_known(again) is (element not in ("i4", "f8E4M3FN"))
        for new, old in zip(again.signature.arguments, program.signature.arguments, strict=True):
            assert str(new) == str(old)
            assert (new.shape, new.dtype, new.differentiable, new.is_static) == (old.shape, old.dtype, old.differentiable, True)
            assert new == old
            assert hash(new) == hash(old)
            assert new.type is old.type or new.type == old.type
        assert str(again.signature) == str(program.signature)


def test_options_have_entries_of_their_own(home: Path) -> None:
    gradient()
    program = wg.parse(TEXT).vjp()
    assert program.compile().stats.cache_hit
    assert is_known(program)
    strict = wg.parse(TEXT).vjp()
    assert not strict.compile(strict=True).stats.cache_hit
    assert not is_known(strict)
    assert wg.parse(TEXT).vjp().compile(strict=True).stats.cache_hit
    assert set(wg.parse(TEXT).vjp().compile(opt="fast").stats.compile_ms) > {"fuse"}


def test_another_entry_or_text_is_another_program(home: Path) -> None:
    two = TEXT + TEXT.replace("public @main", "public @other").replace("stablehlo.tanh", "stablehlo.sine")
    wg.parse(two)(X, W)
    assert is_known(wg.parse(two))
    np.testing.assert_allclose(wg.parse(two, entry="other")(X, W)[0], np.sin(X) @ (W * [0.5, 1, 2, 4, 8]), rtol=1e-14)
    np.testing.assert_allclose(wg.parse(two, entry="other")(X, W)[0], np.sin(X) @ (W * [0.5, 1, 2, 4, 8]), rtol=1e-14)
    np.testing.assert_allclose(wg.parse(two)(X, W)[0], np.tanh(X) @ (W * [0.5, 1, 2, 4, 8]), rtol=1e-14)


def test_what_is_wrong_with_a_program_is_said_each_time(home: Path) -> None:
    wrong = TEXT.replace("tensor<3xf64>", "tensor<4xf64>")
    no_rule = "func.func public @main(%x: tensor<2xf64>) -> tensor<2xf64> { %0 = stablehlo.reduce_precision %x, format = e5m2 : tensor<2xf64>\n"
    no_rule += " %1 = stablehlo.custom_call @nothing(%0) : (tensor<2xf64>) -> tensor<2xf64>\n return %1 : tensor<2xf64> }"
    for _ in range(2):
        with pytest.raises(wg.DiagnosticError):
            wg.parse(wrong)
        with pytest.raises(wg.DiagnosticError):
            wg.parse(no_rule).vjp()
        gradient()
        with pytest.raises(wg.InputError, match="there is no argument 7"):
            wg.parse(TEXT).vjp(wrt=7)
        with pytest.raises(wg.InputError, match=r"argument 0 \(x\) must be float64\[3, 5\]"):
            wg.parse(TEXT)(X.T, W)
        with pytest.raises(wg.InputError, match="there is no 'magic'"):
            wg.parse(TEXT).vjp(strategy="magic")
        with pytest.raises(wg.InputError, match="opt must be"):
            wg.parse(TEXT).compile(opt="none")


def test_damaged_entries_cost_time_only(home: Path) -> None:
    gradient()
    chosen = random.Random(1)
    for path in sorted(home.iterdir()):
        whole = path.read_bytes()
        for place in (0, 50, chosen.randrange(80, len(whole)), len(whole) - 1):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << chosen.randrange(8)]) + whole[place + 1 :])
            gradient()
        path.write_bytes(whole[:-3])
        gradient()
        path.unlink()
        gradient()
        assert gradient()[1], f"{path} is there again"


def test_an_entry_of_another_form_is_written_again(home: Path) -> None:
    gradient()
    for path in home.glob("*.known"):
        cache.write(path.stem, b"\x93\x01\x02\x03", cache.KNOWN)
    gradient()
    assert gradient()[1]


def test_another_compiler_knows_nothing_of_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gradient()
    monkeypatch.setattr(identity, "_compiler", lambda: "another")
    assert not gradient()[1]
    assert gradient()[1]


def test_the_compiler_is_all_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    file = tmp_path / "below" / "rule.py"
    file.write_text("x = 1")
    seen = [sorted(identity._sources(tmp_path))]
    file.write_text("x = 12")
    seen.append(sorted(identity._sources(tmp_path)))
    (tmp_path / "more.py").write_text("")
    seen.append(sorted(identity._sources(tmp_path)))
    assert [len(s) for s in seen] == [1, 1, 2]
    assert seen[0] != seen[1]


def test_plug_ins_see_no_known_programs(home: Path, tmp_path: Path) -> None:
    gradient()
    (tmp_path / "plugin.py").write_text("")
    before = wg.parse(TEXT)
    wg.load_plugin(str(tmp_path / "plugin.py"))
    assert not gradient()[1]
    assert wg.parse(TEXT).identity is None
    files = set(home.iterdir())
    derived = before.vjp(wrt=(0,))
    derived(X, W, Y_BAR)
    assert {path.suffix for path in set(home.iterdir()) - files} <= {".o"}, "a program that was read before keeps nothing either"
    assert not is_known(derived)


def test_a_rule_of_somebody_else_counts_as_a_plug_in(home: Path) -> None:
    class Mine:
        """Stands for an op."""

    assert not plugins.is_extended()
    derivative(Mine)(lambda b, op: None)  # pyright: ignore
    del RULES[Mine]  # pyright: ignore
    assert plugins.is_extended()
    assert not gradient()[1]
    assert not gradient()[1]


def test_dumps_show_all_stages_of_a_known_program(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gradient()
    for name in ("first", "second"):
        program = wg.parse(TEXT)
        assert is_known(program)
        program.vjp(dump_dir=tmp_path / name / "vjp").compile(dump_dir=tmp_path / name / "compile")
    files = sorted(path.relative_to(tmp_path / "first") for path in (tmp_path / "first").rglob("*.*"))
    assert {path.suffix for path in files} >= {".mlir", ".ll", ".s"}
    assert len(files) > 10
    assert files == sorted(path.relative_to(tmp_path / "second") for path in (tmp_path / "second").rglob("*.*"))
    monkeypatch.setenv("WENGERT_DUMP_DIR", str(tmp_path / "all"))
    wg.parse(TEXT).vjp()(X, W, Y_BAR)
    assert {path.name for path in (tmp_path / "all").iterdir()} == {"00-vjp", "01-compile-cpu"}
    assert list((tmp_path / "all" / "01-compile-cpu").glob("*.s"))


def test_a_program_that_calls_the_interpreter_is_compiled_each_time(home: Path) -> None:
    text = """func.func public @main(%a: tensor<f64>, %b: tensor<f64>) -> tensor<40xf64> {
      %s = stablehlo.constant dense<40> : tensor<1xi64>
      %0 = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<f64>, tensor<f64>, tensor<1xi64>) -> tensor<40xf64>
      return %0 : tensor<40xf64> }"""
    for _ in range(2):
        program = wg.parse(text)
        compiled = program.compile()
        assert compiled.stats.interpreted == {"stablehlo.rng": 1}
        (values,) = compiled(2.0, 3.0)
        assert (values >= 2).all()
        assert (values <= 3).all()


def test_memory_that_is_not_there_is_refused_as_before(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gradient()
    monkeypatch.setattr(memory, "physical", lambda: 100)
    with pytest.raises(wg.InputError, match=r"needs .* of memory, of which this machine has 100 bytes"):
        wg.parse(TEXT).vjp().compile()


def test_functions_that_are_traced_again(home: Path) -> None:
    def loss(x: wg.ArraySpec) -> wg.ArraySpec:
        return wnp.sum(wnp.sin(x) ** 2)

    for known in (False, True):
        function = wg.jit(wg.grad(loss))
        np.testing.assert_allclose(function(X), np.sin(2 * X), rtol=1e-13)
        (entry,) = function._entries.values()
        assert entry.compiled.stats.cache_hit is known


def test_open_extents_are_known_by_their_static_programs(home: Path) -> None:
    text = TEXT.replace("3x5", "?x5").replace("tensor<3xf64>", "tensor<?xf64>")
    for known in (False, True):
        program = wg.parse(text)
        np.testing.assert_allclose(program(X, W)[0], np.tanh(X) @ (W * [0.5, 1, 2, 4, 8]), rtol=1e-14)
        assert program.specialize((3, 5)).compile().stats.cache_hit is known


def test_without_a_cache_nothing_has_an_identity(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_CACHE", "off")
    assert wg.parse(TEXT).identity is None
    assert not gradient()[1]
    assert not gradient()[1]
    assert not home.exists()


PROCESS = f"""
import sys
import numpy as np
import wengert as wg
p = wg.parse('''{TEXT}''').vjp()
sys.stdin.readline()
x = np.linspace(-1, 1, 15).reshape(3, 5)
results = p(x, np.linspace(0, 1, 5), np.array([1.0, -2.0, 0.5]))
print(b"".join(r.tobytes() for r in results).hex(), p.compile().stats.cache_hit, "xdsl" in sys.modules)
"""


def test_several_processes_at_once(home: Path) -> None:
    def outputs(count: int) -> list[list[str]]:
        processes = [subprocess.Popen([sys.executable, "-c", PROCESS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(count)]
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        return [process.communicate()[0].split() for process in processes]

    here = b"".join(r.tobytes() for r in gradient()[0](X, W, Y_BAR)).hex()
    for path in home.iterdir():
        path.unlink()
    together = outputs(3)
    assert [words[0] for words in together] == [here] * 3
    assert not list(home.glob("*.part"))
    assert outputs(1) == [[here, "True", "False"]], "a later process does not import the compiler"
    assert gradient()[1]
