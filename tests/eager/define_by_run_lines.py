"""Lines of define-by-run code that are drawn at random: templates by kind, whose holes are tensors of the program, numbers, dimensions, positions and extents."""

from __future__ import annotations

from random import Random
from typing import Any

UNARY = (
    *("abs", "asinh", "atan", "cos", "cosh", "erf", "exp", "expm1", "floor", "frac", "log", "log1p", "neg", "reciprocal", "relu", "round", "rsqrt"),
    *("sigmoid", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc"),
)
UNARY_IN_PLACE = (*("abs_", "cos_", "exp_", "floor_", "log1p_", "neg_", "reciprocal_", "relu_", "sigmoid_", "sin_", "sqrt_", "square_", "tanh_", "zero_"),)

ARITHMETIC = (
    "{v} = {x} + {y}",
    "{v} = {x} - {y}",
    "{v} = {x} * {y}",
    "{v} = {x} / {y}",
    "{v} = {x} ** {y}",
    "{v} = {x} * {c}",
    "{v} = {c} - {x}",
    "{v} = {x} ** 2",
)

VIEWS = (
    *("{v} = {x}[{index}]", "{v} = {x}[{index}]", "{v} = {x}.transpose({d}, {e})", "{v} = {x}.view({extents})", "{v} = {x}.reshape({extents})"),
    *("{v} = {x}.expand({more})", "{v} = {x}.unsqueeze({d})", "{v} = {x}.squeeze()", "{v} = {x}.squeeze({d})", "{v} = {x}.flatten()", "{v} = {x}.t()"),
    *("{v} = {x}.narrow({d}, 0, 1)", "{v} = {x}.select({d}, 0)", "{v} = {x}.diagonal()", "{v} = {x}.unbind({d})[0]", "{v} = {x}.chunk(2, {d})[-1]"),
    *("{v} = {x}.split(1, {d})[0]", "{v} = {x}.movedim({d}, {e})", "{v} = {x}.permute({order})", "{v} = {x}.unfold({d}, 2, 1)", "{v} = {x}.view_as({y})"),
    *("{v} = {x}.expand_as({y})", "{v} = {x}.swapaxes({d}, {e})", "{v} = {x}.unflatten({d}, (1, -1))", "{v} = {x}.ravel()", "{v} = T.atleast_2d({x})"),
    *("{v} = {x}.tensor_split(2, {d})[0]", "{v} = {x}.hsplit(1)[0]", "{v} = {x}[...]", "{v} = {x}.detach()"),
)
"""Most are views; what shares memory with what is seen by the lines that change things in place."""

MOVED = (
    *("{v} = {x}.contiguous()", "{v} = {x}.clone()", "{v} = {x}.flip({d})", "{v} = {x}.roll(1, {d})", "{v} = {x}.repeat({twice})", "{v} = {x}.tril()"),
    *("{v} = {x}.repeat_interleave(2, {d})", "{v} = T.cat([{x}, {y}], {d})", "{v} = T.stack([{x}, {y}])", "{v} = T.hstack([{x}, {y}])", "{v} = T.triu({x})"),
    *("{v} = {x}.index_select({d}, T.tensor({places}))", "{v} = {x}.take(T.tensor([0, 0]))", "{v} = {x}[{x} > 0]", "{v} = {x}.masked_select({x} > {c})"),
    *("{v} = T.diag({x})", "{v} = T.block_diag({x}, {y})", "{v} = T.cartesian_prod({x}, {y})", "{v} = T.nn.functional.pad({x}, (1, 1))", "{v} = T.trace({x})"),
)

IN_PLACE = (
    *("{x}.add_({y})", "{x}.mul_({y})", "{x}.sub_({y}, alpha={c})", "{x}.div_({y})", "{x}[{index}] = {y}", "{x}[{index}] = {c}", "{x}[{index}] += {y}"),
    *("{x}[{index}] *= {c}", "{x}.copy_({y})", "{x}.fill_({c})", "{x}.clamp_(-1, 1)", "{x} += {y}", "{x} *= {c}", "{x}.pow_(2)", "{x}.addcmul_({y}, {y})"),
    *("{x}.masked_fill_({y} > 0, {c})", "{x}.lerp_({y}, 0.3)", "{x}[{x} > 0] = {c}", "{x}.index_fill_({d}, T.tensor([0]), {c})", "{x}.tril_()"),
    *("{x}.cumsum_({d})", "{x}.unsqueeze_(0)", "{x}.squeeze_()", "{x}.transpose_(0, -1)", "T.sin_({x})"),
)

REDUCTIONS = (
    *("{v} = {x}.sum()", "{v} = {x}.sum({d})", "{v} = {x}.mean({d}, keepdim=True)", "{v} = {x}.prod({d})", "{v} = {x}.prod()", "{v} = {x}.max()"),
    *("{v} = {x}.max({d})[0]", "{v} = {x}.min({d}).values", "{v} = {x}.amax({d})", "{v} = {x}.logsumexp({d})", "{v} = {x}.std({d})", "{v} = {x}.norm()"),
    *("{v} = {x}.norm(dim={d})", "{v} = {x}.cumsum({d})", "{v} = {x}.cumprod({d})", "{v} = {x}.softmax({d})", "{v} = {x}.log_softmax({d})", "{v} = {x}.amin()"),
    *("{v} = {x}.sort({d})[0]", "{v} = {x}.topk(1, {d})[0]", "{v} = {x}.cummax({d})[0]", "{v} = {x}.kthvalue(1, {d})[0]"),
    *(
        "{v} = {x}.diff(dim={d})",
        "{v} = {x}.diff(dim={d})",
        "{v} = {x}.norm(p=1, dim={d})",
        "{v} = {x}.var({d}, correction=0)",
        "{v} = {x}.renorm(2, {d}, 1.0)",
    ),
)

OF_TWO = (
    *("{v} = {x} @ {y}", "{v} = T.where({x} > 0, {x}, {y})", "{v} = T.maximum({x}, {y})", "{v} = T.minimum({x}, {y})", "{v} = T.outer({x}, {y})"),
    *("{v} = {x}.clamp(min={y})", "{v} = T.atan2({x}, {y})", "{v} = T.lerp({x}, {y}, 0.3)", "{v} = T.addcmul({x}, {x}, {y})", "{v} = T.hypot({x}, {y})"),
    *("{v} = {x}.fmod({y})", "{v} = {x}.remainder({y})", "{v} = T.tensordot({x}, {y}, 1)", "{v} = T.kron({x}, {y})", "{v} = T.logaddexp({x}, {y})"),
    *(
        "{v} = T.addmm({x}, {y}, {y})",
        "{v} = T.baddbmm({x}, {y}, {y})",
        "{v} = T.cdist({x}, {y})",
        "{v} = T.dist({x}, {y})",
        "{v} = T.nn.functional.mse_loss({x}, {y})",
    ),
    *(
        "{v} = T.cosine_similarity({x}, {y}, dim={d})",
        "{v} = {x}.masked_fill({y} > 0, {c})",
        "{v} = T.nn.functional.silu({x})",
        "{v} = T.nn.functional.gelu({x})",
    ),
)

GRAPH = (
    *(
        "with T.no_grad(): {v} = {x} * 2",
        "with T.no_grad(): {x}.mul_(1.5)",
        "{x}.retain_grad()",
        "{v} = {x} * 1; {v}.register_hook(lambda g: g * 2)",
        "{x}.grad = None",
    ),
    *(
        "{v} = {x}.detach().clone().requires_grad_()",
        "with T.no_grad(): {x}[{index}] = {y}",
        "{x}.sum().backward(retain_graph=True)",
        "{v} = T.zeros_like({x})",
    ),
    *("{g} = T.autograd.grad({x}.square().sum(), {y}, create_graph=True)[0].clone()", "{v} = {x}.new_ones(2)", "{x}.sum().backward()"),
)

KINDS = ((UNARY, 14), (ARITHMETIC, 16), (VIEWS, 18), (MOVED, 8), (IN_PLACE, 16), (REDUCTIONS, 10), (OF_TWO, 8), (GRAPH, 10))
"""The kinds of lines, and how often they are drawn."""


class Lines:
    """Draws lines for a program whose tensors are known.

    Args:
        random: what is drawn from.
    """

    def __init__(self, random: Random):
        self.random = random
        self.made = 0

    def leaf(self, number: int) -> str:
        """A line that makes an input."""
        extents = [self.random.choice((1, 2, 3, 4)) for _ in range(self.random.randint(0, 3))]
        return f"x{number} = T.tensor({self._nested(extents)}, requires_grad={self.random.random() < 0.85})"

    def _nested(self, extents: list[int]) -> Any:
        if not extents:
            return round(self.random.uniform(-2, 2), 3)
        return [self._nested(extents[1:]) for _ in range(extents[0])]

    def line(self, tensors: dict[str, tuple[int, ...]]) -> str:
        """A line about some of these tensors, by name with their extents."""
        random, names = self.random, list(tensors)
        x, y = (random.choice(names[-6:] if random.random() < 0.6 else names) for _ in range(2))
        extents = tensors[x]
        kind = random.choices([k for k, _ in KINDS], [n for _, n in KINDS])[0]
        template = random.choice(kind)
        if kind is UNARY:
            template = random.choice(("{v} = {x}.NAME()", "{v} = T.NAME({x})")).replace("NAME", template)
        elif kind is IN_PLACE and random.random() < 0.3:
            template = "{x}." + random.choice(UNARY_IN_PLACE) + "()"
        self.made += 1
        size, first = _product(extents), extents[0] if extents else 1
        return template.format(
            v=f"v{self.made}",
            g=f"g{self.made}",
            x=x,
            y=y,
            c=round(random.uniform(-2, 2), 2),
            d=self._dimension(extents),
            e=self._dimension(extents),
            index=self._index(extents),
            places=[random.randrange(max(first, 1)) for _ in range(random.randint(1, 3))],
            order=random.sample(range(len(extents)), len(extents)),
            twice=[2] * max(len(extents), 1),
            more=[random.randint(1, 3), *extents],
            extents=random.choice(([size], [-1], [1, size], [size, 1], [-1, 2], [1, *extents], [*extents, 1], [-1, *extents[:1]])),
        )

    def _dimension(self, extents: tuple[int, ...]) -> int:
        return self.random.randint(-len(extents), len(extents) - 1) if extents else self.random.choice((0, -1))

    def _index(self, extents: tuple[int, ...]) -> str:
        """Numbers, slices, new dimensions, lists of different positions; one ellipsis at most."""
        parts: list[str] = []
        for d in range(self.random.randint(1, max(1, len(extents)))):
            n = extents[d] if d < len(extents) else 1
            kind = self.random.random()
            if kind < 0.3:
                parts.append(str(self.random.randint(-n, n - 1) if n else 0))
            elif kind < 0.6:
                start = self.random.randint(0, n)
                parts.append(f"{start}:{self.random.choice((n, self.random.randint(start, n)))}{self.random.choice(('', '', ':2'))}")
            elif kind < 0.7:
                parts.append("None")
            elif kind < 0.8 and "..." not in parts:
                parts.append("...")
            elif kind < 0.9 and n:
                parts.append(str(self.random.sample(range(n), self.random.randint(1, n))))
            else:
                parts.append(":")
        return ", ".join(parts)


def _product(extents: tuple[int, ...]) -> int:
    size = 1
    for n in extents:
        size *= n
    return size
