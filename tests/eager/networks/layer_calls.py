"""Calls of layers and losses with hyperparameters that are drawn at random, as lines over the namespaces T (torch or wengert.eager), F and N of its nn."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any


@dataclass(frozen=True)
class Input:
    """A tensor of uniform numbers, rounded to three digits so that ties occur."""

    extents: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    moves: bool = True


@dataclass(frozen=True)
class Call:
    """A line and its inputs; ``module`` makes the module ``m`` that the line calls."""

    line: str
    inputs: dict[str, Input]
    module: str = ""


def calls(seed: int) -> list[Call]:
    """Every kind of call once, with hyperparameters of a seed."""
    draw = _Draw(seed)
    return [
        *draw.convolutions(),
        *draw.pooling(),
        *draw.resizing(),
        *draw.normalizations(),
        *draw.losses(),
        *draw.activations(),
        *draw.attention(),
        *draw.modules(),
    ]


def _all(**extents: tuple[int, ...]) -> dict[str, Input]:
    return {name: Input(shape) for name, shape in extents.items()}


class _Draw:
    def __init__(self, seed: int):
        self.random = Random(seed)
        pick = self.random.choice
        self.n, self.c = pick((1, 2)), pick((1, 2, 4, 6))
        self.h, self.w, self.length = (self.random.randint(3, 8) for _ in range(3))
        self.window, self.step, self.padding, self.apart = pick((1, 2, 3)), pick((1, 2, 3)), pick((0, 1, 2)), pick((1, 2))
        self.groups = pick([g for g in (1, 2, self.c) if self.c % g == 0])
        self.out = self.groups * pick((1, 2))
        self.reduction = pick(("mean", "sum", "none"))
        self.images, self.rows = (self.n, self.c, self.h, self.w), (self.n, self.c, self.length)

    def flag(self) -> bool:
        return self.random.random() < 0.5

    def convolutions(self) -> list[Call]:
        k, s, p, d, g, c = self.window, self.step, self.padding, self.apart, self.groups, self.c
        named = self.random.choice((str(p), "'same'", "'valid'")) if s == 1 else str(p)
        inner = min(p, k - 1)
        return [
            Call(f"F.conv2d(x, w, b, stride={s}, padding={named}, dilation={d}, groups={g})", _all(x=self.images, w=(self.out, c // g, k, k), b=(self.out,))),
            Call(f"F.conv1d(x, w, None, stride={s}, padding={p}, dilation={d}, groups={g})", _all(x=self.rows, w=(self.out, c // g, k))),
            Call(f"F.conv3d(x, w, b, stride={s}, padding={p})", _all(x=(self.n, c, 4, 4, 4), w=(2, c, k, k, k), b=(2,))),
            Call(
                f"F.conv_transpose2d(x, w, b, stride={s}, padding={inner}, output_padding={min(d - 1, s - 1)}, groups={g}, dilation={d})",
                _all(x=self.images, w=(c, self.out // g, k, k), b=(self.out,)),
            ),
            Call(f"F.unfold(x, {k}, dilation={d}, padding={p}, stride={s})", _all(x=self.images)),
            Call(f"F.fold(F.unfold(x, {k}, {d}, {p}, {s}), ({self.h}, {self.w}), {k}, {d}, {p}, {s})", _all(x=self.images)),
        ]

    def pooling(self) -> list[Call]:
        k, s, p, count = self.window, self.step, min(self.padding, self.window // 2), self.random.randint(1, 4)
        ceil, counted = self.flag(), self.flag()
        return [
            Call(f"F.max_pool2d(x, {k}, stride={s}, padding={p}, dilation={self.apart}, ceil_mode={ceil})", _all(x=self.images)),
            Call(f"F.max_pool1d(x, {k}, {s}, {p}, 1, {ceil}, return_indices=True)", _all(x=self.rows)),
            Call(f"F.avg_pool2d(x, {k}, stride={s}, padding={p}, ceil_mode={ceil}, count_include_pad={counted})", _all(x=self.images)),
            Call(f"F.lp_pool2d(x, {self.random.choice((1, 2, 3))}, {k}, {s}, {ceil})", {"x": Input(self.images, 0.1)}),
            Call(f"F.adaptive_avg_pool2d(x, ({count}, {self.random.choice((None, 2, 3))}))", _all(x=self.images)),
            Call(f"F.adaptive_max_pool1d(x, {count})", _all(x=self.rows)),
        ]

    def resizing(self) -> list[Call]:
        pick, size = self.random.choice, self.random.randint
        flat = [size(0, 2) for _ in range(4)]
        return [
            Call(f"F.interpolate(x, scale_factor={pick((0.5, 1.5, 2, 2.3))}, mode='{pick(('nearest', 'nearest-exact', 'area'))}')", _all(x=self.images)),
            Call(
                f"F.interpolate(x, size=({size(1, 9)}, {size(1, 9)}), mode='{pick(('bilinear', 'bicubic'))}', align_corners={self.flag()})", _all(x=self.images)
            ),
            Call(f"F.interpolate(x, size={size(1, 9)}, mode='linear', align_corners={self.flag()})", _all(x=self.rows)),
            Call(f"F.pad(x, ({size(-1, 2)}, {size(-1, 2)}, {size(0, 2)}, {size(0, 2)}), value={pick((0, 1.5))})", _all(x=self.images)),
            Call(f"F.pad(x, {flat}, mode='{pick(('reflect', 'replicate', 'circular'))}')", _all(x=self.images)),
            Call(
                f"F.grid_sample(x, g, mode='{pick(('bilinear', 'nearest'))}', padding_mode='{pick(('zeros', 'border', 'reflection'))}', align_corners={self.flag()})",
                {"x": Input((1, 2, 4, 5)), "g": Input((1, 3, 3, 2), -1.3, 1.3)},
            ),
        ]

    def normalizations(self) -> list[Call]:
        c, h, w = self.c, self.h, self.w
        statistics = {"m": Input((c,), moves=False), "v": Input((c,), 0.5, moves=False)}
        momentum = self.random.choice((0.1, 0.5))
        return [
            Call(f"F.batch_norm(x, m, v, w, b, training={self.flag()}, momentum={momentum})", {**_all(x=(self.n + 1, c, h), w=(c,), b=(c,)), **statistics}),
            Call("F.instance_norm(x, weight=w, bias=b, eps=1e-4)", _all(x=self.images, w=(c,), b=(c,))),
            Call(f"F.group_norm(x, {self.groups}, w, b)", _all(x=(self.n, c, h), w=(c,), b=(c,))),
            Call(f"F.layer_norm(x, ({h}, {w}), w, b, 1e-3)", _all(x=self.images, w=(h, w), b=(h, w))),
            Call(f"F.rms_norm(x, ({w},), w)", _all(x=(self.n, h, w), w=(w,))),
            Call(f"F.local_response_norm(x, {self.random.randint(1, 4)}, alpha=0.1, beta=0.7, k=1.5)", _all(x=self.images)),
            Call(f"F.normalize(x, p={self.random.choice((1, 2, 3))}, dim={self.random.choice((0, 1, -1))})", _all(x=(self.n, c, h))),
        ]

    def losses(self) -> list[Call]:
        pick, c, red = self.random.choice, self.c, f"reduction='{self.reduction}'"
        classes = [self.random.randrange(c) for _ in range(4)]
        ignored = pick((-100, classes[0])) if len(set(classes)) > 1 else -100
        of_classes = {"x": Input((4, c)), "w": Input((c,), 0.1, moves=False)}
        shares = {"x": Input((self.n, c)), "y": Input((self.n, c), 0, 1, moves=False)}
        pairs, three = _all(x=(self.n, c), y=(self.n, c)), _all(x=(3, 4), y=(3, 4))
        weight = pick(("None", "w"))
        return [
            Call(f"F.cross_entropy(x, T.tensor({classes}), {weight}, ignore_index={ignored}, {red}, label_smoothing={pick((0.0, 0.2))})", of_classes),
            Call(f"F.cross_entropy(x, F.softmax(y, 1), {weight}, {red}, label_smoothing={pick((0.0, 0.2))})", {**of_classes, "y": Input((4, c))}),
            Call(f"F.nll_loss(F.log_softmax(x, 1), T.tensor({classes}), {weight}, ignore_index={ignored}, {red})", of_classes),
            *(Call(f"F.{name}(x, y, {red})", pairs) for name in ("mse_loss", "l1_loss", "smooth_l1_loss")),
            Call(f"F.soft_margin_loss(x, y, {red})", {**pairs, "y": Input((self.n, c), moves=False)}),
            Call(f"F.huber_loss(x, y, {red}, delta={pick((0.5, 1.0))})", pairs),
            Call(f"F.kl_div(x, y, {red}, log_target={self.flag()})", {"x": Input((self.n, c), 0.1), "y": Input((self.n, c), 0.1, moves=False)}),
            Call(f"F.poisson_nll_loss(x, y, {self.flag()}, {self.flag()}, {red})", {"x": Input((self.n, c), 0.1), "y": Input((self.n, c), 0.1, moves=False)}),
            Call(f"F.binary_cross_entropy_with_logits(x, y, {red})", shares),
            Call(f"F.binary_cross_entropy(x, y, {red})", {**shares, "x": Input((self.n, c), 0.01, 0.99)}),
            Call(f"F.gaussian_nll_loss(x, y, v, full={self.flag()}, {red})", {**pairs, "v": Input((self.n, c), 0.1)}),
            Call(f"F.triplet_margin_loss(x, y, z, p={pick((1, 2))}, swap={self.flag()}, {red})", {**three, "z": Input((3, 4))}),
            Call(f"F.cosine_embedding_loss(x, y, T.tensor([1, -1, 1]), margin=0.2, {red})", three),
            Call(f"F.multi_margin_loss(x, T.tensor({classes}), p={pick((1, 2))}, margin=0.8, {red})", {"x": Input((4, c))}),
            Call(
                f"F.ctc_loss(F.log_softmax(x, -1), T.tensor([[1, 2, 1], [2, 2, 0]]), T.tensor([7, 6]), T.tensor([3, 2]), {red}, zero_infinity={self.flag()})",
                _all(x=(7, 2, 4)),
            ),
            Call(f"F.cosine_similarity(x, y, dim={pick((0, 1, -1))})", _all(x=(3, 4), y=(pick((1, 3)), 4))),
            Call(f"F.pairwise_distance(x, y, p={pick((1, 2, 3))}, keepdim={self.flag()})", three),
        ]

    def activations(self) -> list[Call]:
        pick, x = self.random.choice, _all(x=(self.n, 2, self.h))
        arguments = {
            **dict.fromkeys(("selu", "silu", "mish", "softsign", "tanhshrink", "hardswish", "relu6", "logsigmoid"), ""),
            "elu": f", {pick((0.5, 1.5))}",
            "gelu": f", approximate='{pick(('none', 'tanh'))}'",
            "softplus": f", {pick((0.5, 2))}, 3",
            "softshrink": ", 0.7",
            "hardshrink": ", 0.7",
            "hardtanh": ", -0.5, 1.2",
            "leaky_relu": ", 0.1",
            "threshold": ", 0.2, -1.0",
            "glu": ", 1",
            "softmin": ", -1",
        }
        return [*(Call(f"F.{name}(x{more})", x) for name, more in arguments.items()), Call("F.prelu(x, w)", {**x, "w": Input((pick((1, 2)),))})]

    def attention(self) -> list[Call]:
        q = _all(q=(self.n, 2, 5, 4), k=(self.n, 2, 5, 4), v=(self.n, 2, 5, 3))
        rows = f"padding_idx={self.random.choice((None, 2, -1))}, max_norm={self.random.choice((None, 1.5))}, scale_grad_by_freq={self.flag()}"
        return [
            Call(f"F.scaled_dot_product_attention(q, k, v, is_causal={self.flag()})", q),
            Call(f"F.scaled_dot_product_attention(q, k, v, attn_mask=a, scale={self.random.choice((None, 0.3))})", {**q, "a": Input((5, 5))}),
            Call("F.embedding(T.tensor([[0, 2], [1, 2]]), w.clone(), padding_idx=2)", _all(w=(4, 3))),
            Call("m(T.tensor([[0, 2], [1, 2]]))", {}, f"N.Embedding(4, 3, {rows})"),
            Call(f"F.embedding_bag(T.tensor([0, 2, 1, 2, 3]), w, T.tensor([0, 2]), mode='{self.random.choice(('mean', 'sum', 'max'))}')", _all(w=(4, 3))),
        ]

    def modules(self) -> list[Call]:
        pick, first, bias, c, k, s, p = self.random.choice, self.flag(), self.flag(), self.c, self.window, self.step, self.padding
        steps, sequence = _all(x=(2, 5, 3)), _all(x=(3, 5, 4), y=(3, 5, 4))
        shape = f"{pick((1, 2))}, {bias}, {first}, bidirectional={self.flag()}"
        padded = pick(("zeros", "reflect", "replicate", "circular"))
        return [
            Call("m(x)", steps, f"N.LSTM(3, 4, {shape}, proj_size={pick((0, 2))})"),
            Call("m(x)", steps, f"N.GRU(3, 4, {shape})"),
            Call("m(x)", steps, f"N.RNN(3, 4, 2, '{pick(('tanh', 'relu'))}', {bias}, {first})"),
            Call("m(x)", _all(x=(2, 3)), "N.LSTMCell(3, 4)"),
            Call(
                f"m(x, x, y, need_weights={self.flag()}, average_attn_weights={self.flag()})",
                sequence,
                f"N.MultiheadAttention(4, 2, batch_first={first}, bias={bias}, add_bias_kv={self.flag()}, add_zero_attn={self.flag()})",
            ),
            Call("m(x)", _all(x=(3, 5, 4)), f"N.TransformerEncoderLayer(4, 2, 8, dropout=0.0, norm_first={self.flag()}, batch_first={first})"),
            Call("m(x, y)", sequence, f"N.TransformerDecoderLayer(4, 2, 8, dropout=0.0, norm_first={self.flag()}, batch_first={first})"),
            Call("m(m(x))", _all(x=(3, c, self.h, self.w)), f"N.BatchNorm2d({c}, affine={bias}, track_running_stats={first}, momentum={pick((0.1, None))})"),
            Call("m(x)", _all(x=self.images), f"N.Conv2d({c}, {self.out}, {k}, {s}, {p}, {self.apart}, {self.groups}, {bias}, padding_mode='{padded}')"),
            Call("m(x)", _all(x=self.images), f"N.ConvTranspose2d({c}, {self.out}, {k}, {s}, {min(p, k - 1)}, 0, {self.groups}, {bias}, {self.apart})"),
            Call("m(x, y)", _all(x=(2, 2), y=(2, 3)), "N.Bilinear(2, 3, 4)"),
        ]


def state_of(value: Any) -> Any:
    """A value of a module's state as an array: tensors in PyTorch, arrays here."""
    return value.detach().numpy().copy() if hasattr(value, "detach") else value.copy()
