"""Runs many mutants: ``python tests/mutants/run_mutants.py --count 10000 --seed 0``.

Each lot of mutants runs in a process of its own, so that one that ends its process, or does not end, is seen and named as any other. The
exit code is 1 if something other than a documented error came up.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import traceback
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / folder) for folder in ("mutants", "support/programs", "support/checks", "dialects")]

from cache_mutants import check_cache
from mutant_checks import FORESEEN, check_program, check_text
from npz_mutants import check_inputs
from text_mutants import mutant

LOT = 100
SECONDS_OF_A_MUTANT = 180


def one(kind: str, seed: int, folder: Path) -> str:
    """How far the mutant of a seed came; raises what must not come up."""
    if kind == "npz":
        return check_inputs(seed, folder)
    if kind == "cache":
        return check_cache(seed, folder)
    text = mutant(seed).text
    return "no module" if check_text(text) is None else check_program(text, seed)


def lot(kind: str, seeds: range, send: Connection) -> None:
    """Runs some mutants and tells of each."""
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            send.send(("begins", seed, ""))
            try:
                send.send(("ends", seed, one(kind, seed, Path(folder))))
            except (Exception, RecursionError):
                send.send(("fails", seed, traceback.format_exc()))


def run(kind: str, count: int, seed: int) -> tuple[Counter[str], list[tuple[int, str]]]:
    """Runs so many mutants from a seed on; how many came how far, and what is wrong."""
    words, wrong = Counter[str](), list[tuple[int, str]]()
    at, end = seed, seed + count
    context = multiprocessing.get_context("spawn")
    while at < end:
        receive, send = context.Pipe(duplex=False)
        process = context.Process(target=lot, args=(kind, range(at, min(at + LOT, end)), send))
        process.start()
        send.close()
        current, last = at, min(at + LOT, end)
        while current < last:
            what, word, problem = "stops", "", "does not end"
            try:
                if receive.poll(SECONDS_OF_A_MUTANT):
                    (what, current, word), problem = receive.recv(), ""
            except EOFError:
                process.join()
                problem = f"ended its process with code {process.exitcode}"
            if what == "fails":
                problem = word
            if problem:
                wrong.append((current, problem))
                print(f"-- {kind} mutant of seed {current}\n{problem}", flush=True)
            if what == "stops":
                current += 1
                break
            if what == "ends":
                words[word] += 1
            if what != "begins":
                current += 1
        at = current
        if at < last:
            process.kill()
        process.join()
        receive.close()
        print(f"{kind}: {at - seed} of {count}, {len(wrong)} wrong; {dict(words)}", file=sys.stderr, flush=True)
    return words, wrong


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Run mutants of texts, of files of inputs, and of files of the disk cache.")
    parser.add_argument("--count", type=int, default=1000, help="how many (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first one (default: 0)")
    parser.add_argument("--kind", choices=("text", "npz", "cache"), default="text", help="what is changed (default: text)")
    parser.add_argument("--show", action="store_true", help="print the mutant of the seed and leave")
    options = parser.parse_args()
    if options.show:
        print(mutant(options.seed).text)
        return 0
    words, wrong = run(options.kind, options.count, options.seed)
    print(f"{options.count} {options.kind} mutants from seed {options.seed}: {len(wrong)} wrong; {dict(words)}")
    print(f"foreseen errors: {', '.join(error.__name__ for error in FORESEEN)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
