"""A program that grows op by op: its text so far, the values that ops may use, and the choices of one seed.

A step of the generator (``steps_*.py``) takes operands out of the pool, or has them made: any value that is wanted of a type can become an
argument, a constant, or something computed from the pool. So there are operands for every op in every program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np

from fuzz.tensors import COMPLEX_OF, FLAVOURS, INTEGERS, PART, WIDER, Array, Type, dense, integers_text, random_array

T = TypeVar("T")


class Value(NamedTuple):
    """An SSA value: its name in the text, and its type."""

    name: str
    type: Type

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def element(self) -> str:
        return self.type.element


@dataclass
class Style:
    """What one program is like, drawn once: its element types, its sizes, and how bold it is."""

    main: str
    elements: tuple[str, ...]
    extents: tuple[int, ...]
    largest: int
    wild: bool
    """Values are not kept bounded, and inputs hold the values at which functions end."""
    families: tuple[str, ...]
    smooth: bool = False


@dataclass
class Whole:
    """What the blocks of a program share: its arguments, private functions, names, and the budget of ops."""

    rng: np.random.Generator
    style: Style
    arguments: list[Value] = field(default_factory=list)
    inputs: list[Array] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    names: int = 0
    budget: int = 20


class Grower:
    """Adds ops to one block."""

    def __init__(self, whole: Whole, pool: list[Value] | None = None, depth: int = 0, isolated: bool = False):
        self.whole, self.rng, self.style = whole, whole.rng, whole.style
        self.pool: list[Value] = pool if pool is not None else []
        self.depth = depth
        self.isolated = isolated
        """Whether the block is that of a private function, which cannot refer to the program's arguments."""
        self.lines: list[str] = []

    # -- choosing

    def integer(self, low: int, high: int) -> int:
        """A number of this range, both ends included."""
        return int(self.rng.integers(low, high + 1))

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.integer(0, len(choices) - 1)]

    def permutation(self, n: int) -> list[int]:
        return [int(i) for i in self.rng.permutation(n)]

    def subset(self, n: int, probability: float = 0.5) -> list[int]:
        return [i for i in range(n) if self.chance(probability)]

    def value(self, accepts: Callable[[Type], bool] = lambda t: True) -> Value:
        """A value of the pool that is accepted, late ones more often; or a new one of such a type."""
        fitting = [v for v in self.pool if accepts(v.type)]
        if fitting and not self.chance(0.08):
            late = fitting[-4:] if self.chance(0.6) else fitting
            return self.pick(late)
        for _ in range(60):
            type = self.random_type()
            if accepts(type):
                return self.of(type)
        return self.pick(fitting) if fitting else self.of(self.some_type(accepts))

    def of_shape(self, shape: tuple[int, ...]) -> Value:
        """A value of some element type."""
        fitting = [v for v in self.pool if v.shape == shape]
        return self.pick(fitting) if fitting and self.chance(0.8) else self.of(Type(self.pick(self.style.elements), shape))

    def some_type(self, accepts: Callable[[Type], bool]) -> Type:
        """The first of a list of usual types that is accepted."""
        for element in (self.style.main, *self.style.elements, "f32", "i32", "i1", "complex<f32>"):
            for shape in ((3,), (2, 3), (), (2, 3, 4), (2, 2), (1, 2, 4, 4), (2, 3, 2, 5, 2)):
                if accepts(Type(element, shape)):
                    return Type(element, shape)
        raise AssertionError("no type is accepted")

    def random_shape(self, ranks: Sequence[int] = (0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4, 5, 6)) -> tuple[int, ...]:
        for _ in range(20):
            shape = tuple(self.pick(self.style.extents) for _ in range(self.pick(ranks)))
            if Type("i1", shape).size <= self.style.largest:
                return shape
        return (self.pick(self.style.extents),)

    def random_type(self) -> Type:
        element = self.style.main if self.chance(0.7) else self.pick(self.style.elements)
        return Type(element, self.random_shape())

    def fits(self, type: Type) -> bool:
        """Whether a result of this type is small enough."""
        return type.size <= self.style.largest and type.rank <= 6

    # -- values of a type

    def of(self, type: Type, flavour: str | None = None) -> Value:
        """A value of the type: of the pool, an argument, a constant, or computed."""
        if flavour is None:
            fitting = [v for v in self.pool if v.type == type]
            if fitting and self.chance(0.75):
                return self.pick(fitting)
            if self.chance(0.3) and (made := self._computed(type)) is not None:
                return made
        if type.size > 8 * self.style.largest:
            return self.splat(1, type)  # of what an op needs beside a long operand, as an index of it by itself, the text would be endless
        if not self.isolated and len(self.whole.arguments) < 7 and self.chance(0.7):
            return self.argument(type, flavour)
        return self.constant(self.data(type, flavour), type)

    def data(self, type: Type, flavour: str | None = None) -> Array:
        """Random elements as the style asks."""
        special = 0.2 if self.style.wild and self.chance(0.4) else 0.0
        return random_array(self.rng, type, flavour or ("plain" if self.style.smooth else self.pick(FLAVOURS)), special)

    def argument(self, type: Type, flavour: str | None = None, data: Array | None = None) -> Value:
        value = Value(f"%arg{len(self.whole.arguments)}", type)
        self.whole.arguments.append(value)
        self.whole.inputs.append(self.data(type, flavour) if data is None else data)
        return value

    def _computed(self, type: Type) -> Value | None:
        """A value of the type from some other of the pool: converted, reshaped, summed up, repeated."""
        sources = [v for v in self.pool[-6:] if v.type.is_float or v.element == type.element]
        if not sources or type.is_bool:
            return None
        x = self.pick(sources)
        if x.type.size != type.size:
            x = self.bounded(self.total(x))
        if x.element != type.element:
            x = self.converted(x, type.element)
        if x.shape == type.shape:
            return x
        if x.type.size == type.size:
            return self.one("stablehlo.reshape", [x], type)
        return self.broadcast(x, [], type.shape)

    def converted(self, x: Value, element: str) -> Value:
        """x with another element type, of small values where these are integers."""
        if x.element == element:
            return x
        if x.type.is_complex and element in COMPLEX_OF:
            x = self.one("stablehlo.real", [x], x.type.having(PART[x.element]))
            return self.converted(x, element)
        if x.type.is_float and element in INTEGERS:
            x = self.one("stablehlo.multiply", [self.sine(x), self.splat(3.0, x.type)], x.type)
            if element.startswith("u"):
                x = self.one("stablehlo.abs", [x], x.type)
        return self.one("stablehlo.convert", [x], x.type.having(element))

    def total(self, x: Value) -> Value:
        """The sum of all elements."""
        return self.reduce_with("stablehlo.add", x, range(x.type.rank), self.splat(0, Type(x.element, ())))

    def reduce_with(self, combine: str, x: Value, dims: Sequence[int], init: Value, element: str | None = None) -> Value:
        scalar = Type(element or x.element, ())
        result = x.type.having(scalar.element, shape=[n for d, n in enumerate(x.shape) if d not in set(dims)])
        body = self.combiner([scalar, scalar], lambda g, a, b: [g.one(combine, [a, b], scalar)])
        return self.one("stablehlo.reduce", [x, init], result, f"dimensions = {integers_text(dims)}", [body])

    def accumulator(self, element: str) -> str:
        """The element type in which numbers of this one are added up, or combined otherwise: its own, mostly, or a wider one."""
        return WIDER[element] if element in WIDER and self.chance(0.1) else element

    # -- small pieces

    def sine(self, x: Value) -> Value:
        return self.one("stablehlo.sine", [x], x.type)

    def bounded(self, x: Value) -> Value:
        """x between -1 and 1, unless the program is a wild one."""
        if not (x.type.is_float or x.type.is_complex) or (self.style.wild and self.chance(0.8)):
            return x
        return self.sine(x) if x.type.is_float else self.one("stablehlo.tanh", [x], x.type)

    def positive(self, x: Value) -> Value:
        """Between 0.6 and 2.6."""
        return self.one("stablehlo.add", [self.sine(x), self.splat(1.6, x.type)], x.type)

    def splat(self, value: Any, type: Type) -> Value:
        return self.one("stablehlo.constant", [], type, f"value = {dense(np.full(1, value, type.dtype), type)}")

    def constant(self, array: Array, type: Type) -> Value:
        return self.one("stablehlo.constant", [], type, f"value = {dense(array, type)}")

    def broadcast(self, x: Value, dims: Sequence[int], shape: Sequence[int]) -> Value:
        return self.one("stablehlo.broadcast_in_dim", [x], x.type.having(shape=list(shape)), f"broadcast_dimensions = {integers_text(dims)}")

    def compare(self, direction: str, x: Value, y: Value, order: str | None = None) -> Value:
        if order is None:
            order = "FLOAT" if x.type.is_float or x.type.is_complex else "UNSIGNED" if x.type.is_bool or x.element.startswith("u") else "SIGNED"
        attributes = f"comparison_direction = #stablehlo<comparison_direction {direction}>, compare_type = #stablehlo<comparison_type {order}>"
        return self.one("stablehlo.compare", [x, y], x.type.having("i1"), attributes)

    def select(self, p: Value, x: Value, y: Value) -> Value:
        return self.one("stablehlo.select", [p, x, y], x.type)

    # -- writing

    def name(self, prefix: str = "%v") -> str:
        self.whole.names += 1
        return f"{prefix}{self.whole.names}"

    def one(self, op: str, operands: Sequence[Value], result: Type, attributes: str = "", regions: Sequence[str] = ()) -> Value:
        return self.emit(op, operands, [result], attributes, regions)[0]

    def emit(self, op: str, operands: Sequence[Value], results: Sequence[Type], attributes: str = "", regions: Sequence[str] = ()) -> list[Value]:
        """Writes an op in generic form and returns its results."""
        name = self.name()
        properties = f" <{{{attributes}}}>" if attributes else ""
        bodies = f" ({', '.join(regions)})" if regions else ""
        types = f"({', '.join(str(v.type) for v in operands)}) -> ({', '.join(map(str, results))})"
        left = f"{name}:{len(results)}" if len(results) > 1 else name
        self.lines.append(f'{left} = "{op}"({", ".join(v.name for v in operands)}){properties}{bodies} : {types}')
        return [Value(f"{name}#{i}" if len(results) > 1 else name, type) for i, type in enumerate(results)]

    def combiner(self, types: Sequence[Type], body: Callable[..., list[Value]]) -> str:
        """A region on scalars."""
        inner = Grower(self.whole, [], self.depth + 1, isolated=True)
        arguments = [Value(self.name("%s"), type) for type in types]
        return inner.block(arguments, body(inner, *arguments))

    def block(self, arguments: Sequence[Value], returned: Sequence[Value], ends: str = "stablehlo.return") -> str:
        """The text of this block as a region."""
        head = f"\n^bb0({', '.join(f'{a.name}: {a.type}' for a in arguments)}):" if arguments else ""
        last = f'"{ends}"({", ".join(v.name for v in returned)}) : ({", ".join(str(v.type) for v in returned)}) -> ()'
        return "{" + head + "\n" + "\n".join("  " + line.replace("\n", "\n  ") for line in [*self.lines, last]) + "\n}"

    def nested(self, extra: Sequence[Value]) -> Grower:
        """A grower for a region of this block, which sees its values and these."""
        return Grower(self.whole, [*self.pool, *extra], self.depth + 1, self.isolated)
