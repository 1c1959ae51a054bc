"""Recurrent cells, and networks of several layers of them, in both directions: Elman's, GRU (K. Cho et al., 2014) and LSTM (S. Hochreiter and J. Schmidhuber,
1997; F. A. Gers et al., 2000). Time is a loop of Python, so that every step is on the tape.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from wengert.eager import cat, stack, zeros
from wengert.eager.errors import ShapeError
from wengert.eager.tensor import Tensor
from wengert.nn import init
from wengert.nn.activations import dropout
from wengert.nn.layers import linear
from wengert.nn.module import Module, Parameter

State = tuple[Tensor, ...]
Step = Callable[..., State]
"""The next state from x, a state, and the weights and biases for both."""


def _elman(activation: str) -> Step:
    def step(x: Tensor, state: State, w_x: Tensor, w_h: Tensor, b_x: Tensor | None, b_h: Tensor | None) -> State:
        return (getattr(linear(x, w_x, b_x) + linear(state[0], w_h, b_h), activation)(),)

    return step


def _gru(x: Tensor, state: State, w_x: Tensor, w_h: Tensor, b_x: Tensor | None, b_h: Tensor | None) -> State:
    (h,) = state
    reset_x, update_x, new_x = linear(x, w_x, b_x).chunk(3, -1)
    reset_h, update_h, new_h = linear(h, w_h, b_h).chunk(3, -1)
    new = (new_x + (reset_x + reset_h).sigmoid() * new_h).tanh()
    return (new + (update_x + update_h).sigmoid() * (h - new),)


def _lstm(x: Tensor, state: State, w_x: Tensor, w_h: Tensor, b_x: Tensor | None, b_h: Tensor | None) -> State:
    h, c = state
    i, f, g, o = (linear(x, w_x, b_x) + linear(h, w_h, b_h)).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


_GATES = {"elman": 1, "gru": 3, "lstm": 4}


def _step(kind: str, nonlinearity: str) -> Step:
    if nonlinearity not in ("tanh", "relu"):
        raise ShapeError(f"nonlinearity is 'tanh' or 'relu', found {nonlinearity!r}")
    return {"elman": _elman(nonlinearity), "gru": _gru, "lstm": _lstm}[kind]


def _drawn(hidden_size: int, *shape: int, dtype: Any) -> Tensor:
    made = Parameter(zeros(*shape, dtype=dtype))
    bound = 1 / math.sqrt(hidden_size) if hidden_size else 0.0
    init.uniform_(made, -bound, bound)
    return made


# -- cells


class _Cell(Module):
    kind = "elman"

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", dtype: Any = None):
        self.input_size, self.hidden_size, self.nonlinearity = input_size, hidden_size, nonlinearity
        rows = _GATES[self.kind] * hidden_size
        _step(self.kind, nonlinearity)
        self.weight_ih = _drawn(hidden_size, rows, input_size, dtype=dtype)
        self.weight_hh = _drawn(hidden_size, rows, hidden_size, dtype=dtype)
        self.bias_ih = _drawn(hidden_size, rows, dtype=dtype) if bias else None
        self.bias_hh = _drawn(hidden_size, rows, dtype=dtype) if bias else None

    def forward(self, x: Tensor, hx: Any = None) -> Any:
        if hx is None:
            blank = zeros(*x.shape[:-1], self.hidden_size, dtype=x.dtype)
            state: State = (blank, blank) if self.kind == "lstm" else (blank,)
        else:
            state = tuple(hx) if self.kind == "lstm" else (hx,)
        made = _step(self.kind, self.nonlinearity)(x, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return made if self.kind == "lstm" else made[0]

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}"


class RNNCell(_Cell):
    """tanh(W x + b + U h + c), or relu. ``x: [n, input_size]``, ``h: [n, hidden_size]`` -> the next h."""


class GRUCell(_Cell):
    """A gated recurrent unit. ``x: [n, input_size]``, ``h: [n, hidden_size]`` -> the next h."""

    kind = "gru"

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, dtype: Any = None):
        super().__init__(input_size, hidden_size, bias, dtype=dtype)


class LSTMCell(_Cell):
    """Long short-term memory. ``x: [n, input_size]``, ``(h, c)``, each ``[n, hidden_size]`` -> the next (h, c)."""

    kind = "lstm"

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, dtype: Any = None):
        super().__init__(input_size, hidden_size, bias, dtype=dtype)


# -- networks


class _Network(Module):
    """Layers of cells over time. Parameters have PyTorch's names: ``weight_ih_l0``, ``weight_hh_l0_reverse``."""

    kind = "elman"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        nonlinearity: str = "tanh",
        proj_size: int = 0,
        dtype: Any = None,
    ):
        if proj_size and (self.kind != "lstm" or proj_size >= hidden_size):
            raise ShapeError(f"proj_size is for LSTMs, and smaller than their hidden_size of {hidden_size}; found {proj_size}")
        self.input_size, self.hidden_size, self.num_layers, self.proj_size = input_size, hidden_size, num_layers, proj_size
        self.batch_first, self.dropout, self.bidirectional, self.nonlinearity = batch_first, dropout, bidirectional, nonlinearity
        _step(self.kind, nonlinearity)
        rows, ways, made = _GATES[self.kind] * hidden_size, 2 if bidirectional else 1, proj_size or hidden_size
        for layer in range(num_layers):
            for way in range(ways):
                end = self._end(layer, way)
                setattr(self, f"weight_ih_{end}", _drawn(hidden_size, rows, ways * made if layer else input_size, dtype=dtype))
                setattr(self, f"weight_hh_{end}", _drawn(hidden_size, rows, made, dtype=dtype))
                for name in ("bias_ih", "bias_hh"):
                    setattr(self, f"{name}_{end}", _drawn(hidden_size, rows, dtype=dtype) if bias else None)
                if proj_size:
                    setattr(self, f"weight_hr_{end}", _drawn(hidden_size, proj_size, hidden_size, dtype=dtype))

    @staticmethod
    def _end(layer: int, way: int) -> str:
        return f"l{layer}_reverse" if way else f"l{layer}"

    def _states(self, x: Tensor, hx: Any) -> list[State]:
        """The first state of each layer and direction."""
        count = self.num_layers * (2 if self.bidirectional else 1)
        sizes = (self.proj_size or self.hidden_size, self.hidden_size)[: 2 if self.kind == "lstm" else 1]
        wanted = [(count, x.shape[1], size) for size in sizes]
        if hx is None:
            parts: Sequence[Tensor] = [zeros(*shape, dtype=x.dtype) for shape in wanted]
        else:
            parts = tuple(hx) if self.kind == "lstm" else (hx,)
        if [part.shape for part in parts] != wanted:
            raise ShapeError(f"the first state is of shape {' and '.join(map(str, dict.fromkeys(wanted)))}, found {', '.join(str(p.shape) for p in parts)}")
        return [tuple(part[i] for part in parts) for i in range(count)]

    def _layer(self, x: Tensor, state: State, end: str) -> tuple[Tensor, State]:
        weights = [getattr(self, f"{name}_{end}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        step, made = _step(self.kind, self.nonlinearity), list[Tensor]()
        times = range(x.shape[0])
        for t in reversed(times) if end.endswith("reverse") else times:
            state = step(x[t], state, *weights)
            if self.proj_size:
                state = (linear(state[0], getattr(self, f"weight_hr_{end}")), *state[1:])
            made.append(state[0])
        return stack(made[::-1] if end.endswith("reverse") else made), state

    def forward(self, x: Tensor, hx: Any = None) -> tuple[Tensor, Any]:
        """x: [t, n, input_size] -> [t, n, hidden_size] and the last state [layers, n, hidden_size]; n may be missing, and comes first if ``batch_first``.

        With ``proj_size`` an LSTM's h, and what it gives, has that size: a linear map of what comes out of its gate.
        """
        is_batched = x.ndim == 3
        if not is_batched:
            x = x.unsqueeze(1)
            hx = None if hx is None else tuple(h.unsqueeze(1) for h in hx) if self.kind == "lstm" else hx.unsqueeze(1)
        elif self.batch_first:
            x = x.transpose(0, 1)
        states, last = self._states(x, hx), list[State]()
        for layer in range(self.num_layers):
            made: list[Tensor] = []
            for way in range(2 if self.bidirectional else 1):
                out, state = self._layer(x, states[len(last)], self._end(layer, way))
                made.append(out)
                last.append(state)
            x = cat(made, -1) if len(made) > 1 else made[0]
            if self.training and self.dropout and layer < self.num_layers - 1:
                x = dropout(x, self.dropout)
        ends = tuple(stack(list(parts)) for parts in zip(*last, strict=True))
        if not is_batched:
            x, ends = x.squeeze(1), tuple(end.squeeze(1) for end in ends)
        elif self.batch_first:
            x = x.transpose(0, 1)
        return x, ends if self.kind == "lstm" else ends[0]

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}, num_layers={self.num_layers}"


class RNN(_Network):
    """Elman's network, with tanh or relu."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: Any = None,
    ):
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, nonlinearity, dtype=dtype)


class GRU(_Network):
    """A network of gated recurrent units."""

    kind = "gru"


class LSTM(_Network):
    """A network of long short-term memories; its state is a pair (h, c)."""

    kind = "lstm"
