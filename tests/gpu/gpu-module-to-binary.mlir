// RUN: wengert-opt %s -p "nvvm-attach-target{chip=sm_90 features=+ptx80},gpu-module-to-binary{format=isa}" | filecheck %s
// RUN: wengert-opt %s -p "nvvm-attach-target{chip=sm_80 features=+ptx80},rocdl-attach-target{chip=gfx942},gpu-module-to-binary{format=assembly}" | filecheck %s --check-prefix=BOTH
// RUN: wengert-opt %s -p "spirv-attach-target{ver=v1.4 client-api=OpenCL},gpu-module-to-binary{format=bin}" | filecheck %s --check-prefix=SPIRV
// RUN: wengert-opt %s -p "nvvm-attach-target{chip=sm_90 features=+ptx80},gpu-module-to-binary{format=llvm}" | filecheck %s --check-prefix=LLVM
// RUN: wengert-opt %s -p "nvvm-attach-target{chip=sm_90 features=+ptx80},emit-gpu-llvm" | filecheck %s --check-prefix=TEXT
// RUN: wengert-opt %s -p "nvvm-attach-target{chip=sm_90 features=+ptx80},emit-gpu-llvm,optimize-gpu-llvm,emit-gpu-asm" | filecheck %s --check-prefix=PTX
// RUN: wengert-opt %s -p "rocdl-attach-target{chip=gfx942},emit-gpu-llvm{module=kernels},emit-gpu-asm" | filecheck %s --check-prefix=GCN

gpu.module @kernels {
  gpu.func @twice(%x: memref<256xf32, 1>) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %t = gpu.thread_id x
    %a = memref.load %x[%t] : memref<256xf32, 1>
    %b = arith.addf %a, %a : f32
    memref.store %b, %x[%t] : memref<256xf32, 1>
    gpu.return
  }
}

// CHECK:      gpu.binary @kernels [#gpu.object<#nvvm.target<chip = "sm_90", features = "+ptx80">, assembly = "{{.*}}.target sm_90{{.*}}.visible .entry twice
// BOTH:       gpu.binary @kernels [#gpu.object<#nvvm.target<chip = "sm_80", features = "+ptx80">, assembly = "{{.*}}.target sm_80{{.*}}#gpu.object<#rocdl.target<chip = "gfx942">, assembly = "{{.*}}.amdhsa_kernel twice
// SPIRV:      gpu.binary @kernels [#gpu.object<#spirv.target_env<#spirv.vce<v1.4, [], []>, api=OpenCL, #spirv.resource_limits<>>, bin = "\03\02#\07
// LLVM:       gpu.binary @kernels [#gpu.object<#nvvm.target<chip = "sm_90", features = "+ptx80">, offload = "BC\C0\DE
// TEXT:       target triple = "nvptx64-nvidia-cuda"
// TEXT:       define ptx_kernel void @twice(ptr addrspace(1) align 16 %p0){{.*}}"target-cpu"="sm_90" "target-features"="+ptx80"
// PTX:        .version 8.0
// PTX:        .visible .entry twice
// PTX:        add.rn.f32
// GCN:        .amdgcn_target "amdgcn-amd-amdhsa--gfx942"
