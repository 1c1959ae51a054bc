"""What the matmul generator needs to know about a processor: the width and the number of its vector registers."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

ELEMENT_BYTES = {
    "f32": 4, "f64": 8, "bf16": 2, "f16": 2, "c64": 8, "c128": 16,
    "i8": 1, "i16": 2, "i32": 4, "i64": 8, "ui8": 1, "ui16": 2, "ui32": 4, "ui64": 8,
}  # fmt: skip


class Target(Struct, frozen=True):
    """`vector_bytes` per register and `registers` of them."""

    vector_bytes: int
    registers: int

    def lanes(self, element: str) -> int:
        """How many elements one register holds."""
        return self.vector_bytes // ELEMENT_BYTES[element]


AVX512 = Target(64, 32)
AVX2 = Target(32, 16)
NEON = Target(16, 32)
SSE2 = Target(16, 16)


def target_of(triple: str, features: Mapping[str, bool]) -> Target:
    """The target of an LLVM triple and the feature map of `llvmlite.binding.get_host_cpu_features()`."""
    if triple.startswith(("aarch64", "arm64")):
        return NEON
    if features.get("avx512f"):
        return AVX512
    return AVX2 if features.get("avx2") and features.get("fma") else SSE2
