"""Profiles of define-by-run code: ``torch.autograd.profiler``."""

from wengert.eager.profiling.events import EventList, FunctionEvent, FunctionEventAvg
from wengert.eager.profiling.profile import profile, profiler_enabled, record_function

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "profile", "profiler_enabled", "record_function"]
