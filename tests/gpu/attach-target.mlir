// RUN: wengert-opt %s -p "nvvm-attach-target{chip=sm_90 features=+ptx80}" | filecheck %s
// RUN: wengert-opt %s -p "nvvm-attach-target{module=one O=3 chip=sm_80 features=+ptx71 fast=true ftz=true l=a.bc,b.bc ptxas-cmd-options=\"-v -O2\"}" | filecheck %s --check-prefix=NVVM
// RUN: wengert-opt %s -p "rocdl-attach-target{chip=gfx942},rocdl-attach-target{chip=gfx942}" | filecheck %s --check-prefix=ROCDL
// RUN: wengert-opt %s -p "rocdl-attach-target{chip=gfx1100 wave64=false daz=true finite-only=true unsafe-math=true correct-sqrt=false abi=500}" | filecheck %s --check-prefix=FLAGS
// RUN: wengert-opt %s -p "spirv-attach-target{ver=v1.4 caps=Kernel,Addresses exts=SPV_KHR_expect_assume client_api=OpenCL vendor=Intel device_type=CPU}" | filecheck %s --check-prefix=SPIRV
// RUN: wengert-opt %s -p "spirv-attach-target{module=two},nvvm-attach-target{module=two}" | filecheck %s --check-prefix=BOTH

gpu.module @one {
}
gpu.module @two [#rocdl.target<chip = "gfx90a">] {
}

// CHECK:      gpu.module @one [#nvvm.target<chip = "sm_90", features = "+ptx80">] {
// CHECK:      gpu.module @two [#rocdl.target<chip = "gfx90a">, #nvvm.target<chip = "sm_90", features = "+ptx80">] {

// NVVM:       gpu.module @one [#nvvm.target<O = 3, chip = "sm_80", features = "+ptx71", flags = {"ptxas-cmd-options" = ["-v", "-O2"], fast, ftz}, link = ["a.bc", "b.bc"]>] {
// NVVM:       gpu.module @two [#rocdl.target<chip = "gfx90a">] {

// ROCDL:      gpu.module @one [#rocdl.target<chip = "gfx942">] {
// ROCDL:      gpu.module @two [#rocdl.target<chip = "gfx90a">, #rocdl.target<chip = "gfx942">] {

// FLAGS:      gpu.module @one [#rocdl.target<chip = "gfx1100", abi = "500", flags = {daz, finite_only, no_wave64, unsafe_math, unsafe_sqrt}>] {

// SPIRV:      gpu.module @one [#spirv.target_env<#spirv.vce<v1.4, [Kernel, Addresses], [SPV_KHR_expect_assume]>, api=OpenCL, Intel:CPU, #spirv.resource_limits<>>] {

// BOTH:       gpu.module @one {
// BOTH:       gpu.module @two [#rocdl.target<chip = "gfx90a">, #spirv.target_env<#spirv.vce<v1.0, [], []>, #spirv.resource_limits<>>, #nvvm.target<chip = "sm_75">] {
