// RUN: wengert-opt %s -p "promote-accumulators{target=avx2},convert-operands{target=avx2}" | filecheck %s
// RUN: wengert-opt %s -p "promote-accumulators{target=sse2},convert-operands{target=sse2}" | filecheck %s --check-prefix=OTHER
// A processor reads large operands of 16 bits as they are: those of products that are large, and those that are read about once since the other has few rows.

// CHECK-LABEL: @large
// CHECK: %[[SUMS:.*]] = stablehlo.dot_general %x, %x, {{.*}} : (tensor<200x200xbf16>, tensor<200x200xbf16>) -> tensor<200x200xf32>
// CHECK: stablehlo.convert %[[SUMS]] : (tensor<200x200xf32>) -> tensor<200x200xbf16>
func.func public @large(%x: tensor<200x200xbf16>) -> tensor<200x200xbf16> {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<200x200xbf16>, tensor<200x200xbf16>) -> tensor<200x200xbf16>
  return %0 : tensor<200x200xbf16>
}

// CHECK-LABEL: @few_rows
// CHECK: %[[X:.*]] = stablehlo.convert %x : (tensor<4x100xf16>) -> tensor<4x100xf32>
// CHECK: stablehlo.dot_general %[[X]], %y, {{.*}} : (tensor<4x100xf32>, tensor<300x100xf16>) -> tensor<4x300xf32>
// OTHER-LABEL: @few_rows
// OTHER-COUNT-2: stablehlo.convert
// OTHER: stablehlo.dot_general {{.*}} : (tensor<4x100xf32>, tensor<300x100xf32>) -> tensor<4x300xf32>
func.func public @few_rows(%x: tensor<4x100xf16>, %y: tensor<300x100xf16>) -> tensor<4x300xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [1] : (tensor<4x100xf16>, tensor<300x100xf16>) -> tensor<4x300xf32>
  return %0 : tensor<4x300xf32>
}

// CHECK-LABEL: @few_columns
// CHECK: %[[Y:.*]] = stablehlo.convert %y : (tensor<100x3xbf16>) -> tensor<100x3xf32>
// CHECK: stablehlo.dot_general %x, %[[Y]], {{.*}} : (tensor<300x100xbf16>, tensor<100x3xf32>) -> tensor<300x3xf32>
func.func public @few_columns(%x: tensor<300x100xbf16>, %y: tensor<100x3xbf16>) -> tensor<300x3xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<300x100xbf16>, tensor<100x3xbf16>) -> tensor<300x3xf32>
  return %0 : tensor<300x3xf32>
}

// Small operands are converted both, and so are operands of as many rows as columns.
// CHECK-LABEL: @small
// CHECK-COUNT-2: stablehlo.convert
// CHECK: stablehlo.dot_general {{.*}} : (tensor<4x10xf32>, tensor<10x50xf32>) -> tensor<4x50xf32>
func.func public @small(%x: tensor<4x10xbf16>, %y: tensor<10x50xbf16>) -> tensor<4x50xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x10xbf16>, tensor<10x50xbf16>) -> tensor<4x50xf32>
  return %0 : tensor<4x50xf32>
}
