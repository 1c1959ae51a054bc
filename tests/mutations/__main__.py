"""The planted mistakes, and what bisection says of each, as a table.

PYTHONPATH=tests python -m mutations [WORD ...]
PYTHONPATH=tests python -m mutations --checks [WORD ...]      what the checks of random programs say of them instead
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from statistics import median

from mutations.checked import checked
from mutations.every_mutation import MUTATIONS
from mutations.mutation import Mutation
from mutations.trial import Trial, tried


def main() -> int:
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    chosen = [m for m in MUTATIONS if not words or any(word in m.name for word in words)]
    if "--checks" in sys.argv:
        return checks_of(chosen)
    width = max(len(m.name) for m in chosen)
    trials: list[Trial] = []
    print(f"| {'mistake':{width}} | pass | within it | ops | s | |")
    print(f"|{'-' * (width + 2)}|---|---|--:|--:|---|")
    for mutation in chosen:
        trial = tried(mutation)
        trials.append(trial)
        step = trial.result.step.partition("{")[0]
        print(f"| {mutation.name:{width}} | {step} | {trial.named} | {trial.ops} | {trial.seconds:.1f} | {trial.wrong or 'named'} |", flush=True)
        if "-v" in sys.argv:
            print(trial.result)
    right = [t for t in trials if not t.wrong]
    print(f"\n{len(right)} of {len(trials)} named; ops: median {median(t.ops for t in trials)}, most {max(t.ops for t in trials)}; ", end="")
    print(f"seconds: median {median(t.seconds for t in trials):.1f}, most {max(t.seconds for t in trials):.1f}")
    return 0 if len(right) == len(trials) else 1


def checks_of(chosen: Sequence[Mutation]) -> int:
    """The table of what the checks see; 1 if they take a mistake for rounding."""
    width = max(len(m.name) for m in chosen)
    print(f"| {'mistake':{width}} | seen by | reported by | taken for rounding by |")
    print(f"|{'-' * (width + 2)}|--:|--:|---|")
    seen = reported = hidden = 0
    for mutation in chosen:
        made = checked(mutation)
        seen, reported = seen + made.is_seen, reported + bool(made.findings)
        hidden += made.is_seen and not made.findings
        print(f"| {mutation.name:{width}} | {len(made.findings) + len(made.rounding)} | {len(made.findings)} | {' '.join(made.rounding)} |", flush=True)
    print(f"\n{seen} of {len(chosen)} seen, {reported} reported")
    return 1 if hidden else 0


if __name__ == "__main__":
    sys.exit(main())
