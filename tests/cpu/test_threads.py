"""Programs on several threads: the same bits for any number of them and any caller, and no way to hang."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX lowers the programs")
import jax.numpy as jnp

from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu import compile, pool
from wengert.runtime.cpu.pool_code import available
from wengert.runtime.cpu.thread_count import default_threads
from wengert.runtime.interpreter import run
from wengert.transforms.codegen.cpu.symbols import BLAS_HOLD, BLAS_RELEASE, POOL_CLOSE, POOL_JOB, POOL_OPEN, POOL_RUN
from wengert.transforms.core.to_core import to_core
from wengert.transforms.schedule import chunks as parallel

pytestmark = [pytest.mark.oracle, pytest.mark.skipif(not available(), reason="there are no threads here")]


def floats(*extents: int) -> np.ndarray:
    return np.random.default_rng(extents).standard_normal(extents).astype(np.float32)


def text_of(function, *inputs) -> str:
    return jax.jit(function).lower(*inputs).as_text()


@pytest.fixture(autouse=True)
def _default_threads():
    yield
    pool.set_threads(default_threads())


@pytest.fixture
def fine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cuts small kernels too."""
    monkeypatch.setattr(parallel, "GRAIN_NS", 20.0)
    monkeypatch.setattr(parallel, "LEAST_NS", 40.0)


@pytest.fixture
def awake(fine: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has workers stay awake in small programs, and cuts smaller kernels there."""
    monkeypatch.setattr(parallel, "AWAKE_NS", 30.0)
    monkeypatch.setattr(parallel, "PROGRAM_NS", 100.0)


def loss(x, w):
    return jnp.sum(jnp.tanh(x @ w) ** 2) / x.size


def convolution(x, w):
    return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def depthwise(x, w):
    return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=4)


def layer_norm(x, g, b):
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-5) * g + b


def rms_norm(x, g):
    return x * jax.lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-5) * g


def pulled_back(function):
    """The function's value and its VJP with the last argument as the cotangent."""

    def both(*arguments):
        value, back = jax.vjp(function, *arguments[:-1])
        return value, *back(arguments[-1])

    return both


def pooled(x, window, strides):
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, strides, "SAME")


def integers(x, y):
    return jax.lax.dot_general(x, y, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)


def spread(x):
    return x @ jnp.swapaxes(x, -1, -2) + 8 * jnp.eye(x.shape[-1], dtype=x.dtype)


