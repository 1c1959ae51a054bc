"""The functions about gradients alone: ``grad``, ``backward``, derivatives of functions, their check, functions with derivatives of their own."""

from wengert.eager.function import Context, Function, once_differentiable
from wengert.eager.gradient_check import GradcheckError, gradcheck, gradgradcheck
from wengert.eager.gradients import derivatives as functional
from wengert.eager.gradients.anomaly import detect_anomaly, is_anomaly_enabled, set_detect_anomaly
from wengert.eager.gradients.gradient import backward, grad
from wengert.eager.recording import saved_hooks as graph

__all__ = [
    "Context",
    "Function",
    "GradcheckError",
    "backward",
    "detect_anomaly",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "is_anomaly_enabled",
    "once_differentiable",
    "set_detect_anomaly",
]
