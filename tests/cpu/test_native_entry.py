"""The call without Python in between: what it returns, what it reuses, and that it never takes what does not fit."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import wengert as wg
from wengert.runtime.cpu.native_entry import _is_known  # pyright: ignore[reportPrivateUsage]

TEXT = """func.func public @main(%x: tensor<{0}xf64>, %y: tensor<{0}xf64>) -> (tensor<{0}xf64>, tensor<{0}xf64>) {{
  %0 = stablehlo.add %x, %y : tensor<{0}xf64>
  %1 = stablehlo.multiply %x, %y : tensor<{0}xf64>
  return %0, %1 : tensor<{0}xf64>, tensor<{0}xf64>
}}"""
pytestmark = pytest.mark.skipif(not _is_known(), reason="the native entry does not know this interpreter")


def compiled(n: int = 4):
    call = wg.parse(TEXT.format(n)).compile()
    assert call.executable.is_native
    return call


def test_results_that_are_held_are_never_written_again():
    call = compiled()
    results = [call(np.full(4, float(i)), np.ones(4)) for i in range(10)]
    for i, (total, product) in enumerate(results):
        assert (total == i + 1).all()
        assert (product == i).all()


def test_views_memoryviews_and_weak_references_keep_a_result():
    call = compiled()
    x, one = np.full(4, 3.0), np.ones(4)
    view, buffer = call(x, one)[0][1:], memoryview(call(x, one)[1])
    array = call(x, one)[0]
    reference = weakref.ref(array)
    for _ in range(6):
        call(np.zeros(4), one)
    assert (view == 4.0).all()
    assert list(buffer) == [3.0] * 4
    assert reference() is array


def test_results_are_reused_when_nobody_has_them():
    call = compiled()
    x, y = np.ones(4), np.ones(4)
    addresses = {call(x, y)[0].ctypes.data for _ in range(20)}
    assert len(addresses) <= 2
    for _ in range(20):  # two generations: x is the last result while the next is computed
        x = call(x, y)[0]
        addresses.add(x.ctypes.data)
    assert len(addresses) <= 4


@pytest.mark.filterwarnings("ignore:Setting the (shape|dtype) on a NumPy array:DeprecationWarning")  # since NumPy 2.5, but it still can be done
@pytest.mark.parametrize("change", ["shape", "dtype", "flags"])
def test_a_result_that_its_owner_changed_is_not_reused(change: str):
    call = compiled()
    x = np.ones(4)
    for _ in range(4):
        result = call(x, x)[0]
        if change == "shape":
            result.shape = (2, 2)
        elif change == "dtype":
            result.dtype = np.dtype(np.int64)
        else:
            result.flags.writeable = False
        del result
        fresh = call(x, x)[0]
        assert fresh.shape == (4,)
        assert fresh.dtype == np.float64
        assert fresh.flags.writeable
        assert (fresh == 2).all()


def test_other_inputs_take_the_careful_way():
    call = compiled()
    x = np.arange(4.0)
    for other in (np.arange(8.0)[::2], x.astype(">f8"), [0.0, 1.0, 2.0, 3.0]):
        total, _ = call(other, x)
        assert total.shape == (4,)
    for bad in (np.ones(3), np.ones(4, np.float32), np.ones((4, 1)), "text", None):
        with pytest.raises(wg.InputError):
            call(bad, x)
    with pytest.raises(wg.InputError):
        call(x)
    with pytest.raises(TypeError):
        call(x, y=x)


def test_references_are_balanced():
    call = compiled()
    x = np.ones(4)
    call(x, x)
    before = sys.getrefcount(x), sys.getrefcount(x.dtype), sys.getrefcount(None)
    for _ in range(1000):
        call(x, x)
    after = sys.getrefcount(x), sys.getrefcount(x.dtype), sys.getrefcount(None)
    assert all(abs(a - b) < 20 for a, b in zip(before, after, strict=True))


def test_what_is_kept_goes_with_the_program():
    call = compiled()
    array = call(np.ones(4), np.ones(4))[0]
    count = sys.getrefcount(array)
    del call
    gc.collect()
    assert sys.getrefcount(array) == count - 1


def test_threads_have_arenas_of_their_own():
    n = 1 << 15
    call = wg.parse(TEXT.format(n)).vjp().compile()
    wrong: list[float] = []

    def work(value: float) -> None:
        x, ones = np.full(n, value), np.ones(n)
        for _ in range(40):
            results = call(x, ones, ones, ones)
            if not (results[0] == value + 1).all() or not (results[2] == 2).all():
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(float(i),)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_it_can_be_switched_off():
    script = (
        f"import wengert as wg, numpy as np; c = wg.parse('''{TEXT.format(4)}''').compile(); print(c.executable.is_native, c(np.ones(4), np.ones(4))[0][0])"
    )
    environment = {**os.environ, "WENGERT_NATIVE_ENTRY": "off"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "2.0"]