STATE = np.array([7, 11, 2**32 - 3, 2**32 - 1], np.uint32)
"""A key, and a counter that overflows."""
CASES = {
    "elementwise": (lambda x: jnp.sin(x) * x, floats(6400)),
    "no divisor": (lambda x: jnp.exp(x) + 1, floats(6007)),
    "rows": (lambda x, y: x[:, None, :] * y + 1, floats(40, 65), floats(30, 65)),
    "few long rows": (lambda x: jnp.cos(x) + x[::-1], floats(3, 2048)),
    "sums of rows": (lambda x: (x * x).sum(1), floats(300, 33)),
    "sums of columns": (lambda x: (x * x).sum(0), floats(300, 33)),
    "sums in the middle": (lambda x: x.sum(1), floats(20, 30, 40)),
    "sum of all": (lambda x: (jnp.sum(jnp.exp(x)), jnp.max(x), x + 1), floats(100, 64)),
    "sum over a prime": (lambda x: (jnp.sum(jnp.exp(x)), jnp.max(x)), floats(6007)),
    "columns of a prime": (lambda x: ((x * x).sum(0), x + 1), floats(307, 33)),
    "short rows": (lambda x: (x**2).sum(0), floats(4096, 3)),
    "a copy of an argument": (lambda x, u, i: (jax.lax.dynamic_update_slice(x, u, (i,)), x), floats(40001), floats(3), np.int32(5)),
    "transposed": (lambda x: x.T * 2, floats(96, 130)),
    "padded": (lambda x: jnp.pad(x, ((1, 2), (3, 0))) * 2, floats(70, 90)),
    "gathered": (lambda x: jnp.take(x, jnp.arange(0, 300, 3) % 100, axis=0) * 2, floats(100, 50)),
    "strips": (jax.nn.softmax, floats(100, 512)),
    "strips with a loss": (jax.value_and_grad(lambda x, y: jnp.sum(jax.nn.log_softmax(x) * y)), floats(100, 512), floats(100, 512)),
    "layer norm": (layer_norm, floats(600, 250), floats(250), floats(250)),
    "layer norm, reverse": (pulled_back(layer_norm), floats(600, 250), floats(250), floats(250), floats(600, 250)),
    "RMS norm, reverse": (pulled_back(rms_norm), floats(700, 250), floats(250), floats(700, 250)),
    "log-softmax, reverse": (pulled_back(jax.nn.log_softmax), floats(600, 250), floats(600, 250)),
    "products": (jax.value_and_grad(loss, (0, 1)), floats(130, 70), floats(70, 90)),
    "rows of a product": (lambda x, w: x @ w, floats(333, 70), floats(70, 10)),
    "columns of a product": (lambda x, w: x @ w, floats(5, 300), floats(300, 1001)),
    "a product in blocks": (lambda x, y: x.T @ y, floats(100, 701), floats(100, 302)),
    "a product of bf16 in blocks": (lambda x, y: x.T @ y, floats(100, 701).astype(jnp.bfloat16), floats(100, 302).astype(jnp.bfloat16)),
    "a batch of products in blocks": (lambda x, y: jnp.swapaxes(x, 1, 2) @ y, floats(3, 170, 201), floats(3, 170, 190)),
    "a product of narrow integers": (
        integers,
        np.arange(-60, 60, dtype=np.int8).reshape(60, 2).repeat(20, 1),
        np.arange(120, dtype=np.int8).reshape(40, 3).repeat(30, 1),
    ),
    "a batch of products": (spread, floats(50, 7, 7)),
    "sort": (lambda x: jnp.sort(x, axis=1), floats(20, 50, 3)),
    "one long sort": (jnp.argsort, np.round(floats(3001))),
    "two long sorts": (lambda x, y: jax.lax.sort((x, y), dimension=1, num_keys=1), np.round(floats(2, 1500)), floats(2, 1500)),
    "top k": (lambda x: jax.lax.top_k(x, 3), floats(60, 50)),
    "position of the largest": (lambda x: jnp.argmax(x, 1), floats(10, 20, 50)),
    "gradient of pooling": (jax.grad(lambda x: jnp.sum(pooled(x, (1, 3, 3, 1), (1, 2, 2, 1)) ** 2)), floats(6, 15, 16, 5)),
    "gradient of pooling, channels first": (jax.grad(lambda x: jnp.sum(pooled(x, (1, 1, 2, 3), (1, 1, 1, 2)) ** 2)), floats(3, 4, 15, 16)),
    "gradient of pooling of images": (jax.grad(lambda x: jnp.sum(pooled(x, (2, 3), (1, 2)) ** 2)), floats(40, 30)),
    "one long running sum": (jnp.cumsum, floats(3001)),
    "three long running products, from the end": (lambda x: jax.lax.cumprod(1 + x / 50, 0, reverse=True), floats(1500, 3)),
    "cumulative": (lambda x: jnp.cumsum(x, 1), floats(20, 50, 40)),
    "cumulative down columns": (lambda x: jax.lax.cummax(x, 0, reverse=True), floats(50, 300)),
    "cumulative along rows": (lambda x: jnp.cumsum(x, 1), floats(301, 50)),
    "positions of the largest in few rows": (lambda x: jnp.argmax(x, 1), floats(1, 40, 500)),
    "pooling of one row": (lambda x: pooled(x, (1, 3, 3), (1, 1, 2)), floats(1, 5, 700)),
    "transforms": (jnp.fft.fft, (floats(70, 30) + 1j * floats(70, 30)).astype(np.complex64)),
    "transforms in two dimensions": (jnp.fft.ifft2, (floats(3, 33, 37) + 1j * floats(3, 33, 37)).astype(np.complex64)),
    "transforms of reals": (lambda x: (jnp.fft.rfft(x), jnp.fft.irfft2(jnp.fft.rfft2(x))), floats(40, 50)),
    "transforms in three dimensions": (jnp.fft.fftn, (floats(9, 17, 13) + 1j * floats(9, 17, 13)).astype(np.complex64)),
    "transforms of reals in three dimensions": (lambda x: (jnp.fft.rfftn(x), jnp.fft.irfftn(jnp.fft.rfftn(x))), floats(8, 11, 20)),
    "a sum of rows at computed positions": (lambda x, i: jax.ops.segment_sum(x, i, 40), floats(300, 200), np.arange(300, dtype=np.int32) ** 2 % 43),
    "batched updates": (jax.vmap(lambda x, i, u: x.at[i].add(u)), floats(30, 50), np.arange(3000, dtype=np.int32).reshape(30, 100) ** 2 % 53, floats(30, 100)),
    "two images": (convolution, floats(2, 32, 32, 8), floats(3, 3, 8, 16)),
    "gradient of a kernel, one image": (jax.grad(lambda w, x: jnp.sum(convolution(x, w) ** 2)), floats(3, 3, 4, 8), floats(1, 32, 32, 4)),
    "two loops around a product": (lambda x, y: jnp.einsum("abik,bakj->abij", x, y), floats(4, 4, 30, 20), floats(4, 4, 20, 30)),
    "gradient of pooling of one image": (jax.grad(lambda x: jnp.sum(pooled(x, (1, 3, 3, 1), (1, 2, 2, 1)) ** 2)), floats(1, 15, 16, 48)),
    "Cholesky": (lambda x: jnp.linalg.cholesky(spread(x)), floats(40, 20, 20)),
    "triangular": (lambda x, y: jax.scipy.linalg.solve_triangular(spread(x), y, lower=True), floats(30, 5, 5), floats(30, 5, 2)),
    "convolution": (convolution, floats(8, 16, 16, 4), floats(3, 3, 4, 8)),
    "one image": (convolution, floats(1, 32, 32, 8), floats(3, 3, 8, 64)),
    "gradient of a kernel": (jax.grad(lambda w, x: jnp.sum(convolution(x, w) ** 2)), floats(3, 3, 4, 8), floats(8, 16, 16, 4)),
    "depthwise": (depthwise, floats(8, 16, 16, 4), floats(3, 3, 1, 4)),
    "random bits, odd rows": (lambda k: jax.lax.rng_bit_generator(k, (3, 5001), jnp.uint32, jax.lax.RandomAlgorithm.RNG_THREE_FRY), STATE),
    "random bits, pairs of rows": (lambda k: jax.lax.rng_bit_generator(k, (9000, 3), jnp.uint16, jax.lax.RandomAlgorithm.RNG_THREE_FRY), STATE),
    "random bits, wide rows": (lambda k: jax.lax.rng_bit_generator(k, (9000, 20), jnp.uint32, jax.lax.RandomAlgorithm.RNG_THREE_FRY), STATE),
    "random bits by Philox": (lambda k: jax.lax.rng_bit_generator(k, (20001,), jnp.uint32, jax.lax.RandomAlgorithm.RNG_PHILOX), STATE),
    "in a loop": (lambda x: jax.lax.fori_loop(0, 5, lambda i, v: jnp.sin(v) + v, x), floats(3200)),
}


