"""The functions about gradients alone: ``grad``, ``backward``, derivatives of functions, their check, functions with derivatives of their own."""

from wengert.eager import profiling as profiler
from wengert.eager.errors import GradcheckError
from wengert.eager.function import Context, Function, once_differentiable
from wengert.eager.gradient_check import gradcheck, gradgradcheck
from wengert.eager.gradients import derivatives as functional
from wengert.eager.gradients import forward_ad, progress
from wengert.eager.gradients import graph_functions as graph
from wengert.eager.gradients.anomaly import detect_anomaly, is_anomaly_enabled, set_detect_anomaly
from wengert.eager.gradients.gradient import backward, grad
from wengert.eager.gradients.variable import Variable, is_multithreading_enabled, set_multithreading_enabled
from wengert.eager.recording.modes import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = [
    "Context",
    "Function",
    "GradcheckError",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_anomaly_enabled",
    "is_multithreading_enabled",
    "no_grad",
    "once_differentiable",
    "profiler",
    "progress",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]
