"""Products that are much larger than their operands run in tiles: attention in many writings, its derivatives, and what is left as it is."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.dialects.kernel import StripMineOp
from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu import compile
from wengert.runtime.cpu.compilation import core_form
from wengert.runtime.interpreter import run
from wengert.transforms.pipelines import FINISH, parse_pipeline

jax = pytest.importorskip("jax")
jnp = jax.numpy

Array = np.ndarray[Any, np.dtype[Any]]
BATCH, HEADS, LENGTH, WIDTH = 2, 3, 48, 4


def attention(
    q: Any, k: Any, v: Any, mask: Any = None, bias: Any = None, hidden: float = -np.inf, equations: tuple[str, str] = ("bhtd,bhsd->bhts", "bhts,bhsd->bhtd")
) -> Any:
    scores = jnp.einsum(equations[0], q, k) * 0.3
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        scores = jnp.where(mask, scores, hidden)
    return jnp.einsum(equations[1], jax.nn.softmax(scores, -1), v)


def by_hand(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("btd,bsd->bts", q * 0.5, k)
    largest = scores.max(-1, keepdims=True)
    parts = jnp.exp(scores - jax.lax.stop_gradient(jnp.where(jnp.isfinite(largest), largest, 0)))
    return (parts / parts.sum(-1, keepdims=True)) @ v


def divided_afterwards(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("btd,bsd->bts", q, k) * 0.5
    parts = jnp.exp(scores - scores.max(-1, keepdims=True))
    return jnp.einsum("bts,bsd->btd", parts, v) / parts.sum(-1)[..., None]


def columns_first(q: Any, k: Any, v: Any) -> Any:
    return jnp.einsum("bst,bsd->btd", jax.nn.softmax(jnp.einsum("bsd,btd->bst", k, q) * 0.5, 1), v)


def merged_batch(q: Any, k: Any, v: Any) -> Any:
    """As PyTorch's ``bmm`` has it."""
    q, k, v = (x.reshape(BATCH * HEADS, LENGTH, WIDTH) for x in (q, k, v))
    scores = (q @ k.swapaxes(1, 2)).reshape(BATCH, HEADS, LENGTH, LENGTH)
    weights = jax.nn.softmax(scores + jnp.where(causal(), 0.0, -jnp.inf), -1).reshape(BATCH * HEADS, LENGTH, LENGTH)
    return (weights @ v).reshape(BATCH, HEADS, LENGTH, WIDTH)


def with_weights(q: Any, k: Any, v: Any) -> Any:
    weights = jax.nn.softmax(jnp.einsum("bhtd,bhsd->bhts", q, k), -1)
    return jnp.einsum("bhts,bhsd->bhtd", weights, v), weights