def jobs(text: str) -> int:
    """How many jobs a program gives to the pool."""
    return text.count(f"call void @{POOL_RUN}") + text.count(f"call void @{POOL_JOB}")


@pytest.mark.parametrize("name", CASES)
def test_any_number_of_threads_gives_the_same_bits(name: str, fine: None) -> None:
    function, *inputs = CASES[name]
    module = parse_module(text_of(function, *inputs))
    to_core(module)
    compiled = compile(module)
    assert jobs(compiled.llvm_text)
    actual = []
    for count in (1, 2, 8, 1, 3):
        pool.set_threads(count)
        actual += [[result.copy() for result in compiled(*inputs)] for _ in range(5)]
    assert len({tuple(result.tobytes() for result in results) for results in actual}) == 1
    for result, expected in zip(actual[0], run(module, inputs), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5 * max(float(np.abs(expected).max()), 1.0))


@pytest.mark.parametrize("name", ["rows of a product", "products", "strips with a loss", "a product in blocks", "sums of columns", "in a loop", "sort"])
def test_workers_that_stay_awake_give_the_same_bits(name: str, awake: None) -> None:
    function, *inputs = CASES[name]
    module = parse_module(text_of(function, *inputs))
    to_core(module)
    compiled = compile(module)
    assert compiled.llvm_text.count(f"call void @{POOL_OPEN}()") == 1
    actual = []
    for count in (1, 2, 8, 1, 3):
        pool.set_threads(count)
        actual += [[result.copy() for result in compiled(*inputs)] for _ in range(20)]
    assert len({tuple(result.tobytes() for result in results) for results in actual}) == 1
    for result, expected in zip(actual[0], run(module, inputs), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5 * max(float(np.abs(expected).max()), 1.0))


