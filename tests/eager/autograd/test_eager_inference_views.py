"""Views of tensors that were made in inference mode, which are not on the books: where they lie in memory, beside PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

import wengert.eager as eager


def _places(t: Any) -> list[Any]:
    with t.inference_mode():
        x = t.arange(12.0).view(3, 4)
        v = x[1:]
        places = [v.storage_offset(), v.as_strided((2,), (1,), 0).tolist(), v.t().as_strided((2, 2), (1, 2), 3).tolist()]
        places += [v[0].as_strided((3,), (4,), 1).tolist(), v.as_strided((2,), (1,)).tolist(), v.view(-1)[3:].storage_offset()]
        z = v.as_strided((2,), (5,), 0)
        z += 10
        places.append(x.tolist())
    outside = x[2:]
    return [*places, outside.storage_offset(), outside.as_strided((3,), (1,), 0).tolist()]


def test_offsets_count_from_the_memory() -> None:
    places = _places(eager)
    assert places[:3] == [4, [0.0, 1.0], [[3.0, 5.0], [4.0, 6.0]]]
    with eager.inference_mode(), pytest.raises(RuntimeError, match="can access memory outside"):
        eager.arange(6.0)[2:].as_strided((4,), (1,), 3)


def test_offsets_beside_pytorch() -> None:
    torch = pytest.importorskip("torch")

    assert _places(eager) == _places(torch)
