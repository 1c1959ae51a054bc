"""Random smooth programs through every strategy: the rows of ``wengert strategies``, sparse and compressed derivatives, cuts, Taylor, estimates, curvature, budgets.

PYTHONPATH=tests python -m fuzz.rows --programs 200
PYTHONPATH=tests python -m fuzz.rows --programs 20 --first 100 --only taylor,budgets

Rows of Jacobians are tried on programs of several results, rows of gradients and Hessians on the sum of squares of these; all in the interpreter, against
forward mode (Hessians: forward over reverse). For each way the table says how many programs it was made for, and seeds at which it differs.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from math import factorial
from typing import Any

import numpy as np
from ad.random_programs import RandomProgram, of_one_number, random_program
from support.checks.frontiers import assert_frontier_holds

from fuzz.generator import SeededChoices
from fuzz.ways.curvature import curvature
from fuzz.ways.nearness import Array, Way, assert_near
from fuzz.ways.sparse import cheapest_cuts, compressed, reads, sparse
from wengert.ir.diagnostics import DiagnosticError
from wengert.lab.inputs import random_inputs
from wengert.lab.isolation import time_limit
from wengert.lab.strategies.plans import WANTED, plans
from wengert.runtime.program import Program

SAMPLES = 1000


def program_of(seed: int) -> RandomProgram:
    """The program of a seed."""
    return random_program(SeededChoices(np.random.default_rng([23, seed])))


def rows(made: RandomProgram) -> Iterator[Way]:
    """All plans of the table, but for estimates, which are not exact."""
    one = of_one_number(made)
    for wanted in WANTED:
        program = Program((made if wanted == "jacobian" else one).module)
        wrt, of = program.resolve()
        listed = plans(program, wanted, wrt, of)
        exact = next(plan for plan in listed if plan.name == ("forward over reverse" if wanted == "hessian" else "jacfwd"))
        expected = exact.compile("interpreter")(*made.inputs)
        for plan in listed:
            yield f"{wanted}: {plan.name}", lambda plan=plan, expected=expected: assert_near(plan.compile("interpreter")(*made.inputs), expected)


def taylor(made: RandomProgram) -> Iterator[Way]:
    """Coefficients up to order 3 against nested JVPs."""
    program = Program(made.module)
    wrt, of = program.resolve()
    rng = np.random.default_rng(0)
    along = [rng.standard_normal(program.signature.arguments[i].shape) for i in wrt]

    def check() -> None:
        coefficients = program.taylor(3, wrt, of).compile("interpreter")(*made.inputs, *along)[-len(of) :]
        current, last, inputs = program, list(of), list(made.inputs)
        for j in range(3):
            count = len(current.signature.results)
            current, inputs = current.jvp(wrt, last), [*inputs, *along]
            last = list(range(count, count + len(of)))
            nested = current.compile("interpreter")(*inputs)
            assert_near([c[j] for c in coefficients], [np.asarray(nested[k]) / factorial(j + 1) for k in last])

    yield "taylor of order 3", check


def estimates(made: RandomProgram) -> Iterator[Way]:
    """Forward gradients are within six standard errors of the gradient."""
    program = Program(of_one_number(made).module)
    wrt, _ = program.resolve()

    def flat(blocks: Any) -> Array:
        return np.concatenate([np.ravel(block) for block in blocks][: len(wrt)])

    def check(directions: str, sign: int) -> None:
        positions = ",".join(map(str, wrt))
        text = f"to-core,forward-gradient{{samples={SAMPLES} directions={directions} wrt={positions} of=0}},simplify,cse,dce"
        gradient = flat(program.jacrev(wrt, 0).compile("interpreter")(*made.inputs))
        mean = flat(program.apply(text).compile("interpreter")(*made.inputs))
        variance = np.maximum(gradient @ gradient + sign * gradient**2, 0)
        assert np.all(np.abs(mean - gradient) <= 6 * np.sqrt(variance / SAMPLES) + 1e-9 * (1 + np.abs(gradient)))

    for directions, sign in (("rademacher", -1), ("normal", 1)):
        yield f"estimate: {directions}", lambda directions=directions, sign=sign: check(directions, sign)


def budgets(made: RandomProgram) -> Iterator[Way]:
    """Plans under a budget: what is predicted is allocated, and more memory never costs more flops."""

    def check() -> None:
        derivative = Program(made.module).vjp()
        inputs = [*made.inputs, *random_inputs(derivative.signature, 0)[len(made.inputs) :]]
        assert_frontier_holds(derivative, inputs, compiled=1)

    yield "budgets", check


FAMILIES: dict[str, Callable[[RandomProgram], Iterator[Way]]] = {
    "rows": rows,
    "sparse": sparse,
    "reads": reads,
    "compressed": compressed,
    "cuts": cheapest_cuts,
    "taylor": taylor,
    "estimates": estimates,
    "curvature": curvature,
    "budgets": budgets,
}


class Outcomes:
    """Counts by way of how many programs agreed, were refused and took too long, and the seeds that differ with what is wrong; ``tell`` gets each at once."""

    def __init__(self, tell: Callable[[str], None] = lambda line: None) -> None:
        self.tell = tell
        self.right: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.late: Counter[str] = Counter()
        self.wrong: defaultdict[str, dict[int, str]] = defaultdict(dict)

    def put_to_test(self, seed: int, families: Sequence[str], seconds: float) -> None:
        """One program through all ways of these families."""
        made = program_of(seed)
        for family in families:
            try:
                with time_limit(seconds):
                    for name, check in FAMILIES[family](made):
                        self._one(seed, name, check)
            except TimeoutError:
                self.late[family] += 1

    def _one(self, seed: int, name: str, check: Callable[[], None]) -> None:
        try:
            check()
            self.right[name] += 1
        except DiagnosticError as error:
            self.refused[f"{name}: {str(error).strip().splitlines()[0]}"] += 1
        except TimeoutError:
            raise
        except Exception as error:
            said = [line for line in str(error).strip().splitlines() if line.strip()]
            self.wrong[name][seed] = f"{type(error).__name__}: {' '.join(said[:6])}"
            self.tell(f"seed {seed}: {name}: {self.wrong[name][seed]}")

    def __str__(self) -> str:
        width = max(map(len, [*self.right, *self.wrong, *self.late]), default=0)
        lines = [f"{name:{width}}  {self.right[name]:4} right, {len(self.wrong.get(name, ()))} wrong" for name in sorted({*self.right, *self.wrong})]
        lines += [f"{name:{width}}  {count:4} programs took too long" for name, count in self.late.items()]
        lines += [f"refused {count} times: {what}" for what, count in self.refused.items()]
        return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz.rows", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=200, help="how many (default: 200)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--only", default=",".join(FAMILIES), metavar="A,B", help=f"of {', '.join(FAMILIES)} (default: all)")
    parser.add_argument("--seconds", type=float, default=120, help="time that a program has for each of these (default: 120)")
    options = parser.parse_args()
    families = options.only.split(",")
    unknown = [name for name in families if name not in FAMILIES]
    if unknown:
        parser.error(f"there is no {unknown[0]!r}; there are {', '.join(FAMILIES)}")
    outcomes = Outcomes(lambda line: print(line, flush=True))
    try:
        for n, seed in enumerate(range(options.first, options.first + options.programs), 1):
            outcomes.put_to_test(seed, families, options.seconds)
            if n % 10 == 0:
                print(f"{n} of {options.programs} programs", flush=True)
    except KeyboardInterrupt:
        print("interrupted; so far:")
    print(outcomes)
    return int(bool(outcomes.wrong))


if __name__ == "__main__":
    raise SystemExit(main())