def perceptron(steps):
    """A loop of small products and nests."""

    def function(x, w, v):
        return jax.lax.fori_loop(0, steps, lambda i, x: jnp.tanh(jnp.maximum(x @ w, -i) @ v), x)

    return function


def test_a_program_of_many_small_kernels_opens_the_pool_and_cuts_them() -> None:
    x, w = floats(128, 64), floats(64, 64) / 8
    few, many = (compile(parse_module(text_of(perceptron(steps), x, w, w))).llvm_text for steps in (2, 200))
    assert POOL_OPEN not in few
    assert POOL_RUN not in few
    assert POOL_JOB not in few
    assert many.count(f"call void @{POOL_OPEN}()") == 1
    assert many.count(f"call void @{POOL_CLOSE}()") == many.count("ret i32"), "at each return"
    assert many.count(f"call void @{POOL_RUN}(") + many.count(f"call void @{POOL_JOB}(") >= 2


def test_more_jobs_than_ranges_are_renewed_for(awake: None) -> None:
    x, w = floats(24, 16), floats(16, 16) / 4
    compiled = compile(parse_module(text_of(perceptron(20000), x, w, w)))
    expected = None
    for count in (8, 2, 2, 8, 1):
        pool.set_threads(count)
        result = compiled(x, w, w)[0].tobytes()
        expected = expected or result
        assert result == expected


PLACES = """
import os
import numpy as np
import wengert as wg
from wengert.runtime.cpu import pool

n = 400000
call = wg.parse(f"func.func public @main(%x: tensor<{n}xf32>) -> tensor<{n}xf32> {{ %0 = stablehlo.tanh %x : tensor<{n}xf32> return %0 : tensor<{n}xf32> }}").compile()
allowed = os.sched_getaffinity(0)
for _ in range(2000):
    call(np.ones(n, np.float32))
    masks = [os.sched_getaffinity(int(task)) for task in os.listdir("/proc/self/task")]
    if any(mask < allowed and len(mask) == len(allowed) - 1 for mask in masks):
        break
else:
    raise SystemExit("all threads may run where their caller does")
"""


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="there is one processor")
def test_workers_are_kept_off_the_callers_processor() -> None:
    settings = {**os.environ, "WENGERT_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", PLACES], env=settings, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_the_gradient_of_a_kernel_is_shared_by_ranges_of_images() -> None:
    function, *_ = CASES["gradient of a kernel"]
    module = parse_module(text_of(function, floats(3, 3, 4, 8), floats(8, 32, 32, 4)))
    assert "KERNEL.finish" not in (text := compile(module).llvm_text)
    assert ".finish(" in text


def test_shared_jobs_and_wakings_are_counted() -> None:
    module = parse_module(text_of(CASES["elementwise"][0], floats(10**6)))
    compiled, counts = compile(module), []
    for count in (1, 2):
        pool.set_threads(count)
        before = pool.jobs()
        for _ in range(200):
            compiled(floats(10**6))
        after = pool.jobs()
        counts.append((after[0] - before[0], after[1] - before[1]))
    assert counts[0] == (0, 0), "one thread has nobody to share with"
    assert 0 < counts[1][0] <= 200
    assert counts[1][1] <= counts[1][0] + 200, "once for a program, and for jobs where they sleep"