def by_logarithm(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("bhtd,bhsd->bhts", q, k)
    return jnp.einsum("bhts,bhsd->bhtd", jnp.exp(scores - jax.nn.logsumexp(scores, -1, keepdims=True)), v)


def capped(q: Any, k: Any, v: Any) -> Any:
    scores = 5 * jnp.tanh(jnp.einsum("bhtd,bhsd->bhts", q, k) / 5)
    return jnp.einsum("bhts,bhsd->bhtd", jax.nn.softmax(jnp.where(causal(), scores, -1e30), -1), v)


def dropped(q: Any, k: Any, v: Any) -> Any:
    weights = jax.nn.softmax(jnp.einsum("bhtd,bhsd->bhts", q, k), -1)
    kept = jax.random.bernoulli(jax.random.key(3), 0.8, weights.shape)
    return jnp.einsum("bhts,bhsd->bhtd", jnp.where(kept, weights / 0.8, 0), v)


def two_layers(x: Any, wq: Any, wk: Any, wv: Any, wo: Any) -> Any:
    for _ in range(2):
        q, k, v = ((x @ w * 0.3).reshape(BATCH, LENGTH, HEADS, WIDTH) for w in (wq, wk, wv))
        o = attention(q, k, v, causal(), equations=("bthd,bshd->bhts", "bhts,bshd->bthd"))
        x = x + jnp.tanh(o.reshape(BATCH, LENGTH, HEADS * WIDTH) @ wo * 0.3)
    return x


def in_a_loop(q: Any, k: Any, v: Any) -> Any:
    return jax.lax.scan(lambda carried, _: (attention(carried, k, v), None), q, None, length=3)[0]


def causal() -> Any:
    return jnp.tril(jnp.ones((LENGTH, LENGTH), bool))


def distances() -> Any:
    return -jnp.abs(jnp.arange(LENGTH)[:, None] - jnp.arange(LENGTH)[None]) * jnp.arange(1, HEADS + 1)[:, None, None] * 0.1


def hidden_rows() -> Array:
    """A mask that hides all of row 5, and in one element of the batch what is behind column 6."""
    mask = np.ones((BATCH, 1, LENGTH, LENGTH), bool)
    mask[:, :, 5], mask[0, :, :, 7:] = False, False
    return mask


def padding() -> Array:
    mask = np.ones((BATCH, 1, 1, LENGTH), bool)
    mask[1, ..., 30:] = False
    return mask


HEADS_FIRST = [(BATCH, HEADS, LENGTH, WIDTH)] * 3
ROWS = [(BATCH, LENGTH, WIDTH)] * 3
HEADS_INSIDE = [(BATCH, LENGTH, HEADS, WIDTH)] * 3

Writing = tuple[Callable[..., Any], Sequence[tuple[int, ...]]]
WRITINGS: dict[str, Writing] = {
    "plain": (attention, HEADS_FIRST),
    "one head": (attention, [(1, 1, LENGTH, WIDTH)] * 3),
    "causal, -inf": (lambda q, k, v: attention(q, k, v, causal()), HEADS_FIRST),
    "causal, least number": (lambda q, k, v: attention(q, k, v, causal(), hidden=float(jnp.finfo(q.dtype).min)), HEADS_FIRST),
    "hidden rows, -inf": (lambda q, k, v: attention(q, k, v, hidden_rows()), HEADS_FIRST),
    "hidden rows, large number": (lambda q, k, v: attention(q, k, v, hidden_rows(), hidden=-1e30), HEADS_FIRST),
    "padding": (lambda q, k, v: attention(q, k, v, padding()), HEADS_FIRST),
    "bias": (lambda q, k, v, b: attention(q, k, v, bias=b), [*HEADS_FIRST, (1, HEADS, LENGTH, LENGTH)]),
    "bias of each batch": (lambda q, k, v, b: attention(q, k, v, causal(), b), [*HEADS_FIRST, (BATCH, HEADS, LENGTH, LENGTH)]),
    "bias of columns": (lambda q, k, v, b: attention(q, k, v, bias=b), [*HEADS_FIRST, (LENGTH,)]),
    "bias of rows": (lambda q, k, v, b: attention(q, k, v, bias=b), [*HEADS_FIRST, (LENGTH, 1)]),
    "distances": (lambda q, k, v: attention(q, k, v, causal(), distances()), HEADS_FIRST),
    "heads inside": (lambda q, k, v: attention(q, k, v, equations=("bthd,bshd->bhts", "bhts,bshd->bthd")), HEADS_INSIDE),
    "jax.nn": (lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True), HEADS_INSIDE),
    "groups of heads": (
        lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True),
        [(BATCH, LENGTH, 6, WIDTH), (BATCH, LENGTH, 3, WIDTH), (BATCH, LENGTH, 3, WIDTH)],
    ),
    "heads share keys": (
        lambda q, k, v: attention(q, k, v, causal(), equations=("bhtd,bsd->bhts", "bhts,bsd->bhtd")),
        [(BATCH, HEADS, LENGTH, WIDTH), (BATCH, LENGTH, WIDTH), (BATCH, LENGTH, WIDTH)],
    ),
    "merged batch": (merged_batch, HEADS_FIRST),
    "by hand": (by_hand, ROWS),
    "divided afterwards": (divided_afterwards, ROWS),
    "columns first": (columns_first, ROWS),
    "weights returned": (with_weights, HEADS_FIRST),
    "of itself": (lambda x: attention(x, x, x, causal()), HEADS_FIRST[:1]),
    "in a loop": (in_a_loop, HEADS_FIRST),
    "dropout": (dropped, HEADS_FIRST),
    "by logarithm": (by_logarithm, HEADS_FIRST),
    "capped": (capped, HEADS_FIRST),
    "other lengths": (attention, [(BATCH, HEADS, 40, WIDTH), *HEADS_FIRST[1:]]),
    "matrices": (lambda q, k, v: jax.nn.softmax(q @ k.T, -1) @ v, [(LENGTH, WIDTH)] * 3),
    "two layers": (two_layers, [(BATCH, LENGTH, HEADS * WIDTH), *[(HEADS * WIDTH, HEADS * WIDTH)] * 4]),
}


