"""Single ATen ops in their variants, beside PyTorch: values in f64, gradients for random cotangents, f32 for a few."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch_cases import Case, compare_family, exported

import wengert as wg

F = torch.nn.functional
G = torch.Generator().manual_seed(7)


def x(*extents: int, dtype: Any = torch.float64) -> Any:
    return torch.randn(extents, generator=G, dtype=dtype)


def positive(*extents: int) -> Any:
    return torch.rand(extents, generator=G, dtype=torch.float64) * 0.8 + 0.1


def ints(high: int, *extents: int, low: int = 0) -> Any:
    return torch.randint(low, high, extents, generator=G)


def bools(*extents: int) -> Any:
    return ints(2, *extents).bool()


KINKS = torch.tensor([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0], dtype=torch.float64)
SPECIAL = torch.tensor([-torch.inf, -1.0, 0.0, 2.0, torch.inf, torch.nan], dtype=torch.float64)


def unary(names: str, make: Any) -> list[Case]:
    return [Case(name, getattr(torch, name), (make(),)) for name in names.split()]


FAMILIES = {
    "elementwise": [
        *unary("abs atan asinh ceil cos cosh erf erfc exp expm1 floor neg round sigmoid sin sinh tan tanh trunc exp2 sign", lambda: x(3, 4)),
        *unary("acos asin atanh digamma erfinv lgamma log log10 log1p log2 reciprocal rsqrt sqrt", lambda: positive(3, 4)),
        Case("acosh", torch.acosh, (positive(4) + 2,)),
        Case("exp of int", torch.exp, (ints(3, 4),)),
        Case("add", torch.add, (x(3, 4), x(4))),
        Case("add alpha", lambda a, b: torch.add(a, b, alpha=3), (x(3, 1), x(4))),
        Case("add int", lambda a, b: a + b, (ints(9, 3), x(2, 3))),
        Case("add number", lambda a: a + 2.5, (ints(9, 3),)),
        Case("sub", lambda a, b: torch.sub(a, b, alpha=2), (x(4), x(3, 4))),
        Case("rsub", lambda a: 1 - a, (x(3),)),
        Case("mul", torch.mul, (x(2, 1, 3), x(4, 1))),
        Case("div", lambda a, b: a / b, (x(3), positive(2, 3))),
        Case("div of ints", lambda a, b: a / b, (ints(9, 3), ints(9, 3, low=1))),
        Case("floor division", lambda a, b: torch.div(a, b, rounding_mode="floor"), (ints(9, 20, low=-9), ints(5, 20, low=1))),
        Case("floor division by negative", lambda a, b: a // b, (ints(9, 20, low=-9), ints(0, 20, low=-5))),
        Case("truncated division", lambda a, b: torch.div(a, b, rounding_mode="trunc"), (ints(9, 20, low=-9), ints(5, 20, low=1))),
        Case("floor division of floats", lambda a: torch.floor_divide(a.detach(), 0.1), (x(20),)),
        Case("truncated division of floats", lambda a: torch.div(a.detach(), 0.3, rounding_mode="trunc"), (x(20),)),
        Case("remainder", lambda a: a % 0.7, (x(20),)),
        Case("remainder of ints", lambda a, b: a % b, (ints(9, 20, low=-9), ints(0, 20, low=-5))),
        Case("fmod", lambda a: torch.fmod(a, 0.7), (x(20),)),
        *(Case(f"pow {n}", lambda a, n=n: a**n, (x(5),)) for n in (0, 1, 2, 3, 7)),
        *(Case(f"pow {n}", lambda a, n=n: a**n, (positive(5),)) for n in (0.5, -0.5, -2, 1.7, -1)),
        Case("pow of int", lambda a: a**3, (ints(9, 5, low=-9),)),
        Case("pow tensor", torch.pow, (positive(5), x(5))),
        Case("pow of number", lambda a: 2.0**a, (x(5),)),
        Case("atan2", torch.atan2, (x(5), x(5))),
        Case("maximum", torch.maximum, (x(5), x(5))),
        Case("minimum", torch.minimum, (x(5), x(5))),
        Case("logaddexp", torch.logaddexp, (x(5), x(5))),
        Case("lerp", torch.lerp, (x(5), x(5), positive(5))),
        Case("addcmul", lambda a, b, c: torch.addcmul(a, b, c, value=2), (x(5), x(5), x(5))),
        Case("addcdiv", torch.addcdiv, (x(5), x(5), positive(5))),
        Case("to", lambda a: (a.to(torch.float32), a.to(torch.int32), a.to(torch.bool)), (x(5),)),
        Case("detach", lambda a: a * a.detach(), (x(5),)),
        Case("kinks", lambda a: (torch.atan2(a * 0, a * 0), (a * 0).std(1)), (x(3, 3),)),
        Case("matrix_exp", lambda a: (torch.linalg.matrix_exp(a), torch.linalg.matrix_exp(torch.stack([a * 0.01, a * 7, a * 0]))), (x(3, 3),)),
        Case("no_grad", lambda a: without_gradient(a), (x(5),)),
    ],
    "logic": [
        *(Case(name, getattr(torch, name), (ints(3, 6), ints(3, 6))) for name in ("eq", "ne", "lt", "le", "gt", "ge")),
        Case("compare promoted", lambda a, b: a < b, (ints(3, 6), x(6))),
        Case("compare number", lambda a: a > 0.5, (ints(3, 6),)),
        *(Case(name, getattr(torch, name), (bools(6), ints(2, 6))) for name in ("logical_and", "logical_or", "logical_xor")),
        *(Case(name, getattr(torch, name), (ints(99, 6), ints(99, 6))) for name in ("bitwise_and", "bitwise_or", "bitwise_xor")),
        Case("logical_not", torch.logical_not, (ints(2, 6),)),
        Case("bitwise_not", torch.bitwise_not, (ints(9, 6),)),
        *(Case(name, getattr(torch, name), (SPECIAL.clone(),)) for name in ("isnan", "isinf", "isfinite")),
        Case("any", lambda a: (a.any(), a.any(1), a.any(0, keepdim=True)), (bools(3, 2),)),
        Case("all", lambda a: (a.all(), a.all(1), a.all(0, keepdim=True)), (bools(3, 2),)),
        Case("sum of bools", torch.sum, (bools(9),)),
    ],
    "kinks": [
        Case("relu", torch.relu, (KINKS.clone(),)),
        Case("relu of special values", lambda a: torch.relu(a.detach()), (SPECIAL.clone(),)),
        Case("clamp", lambda a: torch.clamp(a, -1, 1), (KINKS.clone(),)),
        Case("clamp min", lambda a: torch.clamp(a, min=0), (KINKS.clone(),)),
        Case("clamp tensor", lambda a, b: torch.clamp(a, max=b), (x(7), x(7))),
        Case("clamp of special values", lambda a: torch.clamp(a.detach(), -1, 1), (SPECIAL.clone(),)),
        Case("hardtanh", F.hardtanh, (KINKS.clone(),)),
        Case("relu6", F.relu6, (3 * KINKS,)),
        Case("leaky_relu", F.leaky_relu, (KINKS.clone(),)),
        Case("elu", F.elu, (400 * KINKS,)),
        Case("selu", F.selu, (400 * KINKS,)),
        Case("celu", F.celu, (KINKS.clone(),)),
        Case("threshold", lambda a: F.threshold(a, 0.1, 20), (x(7),)),
        Case("softshrink", F.softshrink, (x(7),)),
        Case("where", torch.where, (bools(3, 1), x(4), x(3, 4))),
        Case("masked_fill", lambda a, m: a.masked_fill(m, -torch.inf), (x(3, 4), bools(3, 4))),
    ],
    "single precision": [
        # PyTorch holds 1/6 in single precision in the derivatives of these two, whatever the dtype.
        Case("hardsigmoid", F.hardsigmoid, (x(7, dtype=torch.float32),)),
        Case("hardswish", F.hardswish, (x(7, dtype=torch.float32),)),
        Case("half", lambda a: a.half().float() * 2, (x(7, dtype=torch.float32),)),
        Case("bfloat16", lambda a: (a.bfloat16() * 2 + 1).float(), (x(7, dtype=torch.float32),)),
        Case("softmax", lambda a: F.softmax(a, -1), (x(3, 7, dtype=torch.float32),)),
        Case("matmul", torch.matmul, (x(3, 7, dtype=torch.float32), x(7, 5, dtype=torch.float32))),
    ],
    "activations": [
        Case("gelu", F.gelu, (x(5),)),
        Case("gelu tanh", lambda a: F.gelu(a, approximate="tanh"), (x(5),)),
        Case("silu", F.silu, (x(5),)),
        Case("mish", F.mish, (x(5),)),
        Case("softplus", F.softplus, (x(5),)),
        Case("logsigmoid", F.logsigmoid, (x(5),)),
        Case("softsign", F.softsign, (x(5),)),
        Case("glu", F.glu, (x(5, 4),)),
        Case("softmax", lambda a: F.softmax(a, 1), (50 * x(5, 4),)),
        Case("log_softmax", lambda a: F.log_softmax(a, 0), (50 * x(5, 4),)),
        Case("softmax with masked", lambda a, m: F.softmax(a.masked_fill(m, -torch.inf), -1), (x(2, 3), torch.tensor([[True, False, False], [False, True, False]]))),
        Case("logsumexp", lambda a: torch.logsumexp(a, 1), (x(5, 4),)),
        Case("normalize", lambda a: F.normalize(a, dim=1), (x(5, 4),)),
        Case("cosine_similarity", F.cosine_similarity, (x(5, 4), x(5, 4))),
    ],
    "reductions": [
        Case("sum", lambda a: (a.sum(), a.sum(1), a.sum((0, -1), keepdim=True)), (x(2, 3, 4),)),
        Case("sum of ints", lambda a: a.sum(), (ints(9, 3).int(),)),
        Case("mean", lambda a: (a.mean(), a.mean(-1, keepdim=True)), (x(2, 3, 4),)),
        Case("prod", lambda a: (a.prod(), a.prod(1)), (x(2, 3),)),
        Case("amax", lambda a: (a.amax(), a.amax(1, keepdim=True), a.amax((0, 1))), (x(2, 3),)),
        Case("amin", lambda a: a.amin(0), (x(2, 3),)),
        Case("max", lambda a: (a.max(), *a.max(1), *a.max(0, keepdim=True)), (x(2, 3),)),
        Case("min", lambda a: (a.min(), *a.min(1)), (x(2, 3),)),
        Case("argmax", lambda a: (a.argmax(), a.argmax(1), a.argmin(0, keepdim=True)), (x(2, 3),)),
        Case("var", lambda a: (a.var(), a.var(1, correction=0), a.std((0, 1), keepdim=True)), (x(4, 3),)),
        Case("var_mean", lambda a: torch.var_mean(a, 0), (x(4, 3),)),
        Case("cumsum", lambda a: (a.cumsum(0), a.cumsum(1)), (x(4, 3),)),
        Case("cumprod", lambda a: a.cumprod(1), (x(4, 3),)),
        Case("norm", lambda a: (torch.linalg.vector_norm(a), torch.linalg.vector_norm(a, 1, 1), torch.linalg.vector_norm(a, 3)), (x(4, 3),)),
        Case("rank 0", lambda a: (a.sum(), a.amax(), a.cumsum(0), a.softmax(0)), (x(),)),
    ],
    "shapes": [
        Case("view", lambda a: (a.view(3, 4), a.reshape(-1), a.flatten(1), a.unflatten(2, (2, 1))), (x(2, 3, 2),)),
        Case("permute", lambda a: (a.permute(2, 0, 1), a.transpose(-1, 0), a.mT), (x(2, 3, 2),)),
        Case("t", lambda a: a.t(), (x(2, 3),)),
        Case("squeeze", lambda a: (a.squeeze(), a.squeeze(1), a.unsqueeze(-1)), (x(2, 1, 3),)),
        Case("expand", lambda a: (a.expand(4, 2, 3), a.expand(-1, 3)), (x(2, 1),)),
        Case("repeat", lambda a: (a.repeat(2, 3), a.repeat(2, 1, 1), a.repeat_interleave(2, 0), a.tile(2)), (x(2, 3),)),
        Case("flip and roll", lambda a: (a.flip(0, 1), a.roll(1, 0)), (x(2, 3),)),
        Case("slices", lambda a: (a[1:], a[:, -2:], a[::2, 1], a[..., None, 0], a[5:]), (x(4, 3),)),
        Case("split", lambda a: (a.split(2), a.split([1, 3]), a.chunk(3), a.unbind(1)), (x(4, 3),)),
        Case("cat", lambda a, b: (torch.cat([a, b]), torch.cat([a, a], -1), torch.stack([a, a], 1)), (x(2, 3), x(1, 3))),
        Case("cat promoted", lambda a, b: torch.cat([a, b]), (x(2), ints(3, 2))),
        Case("pad", lambda a: (F.pad(a, (1, 2)), F.pad(a, (1, -1, 0, 2), value=3.0)), (x(2, 3),)),
        Case("pad reflected", lambda a: (F.pad(a, (1, 2), mode="reflect"), F.pad(a, (1, 1), mode="replicate")), (x(1, 2, 4),)),
        Case("triangles", lambda a: (a.tril(), a.triu(1)), (x(3, 4),)),
        Case("numbers", lambda a: (torch.arange(5) + a, torch.arange(1, 2, 0.25) * a, torch.eye(3) * a, torch.full((2,), 3) * a, torch.ones_like(a)), (x(1),)),
        Case("zeros", lambda a: (a.new_zeros(2) + a, torch.zeros(2, dtype=torch.int32), torch.linspace(0, 1, 4) * a), (x(1),)),
        Case("one_hot", lambda i: F.one_hot(i, 4), (ints(4, 3),)),
        Case("pixel_shuffle", lambda a: F.pixel_shuffle(a, 2), (x(1, 8, 2, 3),)),
        Case("diagonal", lambda a: (a.diagonal(), a.diagonal(1), a.diagonal(-2), a.diagonal(2), a.diagonal(-1)), (x(3, 4),)),
    ],
    "indexing": [
        Case("embedding", F.embedding, (ints(4, 2, 3), x(4, 5))),
        Case("embedding with padding", lambda i, w: F.embedding(i, w, padding_idx=1), (ints(3, 2, 3), x(3, 5))),
        Case("x[i]", lambda a, i: a[i], (x(4, 3), ints(4, 2, 2, low=-4))),
        Case("x[:, i]", lambda a, i: a[:, i], (x(4, 3), ints(3, 5, low=-3))),
        Case("x[i, j]", lambda a, i, j: a[i, j], (x(4, 3), ints(4, 2, 1), ints(3, 5))),
        Case("x[:, i, j]", lambda a, i, j: a[:, i, j], (x(2, 4, 3), ints(4, 5), ints(3, 5))),
        Case("x[i, :, j]", lambda a, i, j: a[i, :, j], (x(2, 4, 3), ints(2, 5), ints(3, 5))),
        Case("index_select", lambda a, i: a.index_select(1, i), (x(4, 3), ints(3, 5))),
        Case("gather", lambda a, i: (a.gather(1, i), torch.take_along_dim(a, i, 1)), (x(4, 3), ints(3, 4, 2))),
        Case("gather of a part", lambda a, i: a.gather(0, i), (x(4, 3), ints(4, 5, 2))),
        Case("scatter", lambda a, i, s: a.scatter(1, i, s), (x(2, 5), torch.tensor([[0, 3, 4], [1, 0, 2]]), x(2, 3))),
        Case("scatter number", lambda a, i: a.scatter(0, i, 2.0), (x(4, 3), ints(4, 2, 2))),
        Case("scatter_add", lambda a, i, s: a.scatter_add(0, i, s), (x(4, 3), ints(4, 5, 3), x(5, 3))),
        Case("index_put", lambda a, v: torch.index_put(a, (torch.tensor([0, -1]),), v), (x(4, 3), x(3))),
        Case("index_put added", lambda a, i, v: torch.index_put(a, (i,), v, accumulate=True), (x(4, 3), ints(4, 6), x(6, 3))),
        Case("index_add", lambda a, i, v: a.index_add(1, i, v), (x(4, 3), ints(3, 6), x(4, 6))),
        Case("slice_scatter", lambda a, s: a.slice_scatter(s, 1, 1, 3), (x(4, 3), x(4, 2))),
        Case("slice_scatter with steps", lambda a, s: a.slice_scatter(s, 0, 1, None, 2), (x(5, 3), x(2, 3))),
        Case("histc", lambda a: (torch.histc(a.detach(), 4, -1, 1), torch.histc(a.detach(), 5)), (x(20),)),
        Case("histc of equal numbers", lambda a: torch.histc(a.detach() * 0, 3), (x(4),)),
        Case("select_scatter", lambda a, s: a.select_scatter(s, 0, -1), (x(4, 3), x(3))),
        Case("written", lambda a, s: assigned(a, s), (x(4, 3), x(3))),
    ],
    "contractions": [
        Case("mm", torch.matmul, (x(2, 3), x(3, 4))),
        Case("mv", torch.matmul, (x(2, 3), x(3))),
        Case("dot", torch.matmul, (x(3), x(3))),
        Case("bmm", torch.matmul, (x(5, 2, 3), x(5, 3, 4))),
        Case("batched", torch.matmul, (x(5, 1, 2, 3), x(2, 3, 4))),
        Case("addmm", lambda a, b, c: torch.addmm(a, b, c, beta=2, alpha=3), (x(4), x(2, 3), x(3, 4))),
        Case("baddbmm", torch.baddbmm, (x(1, 4), x(5, 2, 3), x(5, 3, 4))),
        Case("linear", F.linear, (x(5, 2, 3), x(4, 3), x(4))),
        Case("einsum", lambda a, b: (torch.einsum("bij,bkj->bik", a, b), torch.einsum("bij,ckj->bkic", a, b)), (x(2, 3, 4), x(2, 5, 4))),
        Case("outer", torch.outer, (x(2), x(3))),
        Case("tensordot", lambda a, b: torch.tensordot(a, b, ([2, 0], [0, 1])), (x(2, 3, 4), x(4, 2, 5))),
        Case("attention", F.scaled_dot_product_attention, (x(1, 2, 3, 4), x(1, 2, 5, 4), x(1, 2, 5, 4))),
        Case("causal attention", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), (x(1, 2, 3, 4), x(1, 2, 3, 4), x(1, 2, 3, 4))),
        Case("masked attention", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m), (x(1, 3, 4), x(1, 3, 4), x(1, 3, 4), torch.tensor([[True, False, True], [True, True, False], [False, True, True]]))),
    ],
    "convolutions": [
        Case("conv1d", F.conv1d, (x(2, 3, 8), x(4, 3, 3), x(4))),
        Case("conv2d", lambda a, w: F.conv2d(a, w, stride=(2, 1), padding=(1, 2), dilation=(1, 2)), (x(2, 3, 7, 8), x(4, 3, 3, 2))),
        Case("conv2d in groups", lambda a, w, c: F.conv2d(a, w, c, groups=2, padding="same"), (x(2, 4, 5, 5), x(6, 2, 3, 3), x(6))),
        Case("conv3d", F.conv3d, (x(1, 2, 3, 4, 3), x(2, 2, 2, 2, 2))),
        Case("conv_transpose1d", lambda a, w, c: F.conv_transpose1d(a, w, c, stride=2, padding=1, output_padding=1), (x(2, 3, 5), x(3, 4, 3), x(4))),
        Case("conv_transpose2d", lambda a, w: F.conv_transpose2d(a, w, stride=(2, 1), dilation=(1, 2), groups=2), (x(1, 4, 3, 4), x(4, 3, 3, 2))),
        Case("unbatched", F.conv1d, (x(3, 8), x(4, 3, 3))),
    ],
    "pooling": [
        Case("max_pool1d", lambda a: F.max_pool1d(a, 3, stride=2, padding=1), (x(2, 3, 8),)),
        Case("max_pool2d", lambda a: F.max_pool2d(a, 2), (x(2, 3, 5, 6),)),
        Case("max_pool2d dilated", lambda a: F.max_pool2d(a, 2, stride=1, dilation=2, padding=1), (x(2, 3, 5, 6),)),
        Case("max_pool2d rounded up", lambda a: F.max_pool2d(a, 3, stride=2, ceil_mode=True), (x(2, 3, 6, 8),)),
        Case("max_pool3d", lambda a: F.max_pool3d(a, 2), (x(1, 2, 4, 4, 4),)),
        Case("avg_pool1d", lambda a: F.avg_pool1d(a, 3, padding=1), (x(2, 3, 8),)),
        Case("avg_pool2d", lambda a: F.avg_pool2d(a, (2, 3), stride=1), (x(2, 3, 5, 6),)),
        Case("avg_pool2d without padding", lambda a: F.avg_pool2d(a, 3, stride=2, padding=1, count_include_pad=False), (x(2, 3, 5, 6),)),
        Case("avg_pool2d rounded up", lambda a: F.avg_pool2d(a, 3, stride=2, padding=1, ceil_mode=True), (x(2, 3, 6, 8),)),
        Case("avg_pool2d divided", lambda a: F.avg_pool2d(a, 2, divisor_override=3), (x(2, 4, 4),)),
        Case("adaptive_avg_pool2d", lambda a: (F.adaptive_avg_pool2d(a, 1), F.adaptive_avg_pool2d(a, (2, 3)), F.adaptive_avg_pool2d(a, (3, 4))), (x(2, 3, 6, 9),)),
        Case("adaptive_avg_pool1d", lambda a: F.adaptive_avg_pool1d(a, 3), (x(2, 3, 7),)),
        Case("adaptive_max_pool2d", lambda a: F.adaptive_max_pool2d(a, (3, 4)), (x(2, 3, 6, 9),)),
        Case("interpolate", lambda a: (F.interpolate(a, scale_factor=2), F.interpolate(a, size=(5, 7), mode="bilinear")), (x(1, 2, 3, 4),)),
    ],
    "normalisation": [
        Case("layer_norm", lambda a, w, c: F.layer_norm(a, (3, 4), w, c), (x(2, 3, 4), x(3, 4), x(3, 4))),
        Case("layer_norm without weights", lambda a: F.layer_norm(a, (4,)), (x(2, 3, 4),)),
        Case("group_norm", lambda a, w, c: F.group_norm(a, 2, w, c), (x(2, 4, 3, 3), x(4), x(4))),
        Case("instance_norm", F.instance_norm, (x(2, 4, 3, 3),)),
        Case("rms_norm", lambda a, w: F.rms_norm(a, (4,), w), (x(2, 4), x(4))),
        Case("batch_norm", lambda a, m, v, w, c: F.batch_norm(a, m.detach(), v.detach(), w, c), (x(5, 3, 2), x(3), positive(3), x(3), x(3))),
        Case("batch_norm of the batch", lambda a, w: F.batch_norm(a, None, None, w, training=True), (x(5, 3, 2), x(3))),
    ],
    "losses": [
        *(Case(f"cross_entropy {r}", lambda a, t, r=r: F.cross_entropy(a, t, reduction=r), (x(5, 4), ints(4, 5))) for r in ("mean", "sum", "none")),
        Case("cross_entropy ignoring", lambda a, t: F.cross_entropy(a, t, ignore_index=2), (x(5, 4), torch.tensor([0, 2, 1, 2, 3]))),
        Case("cross_entropy with weights", lambda a, t, w: F.cross_entropy(a, t, w.detach(), label_smoothing=0.1), (x(5, 4), ints(4, 5), positive(4))),
        Case("cross_entropy of images", F.cross_entropy, (x(2, 4, 3, 3), ints(4, 2, 3, 3))),
        Case("cross_entropy of probabilities", F.cross_entropy, (x(5, 4), positive(5, 4))),
        Case("nll_loss", F.nll_loss, (x(5, 4), ints(4, 5))),
        Case("mse_loss", F.mse_loss, (x(5, 4), x(5, 4))),
        Case("l1_loss", F.l1_loss, (x(5, 4), x(5, 4))),
        Case("smooth_l1_loss", F.smooth_l1_loss, (x(5, 4), x(5, 4))),
        Case("huber_loss", F.huber_loss, (x(5, 4), x(5, 4))),
        Case("kl_div", lambda a, t: F.kl_div(a, t, reduction="batchmean"), (x(5, 4), positive(5, 4))),
        Case("binary_cross_entropy", F.binary_cross_entropy, (positive(5), positive(5))),
        Case("with logits", F.binary_cross_entropy_with_logits, (x(5), positive(5))),
    ],
}  # fmt: skip


def without_gradient(a: Any) -> Any:
    with torch.no_grad():
        b, c = a * 2, a.sum()
        with torch.enable_grad():
            d = a.sin()
    return a * b + c + d, b


def assigned(a: Any, s: Any) -> Any:
    """In-place writes, which an export makes functional."""
    b = a.clone()
    b[1] = s
    b[2:, 0] += 1
    return b * a


@pytest.mark.parametrize("family", FAMILIES)
def test_family(family: str) -> None:
    compare_family(FAMILIES[family], 1e-5 if family == "single precision" else 1e-10)


class Calls(torch.nn.Module):
    def __init__(self, function: Any):
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


@pytest.mark.parametrize(
    ("function", "inputs", "message"),
    [
        (lambda a: torch.geqrf(a)[0], (x(3, 3),), "the op aten.geqrf.default"),
        (lambda a: F.dropout(a, 0.5), (x(3),), "random numbers come from the state of a generator"),
    ],
)
def test_what_has_no_translation(function: Any, inputs: Any, message: str) -> None:
    with pytest.raises(wg.DiagnosticError, match=message) as caught:
        wg.from_torch(exported(Calls(function), *inputs))
    assert caught.value.diagnostic.file == __file__
    assert caught.value.diagnostic.line > 0
