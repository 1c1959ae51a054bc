"""A process in which many threads use all of the library at once, most of them for the first time: run by tests/runtime/test_many_threads.py.

Every thread compares what it gets with NumPy; the process prints what was wrong, or that nothing was.
"""

from __future__ import annotations

import faulthandler
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
import wengert.eager as eager
import wengert.numpy as wnp

THREADS = 6
ROUNDS = 3
TEXT = """
func.func private @inner(%x: tensor<{n}xf64>, %y: tensor<{n}xf64>) -> tensor<{n}xf64> {{
  %0 = stablehlo.sine %x : tensor<{n}xf64>
  %1 = stablehlo.multiply %0, %y : tensor<{n}xf64>
  return %1 : tensor<{n}xf64>
}}
func.func public @main(%x: tensor<{n}xf64>, %y: tensor<{n}xf64>) -> tensor<{n}xf64> {{
  %0 = call @inner(%x, %y) : (tensor<{n}xf64>, tensor<{n}xf64>) -> tensor<{n}xf64>
  return %0 : tensor<{n}xf64>
}}"""
LOOP = """
func.func public @main(%x: tensor<4x4xf64>, %k: tensor<i64>) -> tensor<4x4xf64> {
  %c = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %r:2 = stablehlo.while(%i = %c, %y = %x) : tensor<i64>, tensor<4x4xf64>
    cond { %0 = stablehlo.compare LT, %i, %k : (tensor<i64>, tensor<i64>) -> tensor<i1>
           stablehlo.return %0 : tensor<i1> }
    do { %0 = stablehlo.sine %y : tensor<4x4xf64>
         %1 = stablehlo.add %i, %one : tensor<i64>
         stablehlo.return %1, %0 : tensor<i64>, tensor<4x4xf64> }
  return %r#1 : tensor<4x4xf64>
}"""

SHARED = wg.parse(TEXT.format(n=50_000))  # long enough for the thread pool, and for calls that let others run
LOOPED = wg.parse(LOOP)
WEIGHT = eager.tensor(np.ones((3, 4)), requires_grad=True)
LEAF = eager.tensor(np.zeros(3), requires_grad=True)
JITTED = wg.jit(lambda x, y: wnp.sum(wnp.cos(x) * y))


def parsed(k: int, r: int) -> None:
    n = 3 + (k + r) % 5
    program = wg.parse(TEXT.format(n=n))
    x, y = np.linspace(0, 1, n), np.linspace(2, 3, n)
    close(program.vjp()(x, y, np.ones(n))[1], np.cos(x) * y)
    close(program.jvp()(x, y, y, x)[1], np.cos(x) * y * y + np.sin(x) * x)
    close(wg.parse(program.vmap(size=2).text())(np.stack([x, y]), np.stack([y, x]))[0][1], np.sin(y) * x)


def traced(k: int, r: int) -> None:
    n = 2 + (k * ROUNDS + r) % 7
    x = np.linspace(0, 1, n)
    close(wg.grad(lambda x: wnp.sum(wnp.sin(x) * n))(x), n * np.cos(x))
    close(wg.vmap(lambda x: x * x)(x), x * x)
    close(JITTED(x, x), np.sum(np.cos(x) * x))
    close(JITTED(x.astype(np.float32), x), np.sum(np.cos(x) * x))
    close(wg.jvp(wnp.sin, (x,), (x,))[1], np.cos(x) * x)


def called(k: int, r: int) -> None:
    x, y = np.full(50_000, k + 1.0), np.full(50_000, r + 2.0)
    for _ in range(3):
        close(SHARED(x, y)[0], np.sin(x) * y)
    close(SHARED.compile("interpreter")(x, y)[0], np.sin(x) * y)
    close(SHARED(list(x), y)[0], np.sin(x) * y)  # not by way of machine code
    small = np.full((4, 4), 0.1 * k)
    want = small
    for _ in range(r):
        want = np.sin(want)
    close(LOOPED(small, np.int64(r))[0], want)
    close(LOOPED.compile("interpreter")(small, np.int64(r))[0], want)


def recorded(k: int, r: int) -> None:
    x = eager.tensor(np.linspace(0, 1, 4 * (k % 3 + 1)).reshape(4, -1), requires_grad=True)
    ((WEIGHT.detach() @ x).sin() * x.sum()).sum().backward()
    a, w = x.array, WEIGHT.array
    assert x.grad is not None
    close(x.grad.array, w.T @ (np.cos(w @ a) * a.sum()) + np.sin(w @ a).sum())
    (LEAF * eager.tensor(np.ones(3))).sum().backward()


JOBS: tuple[Callable[[int, int], None], ...] = (parsed, traced, called, recorded)


def close(actual: Any, wanted: Any) -> None:
    np.testing.assert_allclose(np.asarray(actual), wanted, rtol=1e-5, atol=1e-6)


def main() -> None:
    faulthandler.enable()
    sys.setswitchinterval(1e-5)
    wrong: list[str] = []
    together = threading.Barrier(THREADS)

    def work(k: int) -> None:
        try:
            together.wait()
            for r in range(ROUNDS):
                for i in range(len(JOBS)):
                    JOBS[(k + i) % len(JOBS)](k, r)
        except BaseException:
            wrong.append(traceback.format_exc())

    threads = [threading.Thread(target=work, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not wrong:
        assert LEAF.grad is not None
        close(LEAF.grad.array, np.full(3, THREADS * ROUNDS))  # no addition is lost
    print("\n".join(wrong[:3]) or "nothing was wrong")


if __name__ == "__main__":
    main()