def loss(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: sum(jnp.sum(jnp.sin(result)) for result in jax.tree.leaves(function(*arguments)))


def inputs_of(shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    generator = np.random.default_rng(0)
    return [generator.standard_normal(shape).astype(np.float32) for shape in shapes]


@cache
def program(name: str, mode: str) -> wg.Program:
    function, shapes = WRITINGS[name]
    inputs = inputs_of(shapes)
    if mode == "value":
        return wg.from_jax(function, *inputs)
    scored = wg.from_jax(loss(function), *inputs)
    return {"vjp": scored.vjp, "jvp": scored.jvp, "hvp": lambda: scored.vjp().jvp()}[mode]()


def given(name: str, mode: str) -> list[Array]:
    inputs = inputs_of(WRITINGS[name][1])
    one = np.ones((), np.float32)
    return {"value": inputs, "vjp": [*inputs, one], "jvp": [*inputs, *inputs], "hvp": [*inputs, one, *inputs, one]}[mode]


def tiled(name: str, mode: str, rows: int) -> Any:
    module = core_form(parse_module(str(program(name, mode))))
    parse_pipeline(f"{FINISH},tile-products{{reassociate=true least-bytes=1 rows={rows}}}").run(module)
    module.verify()
    return module


def loops_in(module: Any) -> list[StripMineOp]:
    return [op for op in module.walk() if isinstance(op, StripMineOp)]


def agree(actual: Sequence[Any], expected: Sequence[Any], error: float = 2e-5) -> None:
    for one, other in zip(actual, expected, strict=True):
        wanted = np.asarray(other)
        np.testing.assert_allclose(one, wanted, rtol=error, atol=error * max(1.0, float(np.nanmax(np.abs(wanted[np.isfinite(wanted)]), initial=0))))


@pytest.mark.parametrize("name", WRITINGS)
@pytest.mark.parametrize("mode", ["value", "vjp"])
def test_every_writing_runs_in_tiles_and_means_the_same(name: str, mode: str) -> None:
    inputs = given(name, mode)
    module = tiled(name, mode, 16)
    assert loops_in(module)
    expected = run(parse_module(str(program(name, mode))), inputs)
    agree(run(module, inputs), expected)
    agree(compile(module)(*inputs), expected)


@pytest.mark.parametrize("name", ["causal, -inf", "jax.nn", "hidden rows, large number", "divided afterwards", "two layers"])
@pytest.mark.parametrize("mode", ["jvp", "hvp"])
def test_forward_mode_and_second_derivatives(name: str, mode: str) -> None:
    inputs = given(name, mode)
    module = tiled(name, mode, 11)
    assert loops_in(module)
    expected = run(parse_module(str(program(name, mode))), inputs)
    agree(run(module, inputs), expected)
    agree(compile(module)(*inputs), expected)


@pytest.mark.parametrize("rows", [1, 7, 24, 48, 1000])
def test_tiles_of_any_number_of_rows(rows: int) -> None:
    inputs = given("heads inside", "vjp")
    expected = run(parse_module(str(program("heads inside", "vjp"))), inputs)
    module = tiled("heads inside", "vjp", rows)
    agree(run(module, inputs), expected)
    agree(compile(module)(*inputs), expected)


def test_gradients_are_those_of_jax() -> None:
    function, shapes = WRITINGS["two layers"]
    inputs = inputs_of(shapes)
    expected = jax.value_and_grad(loss(function), tuple(range(len(inputs))))(*inputs)
    agree(compile(tiled("two layers", "vjp", 16))(*given("two layers", "vjp")), jax.tree.leaves(expected), 1e-4)


def long(length: int, dtype: type = np.float32) -> tuple[wg.Program, list[Array]]:
    """Causal attention over two heads, under a loss."""

    def scored(q: Any, k: Any, v: Any) -> Any:
        return attention(q, k, v, jnp.tril(jnp.ones((length, length), bool)))

    generator = np.random.default_rng(1)
    inputs = [generator.standard_normal((1, 2, length, 16)).astype(dtype) for _ in range(3)]
    return wg.from_jax(loss(scored), *inputs), inputs


def test_memory_is_linear_in_the_length() -> None:
    arenas = [long(length)[0].vjp().compile().stats.arena_bytes for length in (512, 1024, 2048)]
    assert arenas[2] < 2 * 2048 * 2048 * 4 / 3
    assert arenas[2] < 2.5 * arenas[1]


def test_results_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    p, inputs = long(512)
    listed: list[bytes] = []
    for threads in ("1", "2", "8"):
        monkeypatch.setenv("WENGERT_NUM_THREADS", threads)
        results = p.vjp().compile(opt="best")(*inputs, np.float32(1))
        listed.append(b"".join(np.asarray(result).tobytes() for result in results))
    assert listed[0] == listed[1] == listed[2]


def test_strict_programs_add_up_rows_in_their_order() -> None:
    p, inputs = long(512)
    strict = p.vjp().compile(strict=True)
    assert strict.stats.arena_bytes > 2 * 512 * 512 * 4
    agree(strict(*inputs, np.float32(1)), p.vjp().compile()(*inputs, np.float32(1)))


@pytest.mark.parametrize("flush", [False, True])
def test_subnormal_numbers_are_kept_unless_flushed(flush: bool) -> None:
    p, inputs = long(512)
    inputs = [inputs[0] * 20, inputs[1] * 20, inputs[2] * np.float32(1e-30)]
    expected = run(parse_module(str(p.vjp())), [*inputs, np.float32(1)])
    agree(p.vjp().compile(flush_subnormals=flush)(*inputs, np.float32(1)), expected)


NETWORK = """func.func public @main(%x: tensor<4096x64xf32>, %w: tensor<64x512xf32>, %u: tensor<512x64xf32>) -> tensor<4096x64xf32> {
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4096x64xf32>, tensor<64x512xf32>) -> tensor<4096x512xf32>
  %t = stablehlo.tanh %h : tensor<4096x512xf32>
  %y = stablehlo.dot_general %t, %u, contracting_dims = [1] x [0] : (tensor<4096x512xf32>, tensor<512x64xf32>) -> tensor<4096x64xf32>
  return %y : tensor<4096x64xf32> }"""


def test_layers_without_reductions_of_rows_are_left_as_they_are() -> None:
    module = core_form(parse_module(NETWORK))
    parse_pipeline("tile-products{reassociate=true}").run(module)
    assert not loops_in(module)


def test_small_products_are_left_as_they_are() -> None:
    module = core_form(parse_module(str(program("plain", "vjp"))))
    parse_pipeline(f"{FINISH},tile-products{{reassociate=true}}").run(module)
    assert not loops_in(module)


@pytest.mark.parametrize("mixing", [True, False])
def test_chains_of_products_that_are_computed_again_are_left_as_they_are(mixing: bool) -> None:
    """Perceptrons on narrow features: where each layer waits for all rows of the one before, later passes would compute all layers again."""

    def loss(x: Any, first: Any, *layers: Any) -> Any:
        x = x @ first
        for w in layers:
            x = x @ w
            x = jnp.tanh((x - x.mean(-1, keepdims=True)) / jnp.sqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-5))
            if mixing:
                x = x + x.mean(0)
        return jnp.sum(jnp.sin(x))

    shapes = [(2048, 4), (4, 128), *[(128, 128)] * 3]
    program = wg.parse(jax.jit(loss).lower(*[jax.ShapeDtypeStruct(s, np.float32) for s in shapes]).as_text())
    assert _tiled(program.vjp()) is not mixing


def _tiled(program: wg.Program) -> bool:
    module = parse_pipeline("tile-products{reassociate=true}").applied(core_form(program.optimized_module))
    return any(isinstance(op, StripMineOp) for op in module.walk())
