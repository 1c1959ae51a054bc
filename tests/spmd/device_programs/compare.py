"""Compares programs for four devices with JAX: values, JVPs and VJPs by both strategies, on one device and on threads. Says which differ, one line each,
and which VJPs have more collectives than JAX's.

python compare.py NAME...
"""

import os
import sys
from importlib import import_module
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "support" / "programs"))
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from collective_counts import collectives, more, on_devices
from mesh import PROGRAMS

import wengert as wg


def programs():
    for module in ("algorithms", "annotations", "compositions", "learning", "rules", "schedules"):
        import_module(module)
    return PROGRAMS


def leaves(tree):
    return [np.asarray(x) for x in jax.tree.leaves(tree)]


def error(got, wanted):
    if np.shape(got) != wanted.shape:
        return np.inf
    return np.abs(got - wanted).max(initial=0.0) / (np.abs(wanted).max(initial=0.0) or 1.0)


class Reference:
    """JAX's values and derivatives of a program; a derivative is None where JAX refuses it."""

    def __init__(self, function, args):
        rng = np.random.default_rng(1)
        self.args = [np.asarray(a) for a in args]
        self.wrt = tuple(i for i, a in enumerate(self.args) if a.dtype.kind in "fc")
        self.out = leaves(jax.jit(function)(*args))
        self.tangents = [like(rng, self.args[i]) for i in self.wrt]
        self.cotangents = [like(rng, y) for y in self.out]
        moving = [self.args[i] for i in self.wrt]

        def along(*xs):
            return function(*(xs[self.wrt.index(i)] if i in self.wrt else a for i, a in enumerate(args)))

        self.along, tree = along, jax.tree.structure(jax.eval_shape(along, *moving))
        self.jvp = accepted(lambda xs, dots: jax.jvp(along, xs, dots)[1], moving, self.tangents)
        self.vjp = accepted(lambda xs, bars: jax.vjp(along, *xs)[1](jax.tree.unflatten(tree, bars)), moving, self.cotangents)
        self.tree = tree

    def vjp_text(self):
        """What JAX writes for results and cotangents."""

        def both(xs, bars):
            y, pullback = jax.vjp(self.along, *xs)
            return y, pullback(jax.tree.unflatten(self.tree, bars))

        return jax.jit(both).lower([self.args[i] for i in self.wrt], self.cotangents).as_text()


def like(rng, x):
    drawn = rng.standard_normal(x.shape) + (1j * rng.standard_normal(x.shape) if x.dtype.kind == "c" else 0)
    return drawn.astype(x.dtype)


def accepted(derivative, *given):
    try:
        return leaves(jax.jit(derivative)(*given))
    except (TypeError, ValueError) as refused:
        if not any(words in str(refused) for words in ("forward-mode autodiff", "Reverse-mode differentiation does not work", "mesh")):
            raise
        return None


def differences(name):
    """What differs, in words."""
    function, args = programs()[name]
    args = [jnp.asarray(a) for a in args]
    ref, imported = Reference(function, args), wg.from_jax(function, *args).program
    whole = wg.spmd(imported)
    assert whole.mesh.size == 4
    ways = {
        "one device": (imported, lambda p: p),
        "threads": (whole, lambda p: p.distribute()),
        "interpreted threads": (whole, lambda p: p.distribute(backend="interpreter")),
    }
    for way, (p, on) in ways.items():
        yield from wrong(f"{name} on {way}", on(p)(*ref.args), ref.out, 1e-10)
        if ref.jvp is not None:
            tangents = on(p.jvp(wrt=ref.wrt))(*ref.args, *ref.tangents)[-len(ref.jvp) :]
            yield from wrong(f"JVP of {name} on {way}", tangents, ref.jvp, 1e-8)
        for strategy in ("transpose", "direct"):
            cotangents = on(p.vjp(wrt=ref.wrt, strategy=strategy))(*ref.args, *ref.cotangents)[-len(ref.wrt) :]
            if ref.vjp is not None:
                yield from wrong(f"VJP of {name} on {way} by {strategy}", cotangents, ref.vjp, 1e-8)
            elif ref.jvp is not None:
                sides = [sum(np.sum(a * b) for a, b in zip(*pair, strict=True)) for pair in ((cotangents, ref.tangents), (ref.cotangents, ref.jvp))]
                if not np.isclose(*sides, rtol=1e-8):
                    yield f"the dot-product test of {name} on {way} by {strategy}: {sides}"
    if ref.vjp is not None and is_one_manual_computation(imported):
        theirs = collectives(wg.parse(ref.vjp_text()).module)
        for strategy in ("transpose", "direct"):
            ours = on_devices(whole.vjp(wrt=ref.wrt, strategy=strategy))
            if more(ours, theirs):
                yield f"VJP of {name} by {strategy} has {ours}, JAX has {theirs}"


def is_one_manual_computation(program):
    """Whether all that devices exchange is in the text; else XLA chooses what they exchange around it."""
    first, *others = next(op for op in program.module.ops if op.name == "func.func").body.block.ops
    return first.name == "sdy.manual_computation" and len(others) == 1


def wrong(what, got, wanted, within):
    for j, (x, y) in enumerate(zip(got, wanted, strict=True)):
        if not error(x, y) <= within:
            yield f"{what}: value {j} is off by {error(x, y):.1e}"


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        print("\n".join(programs()))
    for name in [a for a in sys.argv[1:] if not a.startswith("--")]:
        for difference in differences(name):
            print(difference)
