"""The text of a contraction of strided views::

%2 = kernel.matmul %0, %1 as [8, 6] strided<[1, 8], offset: 4>, contracting_dims = [1] x [0]
schedule<kernel = packed, tile = {rows = 2, columns = 1, lanes = 4}> : (tensor<2x8xf32>, tensor<52xf32>) -> tensor<2x6xf32>
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from xdsl.ir import Operation

from wengert.dialects.kernel.positions import strides
from wengert.dialects.kernel.product_schedule import ProductScheduleAttr
from wengert.dialects.kernel.schedule_clause import read_clause, write_clauses
from wengert.dialects.kernel.subscripts import buffer_shape
from wengert.dialects.stablehlo.syntax import DotText
from wengert.ir.attributes import int_array, ints
from wengert.ir.parsing.operations import OpState, Reader
from wengert.ir.printing.printer import Unwritable, Writer

View = tuple[tuple[int, ...], tuple[int, ...], int]
"""The extents, strides and offset of an operand of a product."""


class ProductText(Struct, frozen=True):
    """Two operands, each as the view of its buffer that it is if that is not all of it, row by row; the dimensions; perhaps a schedule; the types."""

    properties: tuple[str, ...] = ("dimension_numbers", "lhs_shape", "lhs_strides", "rhs_shape", "rhs_strides", "offsets", "schedule")

    def read(self, reader: Reader, state: OpState) -> None:
        views = [self._view(reader, state)]
        reader.need(",")
        views.append(self._view(reader, state))
        DotText().read(reader, state)
        state.properties["dimension_numbers"] = state.properties.pop("dot_dimension_numbers")
        read_clause(reader, state, ProductScheduleAttr)
        state.set_attributes(reader.dictionary())
        reader.need(":")
        state.types_at = reader.skip()
        state.operand_types, state.result_types = reader.function_type()
        offsets: list[int] = []
        for side, view, type in zip(("lhs", "rhs"), views, state.operand_types):
            shape = buffer_shape(type)
            if shape is None:
                reader.fail(f"a product has operands of static shape, found {type}", state.types_at)
            extents, steps, offset = view or (shape, strides(shape), 0)
            state.properties[f"{side}_shape"], state.properties[f"{side}_strides"] = int_array(extents), int_array(steps)
            offsets.append(offset)
        state.properties["offsets"] = int_array(offsets)

    @staticmethod
    def _view(reader: Reader, state: OpState) -> View | None:
        """Reads ``%x as [8, 6] strided<[1, 8], offset: 4>``."""
        state.operands.append(reader.operand())
        if not reader.accept_word("as"):
            return None
        extents = reader.integers()
        reader.need_word("strided")
        reader.need("<")
        position = reader.skip()
        steps = reader.integers()
        if len(steps) != len(extents):
            reader.fail(f"{len(extents)} extents need as many strides; there are {len(steps)}", position)
        offset = 0
        if reader.accept(","):
            reader.need_word("offset")
            reader.need(":")
            offset = reader.integer()
        reader.need(">")
        return extents, steps, offset

    def write(self, op: Operation, writer: Writer) -> None:
        texts: list[str] = []
        for side, value, offset in zip(("lhs", "rhs"), op.operands, ints(op.properties["offsets"]), strict=True):
            shape = buffer_shape(value.type)
            if shape is None:
                raise Unwritable
            view = ints(op.properties[f"{side}_shape"]), ints(op.properties[f"{side}_strides"]), offset
            texts.append(writer.value(value) + ("" if view == (shape, strides(shape), 0) else f" as {_view_text(*view)}"))
        writer.write(f" {', '.join(texts)}{DotText.dimensions_text(op.properties['dimension_numbers'])}")
        write_clauses(op, writer)
        writer.attribute_dictionary(op)
        writer.write(f" : {writer.function_type(op.operand_types, op.result_types)}")


def _view_text(extents: Sequence[int], steps: Sequence[int], offset: int) -> str:
    return f"{list(extents)} strided<{list(steps)}{f', offset: {offset}' if offset else ''}>"
