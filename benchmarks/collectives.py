"""What a sum over processes costs from compiled code, which calls it through Python, beside MPI's own call: microseconds for 8 bytes to 8 MB.

    python -m benchmarks.collectives [--rounds 30]
    mpiexec -n 2 python -m benchmarks.collectives [--rounds 30]

On one process, processor time of the calls themselves, without waiting or another process, the least of all rounds:

- *C*: ``MPI_Allreduce`` by its address, as machine code would call it (through ctypes, whose own call is measured and taken off);
- *mpi4py*: ``comm.Allreduce``;
- *to Python and back*: a sum in a compiled loop of 50, on a device that returns what it is given twice, less the same loop without it.

On several, the time by the clock on process 0, which needs a core for each process: *C* and *mpi4py* as above; *engine*, the sum as programs make it, in the
order of the group, behind the marks by which processes tell each other at which collective they are; *program*, one sum in a compiled loop of 50; *Python*,
program less engine.
"""

from __future__ import annotations

import argparse
import ctypes
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from mpi4py import MPI

import wengert as wg
from wengert.dialects.stablehlo.process_groups import Grid, Group
from wengert.runtime.spmd import collectives
from wengert.runtime.spmd.device import Array, Call, running_on
from wengert.runtime.spmd.distributed import runner
from wengert.runtime.spmd.mpi import MpiDevice

SIZES = (1, 16, 128, 512, 4096, 32768, 262144, 1048576)
"""Elements in f64."""
LOOP = 50
CALL = Call("a sum", "benchmarks/collectives.py")


def text(count: int, processes: int, *, summed: bool = True) -> str:
    """A loop of sums over all processes, or the same without them."""
    type = f"tensor<{count}xf64>"
    group = f"dense<{[list(range(processes))]}> : tensor<1x{processes}xi64>"
    return f"""func.func public @main(%x: {type}) -> {type} {{
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %end = stablehlo.constant dense<{LOOP}> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %share = stablehlo.constant dense<{1 / processes}> : {type}
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i64>, {type}
  cond {{
    %c = stablehlo.compare LT, %i, %end : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }} do {{
    {"" if summed else "%s = stablehlo.negate %y : " + type}
    {"%s" if summed else "%unused"} = "stablehlo.all_reduce"(%y) <{{replica_groups = {group}}}> ({{
    ^bb0(%a: tensor<f64>, %b: tensor<f64>):
      %t = stablehlo.add %a, %b : tensor<f64>
      stablehlo.return %t : tensor<f64>
    }}) : ({type}) -> {type}
    %m = stablehlo.multiply %s, %share : {type}
    %j = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %j, %m : tensor<i64>, {type}
  }}
  return %r#1 : {type}
}}"""


def c_function(name: str) -> Any:
    """A function of the MPI library that mpi4py has loaded."""
    with open("/proc/self/maps") as maps:
        paths = sorted({line.split()[-1] for line in maps if "libmpi" in line.rpartition("/")[2]})
    for path in paths:
        try:
            return getattr(ctypes.CDLL(path), name)
        except (OSError, AttributeError):
            continue
    raise SystemExit(f"no loaded library has {name}: {paths}")


def handle(thing: Any) -> Any:
    """A handle of MPI as C has it."""
    library: Any = MPI
    kind = ctypes.c_void_p if library._sizeof(thing) == 8 else ctypes.c_int
    return kind.from_address(library._addressof(thing))


def by_address(x: Any, y: Any) -> Callable[[], Any]:
    function = c_function("MPI_Allreduce")
    arguments = (
        ctypes.c_void_p(x.ctypes.data),
        ctypes.c_void_p(y.ctypes.data),
        ctypes.c_int(x.size),
        handle(MPI.DOUBLE),
        handle(MPI.SUM),
        handle(MPI.COMM_WORLD),
    )
    return lambda: function(*arguments)


