"""The planted mistakes, and what bisection says of each, as a table.

PYTHONPATH=tests python -m mutations [WORD ...]
"""

from __future__ import annotations

import sys
from statistics import median

from mutations.every_mutation import MUTATIONS
from mutations.trial import Trial, tried


def main() -> int:
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    chosen = [m for m in MUTATIONS if not words or any(word in m.name for word in words)]
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


if __name__ == "__main__":
    sys.exit(main())
