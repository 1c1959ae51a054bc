"""The typical programs of JAX's libraries."""

from __future__ import annotations

from benchmarks.jax_library import (
    blackjax_programs,
    diffrax_programs,
    distrax_programs,
    equinox_programs,
    flax_programs,
    haiku_programs,
    jax_md_programs,
    lineax_programs,
    numpyro_programs,
    optax_programs,
    optimistix_programs,
)

PROGRAMS = (
    *flax_programs.PROGRAMS,
    *haiku_programs.PROGRAMS,
    *equinox_programs.PROGRAMS,
    *optax_programs.PROGRAMS,
    *numpyro_programs.PROGRAMS,
    *blackjax_programs.PROGRAMS,
    *distrax_programs.PROGRAMS,
    *diffrax_programs.PROGRAMS,
    *lineax_programs.PROGRAMS,
    *optimistix_programs.PROGRAMS,
    *jax_md_programs.PROGRAMS,
)