def test_the_text_does_not_depend_on_the_number_of_threads() -> None:
    module = parse_module(text_of(CASES["elementwise"][0], floats(100000)))
    texts = set()
    for count in (1, 3):
        pool.set_threads(count)
        texts.add(compile(module).llvm_text)
    (text,) = texts
    assert jobs(text)


@pytest.mark.parametrize("name", ["elementwise", "sums of columns", "transposed", "a batch of products", "short rows"])
def test_small_programs_are_left_alone(name: str) -> None:
    function, *inputs = CASES[name]
    assert not jobs(compile(parse_module(text_of(function, *inputs))).llvm_text)


def test_workers_do_help() -> None:
    x = floats(400000)
    compiled = compile(parse_module(text_of(lambda x: jnp.tanh(jnp.sin(x)), x)))
    pool.set_threads(2)
    before, end = pool.helped(), time.monotonic() + 60
    while pool.helped() == before and time.monotonic() < end:
        compiled(x)
    assert pool.helped() > before


def test_ten_thousand_quick_calls(fine: None) -> None:
    x = floats(640)
    compiled = compile(parse_module(text_of(lambda x: jnp.sum(x * x) * x, x)))
    assert jobs(compiled.llvm_text) == 2
    pool.set_threads(3)
    expected = compiled(x)[0].tobytes()
    for _ in range(10000):
        assert compiled(x)[0].tobytes() == expected


def test_several_callers_at_once(fine: None) -> None:
    compiled = compile(parse_module(text_of(CASES["strips"][0], floats(100, 512))))
    pool.set_threads(3)
    wrong: list[int] = []

    def call(number: int) -> None:
        x = floats(100, 512) * number
        expected = compiled(x)[0].tobytes()
        wrong.extend([number for _ in range(50) if compiled(x)[0].tobytes() != expected])

    callers = [threading.Thread(target=call, args=(number,)) for number in range(1, 5)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert not wrong
    assert not any(caller.is_alive() for caller in callers)


FORK = """
import os, sys
import numpy as np
import wengert as wg
from wengert.runtime.cpu import pool

n = 400000
call = wg.parse(f"func.func public @main(%x: tensor<{n}xf32>) -> tensor<{n}xf32> {{ %0 = stablehlo.tanh %x : tensor<{n}xf32> return %0 : tensor<{n}xf32> }}").compile()
x = np.linspace(-2, 2, n, dtype=np.float32)
assert pool.threads() == 2

def good():
    before = pool.helped()
    for _ in range(20000):
        if not np.allclose(call(x)[0], np.tanh(x), atol=1e-6):
            return False
        if pool.helped() > before:
            return True
    return False

assert good()
child = os.fork()
if child == 0:
    os._exit(0 if good() else 1)
assert os.waitpid(child, 0)[1] == 0
assert good()
"""


def test_a_forked_child_has_workers_of_its_own() -> None:
    settings = {**os.environ, "WENGERT_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", FORK], env=settings, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("setting", ["0", "-1", "two"])
def test_a_setting_that_is_no_number_is_refused(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WENGERT_NUM_THREADS", setting)
    with pytest.raises(ValueError, match="WENGERT_NUM_THREADS must be a positive number"):
        default_threads()


def test_the_number_of_threads_must_be_positive() -> None:
    with pytest.raises(ValueError, match="must be positive"):
        pool.set_threads(0)


def test_blas_has_one_thread_while_it_is_held_and_gets_its_own_back() -> None:
    matrix = spread(floats(100, 100))
    compiled = compile(parse_module(text_of(jnp.linalg.inv, matrix)))
    import scipy.linalg.cython_blas as module

    library = ctypes.CDLL(module.__file__)
    get, set_ = library.scipy_openblas_get_num_threads, library.scipy_openblas_set_num_threads
    hold, release = (ctypes.CFUNCTYPE(None)(pool._pool().library.address(name)) for name in (BLAS_HOLD, BLAS_RELEASE))
    before = get()
    set_(2)
    try:
        compiled(matrix)
        seen = [get()]
        for step in (hold, hold, release, release):
            step()
            seen.append(get())
        assert seen == [2, 1, 1, 1, 2]
    finally:
        set_(before)