def seconds(run: Callable[[], Any], times: int) -> float:
    """Of one call, from when all processes begin."""
    MPI.COMM_WORLD.Barrier()
    begin = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - begin) / times


def overhead_of_ctypes() -> float:
    """What the call of a C function that does next to nothing takes, with as many arguments."""
    function, number = c_function("MPI_Comm_rank"), ctypes.c_int()
    run = lambda: function(handle_of_world, ctypes.byref(number))  # noqa: E731
    handle_of_world = handle(MPI.COMM_WORLD)
    return min(seconds(run, 1000) for _ in range(10))


class Echo:
    """A device that gets from all others what it has itself."""

    number, grid = 0, Grid(2, 1)

    def gather(self, group: Group, array: Array, call: Call) -> list[Array]:
        return [array] * len(group)

    def exchange(self, group: Group, parts: Sequence[Array], call: Call) -> list[Array]:
        return list(parts)

    def pass_on(self, array: Array, source: int | None, target: int | None, call: Call) -> Array | None:
        return array


def overheads(rounds: int) -> None:
    """The table of one process."""
    off = overhead_of_ctypes()
    print(f"one process, {rounds} rounds, us of processor time a sum; {off * 1e6:.2f} us of ctypes are taken off the first column")
    print(f"{'bytes':>9} {'C':>9} {'mpi4py':>9} {'to Python and back':>20}")
    for count in SIZES:
        x, y = np.ones(count), np.ones(count)
        with_sum, without = (runner(wg.parse(text(count, 2, summed=summed)), "cpu", 2) for summed in (True, False))
        times = max(2, min(200, 2_000_000 // count))
        sums = partial(MPI.COMM_WORLD.Allreduce, x, y)
        ways: list[Callable[[], Any]] = [by_address(x, y), sums, partial(with_sum, [x]), partial(without, [x])]
        least = [np.inf] * len(ways)
        with running_on(Echo()):
            for _ in range(rounds):
                for at, run in enumerate(ways):
                    repeat = times if at < 2 else max(1, times // LOOP)
                    begin = time.thread_time()
                    for _ in range(repeat):
                        run()
                    least[at] = min(least[at], (time.thread_time() - begin) / repeat)
        print(f"{count * 8:>9} {1e6 * (least[0] - off):>9.1f} {1e6 * least[1]:>9.1f} {1e6 * (least[2] - least[3]) / LOOP:>20.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    rounds, comm = parser.parse_args().rounds, MPI.COMM_WORLD
    if comm.size == 1:
        return overheads(rounds)
    off = overhead_of_ctypes()
    if comm.rank == 0:
        print(f"{comm.size} processes, {rounds} rounds, us a sum; {off * 1e6:.1f} us of ctypes are taken off the first column")
        print(f"{'bytes':>9} {'C':>9} {'mpi4py':>9} {'engine':>9} {'program':>9} {'Python':>9}")
    device, group = MpiDevice(comm, Grid(comm.size, 1)), tuple(range(comm.size))
    for count in SIZES:
        x, y = np.ones(count), np.ones(count)
        program = wg.parse(text(count, comm.size)).distribute(comm=comm)
        times = max(2, min(200, 2_000_000 // count))
        ways: list[tuple[Callable[[], Any], int, float]] = [
            (by_address(x, y), times, off),
            (lambda x=x, y=y: comm.Allreduce(x, y), times, 0.0),
            (lambda x=x: collectives.all_reduce(device, group, x, np.add, CALL), times, 0.0),
            (lambda x=x, program=program: program(x), max(1, times // LOOP), 0.0),
        ]
        least = [np.inf] * len(ways)
        for _ in range(rounds):
            for at, (run, repeat, taken) in enumerate(ways):
                least[at] = min(least[at], seconds(run, repeat) - taken)
        least[3] /= LOOP
        if comm.rank == 0:
            print(f"{count * 8:>9} " + " ".join(f"{1e6 * value:>9.1f}" for value in (*least, least[3] - least[2])), flush=True)


if __name__ == "__main__":
    main()
