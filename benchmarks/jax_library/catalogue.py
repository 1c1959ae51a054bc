"""The typical programs of JAX's libraries."""

from __future__ import annotations

from benchmarks.jax_library import equinox_programs, flax_programs, optax_programs

PROGRAMS = (*flax_programs.PROGRAMS, *equinox_programs.PROGRAMS, *optax_programs.PROGRAMS)
