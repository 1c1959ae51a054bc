"""The rules of ``jax.custom_jvp`` and ``jax.custom_vjp``, kept on the way from a JAX function to a program.

JAX's lowering writes the body of such a function where it is called, and the rule is lost. But the jaxpr, the form before, still has an
equation for every call, from which JAX can evaluate, differentiate and transpose. So:

1. Equations of that kind, in sub-jaxprs too (loops, branches, jitted functions), are replaced by calls of a primitive that is lowered to a
   private function with a name of ours.
2. Rules are functions like any others: ``jax.jvp`` and ``jax.vjp`` of the one equation, traced to jaxprs in which the calls of further such
   functions are treated in the same way, and lowered by themselves.
3. The texts are put into one module, and the private functions get ``ad.custom_jvp`` or ``ad.custom_vjp``.

``lax.custom_linear_solve`` is a call of its solver that becomes ``ad.custom_linear_solve`` (:mod:`.linear_solves`), except where it solves by
triangular factors: JAX takes the derivative from the matrix there, and we take it from the solution as it is computed, factors included.

``lax.stop_gradient``, of which the lowering says nothing either, becomes a primitive that leaves the mark of
:mod:`wengert.transforms.core.recognisers.stopped`. Not where it stops what only such a system is solved with, the factors in ``jnp.linalg.solve``.

The incomplete gamma and beta functions are primitives of JAX with rules of their own, while their text is a loop, whose derivative differs from the
rule outside of their domain. They are treated as functions with a rule, in which a zero tangent is no number but absent, as in JAX's rules of
primitives (``ad.symbolic_zeros``).

Primitives that a library defines with a derivative and a transpose (:mod:`.foreign`) are functions with a rule too, and linear calls on tangents. Callbacks
into Python become calls of functions that are kept here (:mod:`.callbacks`). Rules are traced for what is active where they are called (:mod:`.activity`),
and inside of the ``shard_map``s around it (:mod:`.shard_maps`).

Calls whose bodies and rules are the same share a function. A rule may call its own function: a call whose body and rule have the text
of one that is just being treated is taken for a call of that one.
"""
