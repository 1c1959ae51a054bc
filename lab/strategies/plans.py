"""All plans for a derivative of a program: modes, strategies and sizes of batches, and for second derivatives the orders of the modes.

===============  ======================================================================================================================
``jvps``         JVPs, one call for each element of the arguments
``jvps xK``      the same, K directions in a batch
``jacfwd``       one call: the JVPs of all directions in one batch for each argument, in the program
``vjps``         VJPs, one call for each element of the results; ``vjps direct`` by the strategy of this name
``vjps xK``      the same, K directions in a batch
``jacrev``       one call: the VJPs of all directions in one batch for each result, in the program
``... joined``   the directions of all arguments, or of all results, in one batch; ``jacrev direct`` is so, by the strategy of this name
``compressed``   columns (forward) or rows (reverse) that have no element in common in one direction, where that takes fewer directions; or both modes, where
                 both together take fewer still
``eliminated``   vertices of the linearised graph are eliminated, in the best order by rule; ``eliminated search`` in one that is searched for
``forward xK random``  an unbiased estimate from K random directions, on request
``mixed``        reverse from the narrowest cut to the arguments, forward from there to the results, where the cut is narrower than both; ``mixed late`` from
                 the last of several such cuts: what is between them is gone through in the other mode; ``mixed loop N forward`` (or ``reverse``) from a
                 cut that may be wider, and has a loop or branch on the other side; ``mixed cheapest`` from the minimum cut by the costs of directions, where
                 that is none of these
===============  ======================================================================================================================

A Hessian is the Jacobian of a Jacobian, so its plans are those of ``jacrev`` (forward over reverse, reverse over reverse) and of
``jacfwd`` (reverse over forward, forward over forward); ``edge pushing`` collects the second derivatives of one number on its graph, each pair once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

from wengert.lab.strategies.checkpointed import checkpointed
from wengert.lab.strategies.estimated import estimated
from wengert.lab.strategies.offloaded import offloaded
from wengert.lab.strategies.plan import Blocks, Mode, Plan
from wengert.runtime.derived.jacobian_passes import MODES, jacobian_pass
from wengert.runtime.derived.requests import positions_text
from wengert.runtime.errors import InputError
from wengert.runtime.program import Program, static_program
from wengert.transforms.ad.jacobians.compression import Colouring
from wengert.transforms.ad.jacobians.mixed import cheapest, cuts, cuts_at_loops
from wengert.transforms.ad.jacobians.seeded import compressed_directions
from wengert.transforms.ad.residuals.policies import policies_for
from wengert.transforms.ad.strategies import DEFAULT, strategy_names
from wengert.transforms.pipelines import OPTIMIZE

Wanted = Literal["jacobian", "gradient", "hessian"]
WANTED: tuple[Wanted, ...] = ("jacobian", "gradient", "hessian")

CHUNKS = (16, 128)
"""Directions in a batch, of plans that need several calls."""
MOST_COMPRESSED = 1 << 22
"""The pattern of a Jacobian with more elements is not looked at."""
MOST_ELIMINATED, MOST_SEARCHED, SEARCH_STEPS = 2000, 200, 200
"""Programs of more ops have no row for elimination, or none for a search, which tries so many orders."""
MOST_CUTS = 3
"""So many rows at most are for cuts on the other side of a loop."""
MOST_PUSHED = 500
"""Programs of more ops have no row for edge pushing, which goes through second derivatives of all of them."""


def plans(
    program: Program,
    wanted: Wanted,
    wrt: Sequence[int],
    of: Sequence[int],
    strategies: Sequence[str] | None = None,
    budget: int | None = None,
    estimates: int | None = None,
    *,
    of_complex: bool = False,
) -> list[Plan]:
    """The plans for a derivative of a static program.

    Args:
        program: the program.
        wanted: the Jacobian; the gradient, which is that of a function with one number as its result; or all second derivatives.
        wrt: positions of the arguments.
        of: positions of the results.
        strategies: strategies of reverse mode, by name; all by default.
        budget: the largest arena that is wanted, in bytes: there is a row that computes values again for it.
        estimates: of how many random directions there are rows that estimate a first derivative.
        of_complex: list plans that have no meaning for complex arguments or results too, which :meth:`Plan.refusal` names.

    Raises:
        InputError: there is no such derivative, a gradient is asked of more than one number, or something is complex, unless ``of_complex``.
    """
    if wanted not in WANTED:
        raise InputError(f"there is no derivative {wanted!r} to choose a strategy for; there are: {', '.join(WANTED)}")
    if not of_complex:
        check_real(program, wrt, of)
    names = list(strategy_names() if strategies is None else strategies)
    if wanted == "hessian":
        if estimates is not None:
            raise InputError("there are estimates of first derivatives only: ask for the Jacobian or the gradient")
        return list(_hessians(program, wrt, of))
    plans = list(_jacobians(program, wrt, of, names))
    if estimates is not None:
        plans += estimated(program, plans[0].blocks, wrt, of, estimates)
    if budget is not None:
        plans += checkpointed(program, plans[0].blocks, wrt, of, budget)
    if wanted == "gradient":
        results = plans[0].blocks.rows
        if results != 1:
            raise InputError(f"a gradient is that of one number, and these are {results}: choose results with of, or ask for the Jacobian")
        plans += _with_policies(program, wrt, of)
    return plans


def check_real(program: Program, wrt: Sequence[int], of: Sequence[int]) -> None:
    """Raises InputError for what is complex."""
    for mode in MODES:
        jacobian_pass(mode, program.signature, tuple(wrt), tuple(of), holomorphic=False)


def modes(program: Program, wrt: Sequence[int], of: Sequence[int]) -> list[Plan]:
    """The two plans ``jacfwd`` and ``jacrev``; of complex arguments or results they may have no meaning (:meth:`Plan.refusal`)."""
    blocks = _blocks(program, wrt, of)
    return [
        Plan("jacfwd", "batched forward", blocks, partial(program.jacfwd, wrt, of), "forward", None),
        Plan("jacrev", "batched reverse", blocks, partial(program.jacrev, wrt, of), "reverse", None),
    ]


def _jacobians(program: Program, wrt: Sequence[int], of: Sequence[int], names: Sequence[str]) -> Iterator[Plan]:
    forward, backward = modes(program, wrt, of)
    blocks = forward.blocks
    yield Plan("jvps", "JVPs one by one", blocks, partial(program.jvp, wrt, of), "forward", 0)
    yield from _batches(program, blocks, "jvps", "JVPs", partial(program.jvp, wrt, of), "forward")
    yield forward
    if len(wrt) > 1:
        yield _by_pass(program, "jacfwd joined", "forward in one batch", blocks, "forward", "joined-jacobian", wrt, of)
    for name in names:
        suffix, by = ("", "") if name == DEFAULT else (f" {name}", f" by {name}")
        reverse = partial(program.vjp, wrt, of, strategy=name)
        yield Plan(f"vjps{suffix}", f"VJPs{by} one by one", blocks, reverse, "reverse", 0)
        yield from _batches(program, blocks, f"vjps{suffix}", f"VJPs{by}", reverse, "reverse")
        if name == DEFAULT:
            yield backward
        if len(of) > 1 or name != DEFAULT:
            suffix = suffix or " joined"
            joined = f"joined-jacobian{{strategy={name}"
            yield _by_pass(program, f"jacrev{suffix}", f"reverse{by} in one batch", blocks, "reverse", joined, wrt, of)
    yield from _compressed(program, blocks, wrt, of)
    narrow = min(blocks.columns, blocks.rows)
    directions, where = cuts(program.optimized_module, wrt, of)
    for nearest in where if 0 < directions < narrow else ():
        late = nearest == "results"
        text = "mixed-jacobian{cut=results" if late else "mixed-jacobian"
        yield _by_pass(program, f"mixed{' late' * late}", f"both modes from a {'later ' * late}cut of {directions}", blocks, None, text, wrt, of, directions)
    yield from _mixed_at_loops(program, blocks, wrt, of, narrow)
    by_cost = cheapest(program.optimized_module, wrt, of) if 0 < directions < narrow else None
    if by_cost is not None and by_cost < narrow:
        how = f"both modes from the cheapest cut, of {by_cost}"
        yield _by_pass(program, "mixed cheapest", how, blocks, None, "mixed-jacobian{cut=cheapest", wrt, of, by_cost)
    yield from _eliminated(program, blocks, wrt, of)


def _mixed_at_loops(program: Program, blocks: Blocks, wrt: Sequence[int], of: Sequence[int], narrow: int) -> Iterator[Plan]:
    """Both modes from cuts that have a loop or a branch on the other side than the narrowest one, and are narrower than arguments and results."""
    narrower = [pair for pair in cuts_at_loops(program.optimized_module, wrt, of) if pair[0] < narrow]
    for directions, sides in narrower[:MOST_CUTS]:
        mode, number = ("reverse", sides.before[0]) if sides.before else ("forward", sides.behind[0])
        how = f"both modes from a cut of {directions}, loop {number} {'in reverse' if sides.before else 'forward'}"
        yield _by_pass(program, f"mixed loop {number} {mode}", how, blocks, None, f"mixed-jacobian{{{mode}={number}", wrt, of, directions)


def _eliminated(program: Program, blocks: Blocks, wrt: Sequence[int], of: Sequence[int]) -> Iterator[Plan]:
    """Elimination on the linearised graph."""
    ops = _count(program)
    if blocks.columns * blocks.rows > MOST_COMPRESSED or ops > MOST_ELIMINATED:
        return
    yield _by_pass(program, "eliminated", "vertices, the best order by rule", blocks, None, "eliminate{order=best", wrt, of, 0)
    if ops <= MOST_SEARCHED:
        yield _by_pass(program, "eliminated search", "vertices, an order by search", blocks, None, f"eliminate{{order=search steps={SEARCH_STEPS}", wrt, of, 0)


def _count(program: Program) -> int:
    return sum(len(list(block.ops)) for block in _bodies(program))


def _bodies(program: Program) -> Iterator[Block]:
    for op in program.optimized_module.ops:
        if isinstance(op, FuncOp):
            yield from op.body.blocks


def _compressed(program: Program, blocks: Blocks, wrt: Sequence[int], of: Sequence[int]) -> Iterator[Plan]:
    """Both modes with fewer directions than elements, where the pattern of the Jacobian allows it."""
    if blocks.columns * blocks.rows > MOST_COMPRESSED:
        return
    fewest = min(blocks.columns, blocks.rows)
    ways: tuple[tuple[Mode, Colouring], ...] = (("forward", "columns"), ("reverse", "rows"))
    for mode, what in ways:
        directions = compressed_directions(program.optimized_module, what, wrt, of, min(blocks.columns, blocks.rows))
        if directions is not None:
            fewest = min(fewest, sum(directions))
            how = f"{mode}, {what} in {sum(directions)} colours"
            yield _by_pass(program, f"compressed {what}", how, blocks, mode, "seeded-jacobian", wrt, of, sum(directions))
    both = compressed_directions(program.optimized_module, "both", wrt, of, fewest)
    if both is not None:
        how = f"columns in {both[0]} colours forward, rows in {both[1]} in reverse"
        yield _by_pass(program, "compressed both", how, blocks, None, "seeded-jacobian{mode=both", wrt, of, sum(both))


def _by_pass(
    program: Program,
    name: str,
    how: str,
    blocks: Blocks,
    mode: Mode | None,
    text: str,
    wrt: Sequence[int],
    of: Sequence[int],
    directions: int | None = None,
) -> Plan:
    """The Jacobian by a pass, which is told what to differentiate, and the mode if it has one."""
    options = [text, *([f"mode={mode}"] if mode is not None else []), f"wrt={positions_text(wrt)}", f"of={positions_text(of)}"]
    passes = f"{' '.join(options) if '{' in text else '{'.join((options[0], ' '.join(options[1:])))}}}"
    return Plan(name, how, blocks, partial(_made, program, passes), mode or "forward", None, directions, passes)


def _made(program: Program, passes: str) -> Program:
    return static_program(program.optimized_module, program.name).apply(f"{passes},{OPTIMIZE}")


def _batches(program: Program, blocks: Blocks, name: str, what: str, make: partial[Program], mode: Mode) -> Iterator[Plan]:
    """Derivatives in batches of a few sizes."""
    count = blocks.columns if mode == "forward" else blocks.rows
    inputs = len(program.signature.arguments)
    for size in (size for size in CHUNKS if size < count):
        yield Plan(f"{name} x{size}", f"{what} batched by {size}", blocks, partial(_batched, make, inputs, size, mode), mode, size)


def _batched(make: partial[Program], inputs: int, size: int, mode: Mode) -> Program:
    """A derivative for several directions: the last dimension of tangents of results holds them, and the first one of all else."""
    derivative = make()
    seeds = len(derivative.signature.arguments) - inputs
    outputs = len(derivative.signature.results) - _derivatives(make, mode)
    axis = -1 if mode == "forward" else 0
    in_axes = [None] * inputs + [0] * seeds
    out_axes = [None] * outputs + [axis] * (len(derivative.signature.results) - outputs)
    return derivative.vmap(in_axes, out_axes, size=size)


def _derivatives(make: partial[Program], mode: Mode) -> int:
    """How many results are derivatives."""
    wrt, of = make.args
    return len(of if mode == "forward" else wrt)


def _with_policies(program: Program, wrt: Sequence[int], of: Sequence[int]) -> Iterator[Plan]:
    """The gradient by other policies for what the forward part keeps."""
    for policy in policies_for(program.optimized_module):
        if policy != "auto":
            yield Plan(f"vjps {policy}", f"VJP, {policy}", _blocks(program, wrt, of), partial(program.vjp, wrt, of, residuals=policy), "reverse", 0)
    yield from offloaded(program, _blocks(program, wrt, of), wrt, of)


def _hessians(program: Program, wrt: Sequence[int], of: Sequence[int]) -> Iterator[Plan]:
    inner = {"reverse": program.jacrev(wrt, of), "forward": program.jacfwd(wrt, of)}
    for first, gradient in inner.items():
        seconds: tuple[Mode, ...] = ("forward", "reverse")
        blocks = _blocks(gradient, wrt, range(len(of) * len(wrt)))
        for second in seconds:
            make = partial(gradient.jacfwd if second == "forward" else gradient.jacrev, wrt)
            yield Plan(f"{second} over {first}", f"{second} over {first}, batched", blocks, make, second, None)
        along = partial(gradient.jvp, wrt, range(len(of) * len(wrt)))
        if first == "reverse":
            yield Plan("hvps", "forward over reverse, one by one", blocks, along, "forward", 0)
            yield from _compressed_hessian(gradient, blocks, wrt)
            yield from _batches(gradient, blocks, "hvps", "forward over reverse,", along, "forward")
    yield from _pushed(program, _blocks(inner["reverse"], wrt, range(len(of) * len(wrt))), wrt, of)


def _pushed(program: Program, blocks: Blocks, wrt: Sequence[int], of: Sequence[int]) -> Iterator[Plan]:
    """Edge pushing, which is for one number."""
    if blocks.columns == blocks.rows and len(of) == 1 and blocks.columns**2 <= MOST_COMPRESSED and _count(program) <= MOST_PUSHED:
        yield _by_pass(program, "edge pushing", "arcs on the graph, each pair once", blocks, None, "edge-pushing", wrt, of, 0)


def _compressed_hessian(gradient: Program, blocks: Blocks, wrt: Sequence[int]) -> Iterator[Plan]:
    """Forward over reverse, with as many directions as the columns of the Hessian have colours: those of one number by a star colouring."""
    if blocks.columns * blocks.rows > MOST_COMPRESSED:
        return
    of, symmetric = range(len(blocks.of)), blocks.columns == blocks.rows
    colouring: Colouring = "star" if symmetric else "columns"
    directions = compressed_directions(gradient.optimized_module, colouring, wrt, of, min(blocks.columns, blocks.rows))
    if directions is not None:
        how = f"forward, columns in {directions[0]} {'colours of stars' if symmetric else 'colours'} over reverse"
        text = f"seeded-jacobian{{mode={'star' if symmetric else 'forward'}"
        plan = _by_pass(gradient, "compressed over reverse", how, blocks, None, text, wrt, of, directions[0])
        yield Plan(plan.name, how, blocks, plan.make, "forward", None, plan.fewer)


def _blocks(program: Program, wrt: Sequence[int], of: Sequence[int]) -> Blocks:
    signature = program.signature
    return Blocks(tuple(signature.arguments[i] for i in wrt), tuple(signature.results[j] for j in of))
