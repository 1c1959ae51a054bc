"""All handlers, by importing the modules that register them."""

from importlib import import_module

for _name in ("integers", "floats", "complexes", "tensors", "control", "bodies", "linalg"):
    import_module(f"wengert.transforms.upstream.convert.{_name}")
