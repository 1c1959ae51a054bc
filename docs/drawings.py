"""Makes the pictures of docs/pictures.md again: python docs/drawings.py (with grandalf, the extra draw)."""

from __future__ import annotations

import sys
from pathlib import Path

import wengert as wg

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples"
LAYER = """func.func public @main(%x: tensor<3xf64>, %w: tensor<3xf64>) -> tensor<3xf64> {
  %0 = stablehlo.multiply %x, %w : tensor<3xf64>
  %1 = stablehlo.tanh %0 : tensor<3xf64>
  return %1 : tensor<3xf64>
}"""
LOOP = """func.func public @main(%x: tensor<4xf64>, %w: tensor<4xf64>) -> tensor<4xf64> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %ten = stablehlo.constant dense<10> : tensor<i64>
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i64>, tensor<4xf64>
    cond {
      %p = stablehlo.compare LT, %i, %ten : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %a = stablehlo.multiply %y, %w : tensor<4xf64>
      %s = stablehlo.sine %a : tensor<4xf64>
      %n = stablehlo.add %i, %one : tensor<i64>
      stablehlo.return %n, %s : tensor<i64>, tensor<4xf64>
    }
  return %r#1 : tensor<4xf64>
}"""


def drawings() -> dict[str, str]:
    """The pictures by the name of their file."""
    block = wg.parse((EXAMPLES / "transformer_block.mlir").read_text(), "transformer_block.mlir")
    classifier = wg.parse((EXAMPLES / "mlp.mlir").read_text(), "mlp.mlir")
    return {
        "layer.svg": wg.parse(LAYER, "layer.mlir").vjp().draw().svg(),
        "block.svg": block.vjp().draw().svg(),
        "loop.svg": wg.parse(LOOP, "loop.mlir").vjp().draw(fold="line").svg(),
        "classifier.svg": classifier.jvp().draw(fold="line").svg(),
    }


def main() -> None:
    """Writes the pictures."""
    for name, text in drawings().items():
        (HERE / "pictures" / name).write_text(text, encoding="utf-8")
        sys.stdout.write(f"pictures/{name}\n")


if __name__ == "__main__":
    main()
