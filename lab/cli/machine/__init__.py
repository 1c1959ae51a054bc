"""Commands about the package and the machine: its ops, devices, cache, shell, and a demonstration."""
