"""Describes processors, as far as schedules and code depend on them."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

LEAST_PAIR_GAIN = 1.2
"""Of a multiply-add's rate."""


class Target(Struct, frozen=True):
    """A processor: the bytes of a vector register, how many there are, whether f16 conversion is in hardware, and the bytes of a core's second-level cache.

    ``attributes`` are LLVM function attributes that every kernel gets; ``family`` is the first part of the triple. ``slow_subnormals``: a multiply-add with a
    subnormal operand takes a hundred cycles and more.

    ``bf16_pairs`` and ``i16_pairs``: how many of the instructions that multiply pairs of bf16, or of 16-bit integers, and add both products to a sum of 32 bits
    it does in the time of a multiply-add of f32; 0 if it has none.

    ``awake``: the threads of the program at hand stay awake from one kernel to the next, so that smaller ones are shared.
    """

    name: str
    vector_bytes: int
    vector_registers: int
    has_f16: bool
    attributes: str = "nounwind"
    family: str = ""
    second_level_bytes: int = 1 << 20
    slow_subnormals: bool = False
    bf16_pairs: float = 0.0
    i16_pairs: float = 0.0
    awake: bool = False

    def pair_rate(self, element: str) -> float:
        """The rate of the instruction for pairs of such elements."""
        return {"bf16": self.bf16_pairs, "i16": self.i16_pairs}.get(element, 0.0)

    def gains_by_pairs(self, element: str) -> bool:
        """Whether products of such elements are worth panels of pairs, which are looked through and whose elements are interleaved."""
        return 2 * self.pair_rate(element) >= LEAST_PAIR_GAIN


GENERIC = Target("generic", 16, 16, False)

NOMINAL = Target("nominal", 32, 16, True)
"""For estimates of work where the processor is not known yet."""

_LONG_VECTORS = 'nounwind "prefer-vector-width"="512"'
TARGETS = {
    "sse2": Target("sse2", 16, 16, False, family="x86_64"),
    "avx2": Target("avx2", 32, 16, True, family="x86_64"),
    "avx512": Target("avx512", 64, 32, True, _LONG_VECTORS, "x86_64", slow_subnormals=True),
    "zen4": Target("zen4", 64, 32, True, _LONG_VECTORS, "x86_64", bf16_pairs=1.0, i16_pairs=1.0),
    "neon": Target("neon", 16, 32, True, family="aarch64"),
}
"""Processors by name, for schedules that do not depend on where they are made."""


_QUICK_WITH_SUBNORMALS = ("znver", "bdver")
"""LLVM's names of AMD's processors with AVX2 begin so; they lose a few cycles, Intel's more than a hundred."""
_QUICK_WITH_PAIRS = "znver"
_SLOW_PAIRS = 0.27
"""``vdpbf16ps`` beside ``vfmadd231ps`` in registers: as many on a Zen 5, 0.72 ns to 0.19 ns on an Intel Xeon of model 207 (`docs/performance/products.md`)."""


def described(name: str, features: Mapping[str, bool], family: str, second_level_bytes: int = GENERIC.second_level_bytes) -> Target:
    """The processor that LLVM knows by this name and these features, with so many bytes of second-level cache."""
    slow = family == "x86_64" and not name.startswith(_QUICK_WITH_SUBNORMALS)
    if all(features.get(feature) for feature in ("avx512f", "avx512vl", "avx512dq", "avx512bw")):
        bf16_pairs = 0.0 if not features.get("avx512bf16") else 1.0 if name.startswith(_QUICK_WITH_PAIRS) else _SLOW_PAIRS
        i16_pairs = 1.0 if features.get("avx512vnni") else 0.0
        return Target(name, 64, 32, True, _LONG_VECTORS, family, second_level_bytes, slow, bf16_pairs, i16_pairs)
    if features.get("avx2"):
        return Target(name, 32, 16, bool(features.get("f16c")), family=family, second_level_bytes=second_level_bytes, slow_subnormals=slow)
    neon = bool(features.get("neon"))
    return Target(name, 16, 32 if neon else 16, neon or bool(features.get("f16c")), family=family, second_level_bytes=second_level_bytes)
