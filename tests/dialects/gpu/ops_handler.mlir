// RUN: wengert-opt %s | filecheck %s
// What says which object of a binary is loaded is kept as it is.

// CHECK: gpu.binary @bin <#gpu.select_object<1>> [#gpu.object<#nvvm.target, "">, #gpu.object<#nvvm.target, offload = "">]
gpu.binary @bin <#gpu.select_object<1>> [#gpu.object<#nvvm.target, "">, #gpu.object<#nvvm.target, offload = "">]
// CHECK: gpu.module @m <#gpu.select_object<0>> [#nvvm.target] {
gpu.module @m <#gpu.select_object<0>> [#nvvm.target] {
}
