#!/usr/bin/env python3
"""What programs that are there already take with Espalier and with what they have.

  Ipopt   five problems of 20 000 variables and more, with MA97 (ours) and MUMPS
  PETSc   Newton's method on a nonlinear system in a cube, with espalier and MUMPS
  SciPy   a 7-point operator on a cube: espalier.spsolve beside splu and solve, with its
          usual ordering and with the one for symmetric patterns, MMD_AT_PLUS_A

Runs ours and the peer in turns and prints for each the best and the median seconds by the
clock and of processor time, the ratio of ours to the peer's, and the most memory that the
processes had resident.

  host_bench.py BUILD [ipopt petsc scipy] [--repeat N] [--workers N] [--points N]

BUILD is a build folder with the tests. --workers: threads of the solver, and of the BLAS
that the peer calls. On a busy machine processor time with one worker says most.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys

SYSTEM_PYTHON = "/usr/bin/python3"  # which has the system's SciPy

IPOPT = [("chain", 50000), ("control", 100), ("control", 160), ("control3", 22),
         ("surface", 150)]

CUBE = """
import os, sys, time
import numpy, scipy.sparse as sparse
n, who = int(sys.argv[1]), sys.argv[2]
line = sparse.diags([-numpy.ones(n - 1), 2.0 * numpy.ones(n), -numpy.ones(n - 1)],
                    [-1, 0, 1])
unit = sparse.identity(n)
A = (sparse.kron(sparse.kron(line, unit), unit) + sparse.kron(sparse.kron(unit, line), unit)
     + sparse.kron(sparse.kron(unit, unit), line)).tocsc()
b = A @ numpy.ones(n ** 3)
if who == "ours":
    import espalier
    espalier.version()
    workers = int(os.environ.get("ESPALIER_SOLVER_WORKERS", 0))
else:
    from scipy.sparse.linalg import splu
start, worked = time.perf_counter(), time.process_time()
if who == "ours":
    x = espalier.spsolve(A, b, workers=workers)
else:
    x = splu(A, permc_spec=who).solve(b)
end, processor = time.perf_counter(), time.process_time()
assert abs(x - 1).max() < 1e-8
print(f"{end - start:.3f} s, {processor - worked:.3f} cpu s")
"""


def commands(what, build, points):
    """Name, command of ours, command of the peer; of each case."""
    if what == "ipopt":
        program = os.path.join(build, "tests", "ipopt_program")
        for problem, n in IPOPT:
            yield (f"Ipopt {problem} {n}", [program, problem, str(n), "ma97"],
                   [program, problem, str(n), "mumps"])
    elif what == "petsc":
        program = [os.path.join(build, "tests", "newton_program"), "-dll_append",
                   os.path.join(build, "adapters", "libespalier_petsc.so")]
        for n in points or (20, 30, 40):
            for drift in (0, 1):
                given = [*program, "-points", str(n), "-drift", str(drift),
                         "-pc_factor_mat_solver_type"]
                name = f"PETSc Newton {n}^3" + (", drift" if drift else "")
                yield name, [*given, "espalier"], [*given, "mumps"]
    else:
        for n in points or (30, 40):
            given = [SYSTEM_PYTHON, "-c", CUBE, str(n)]
            for ordering in ("COLAMD", "MMD_AT_PLUS_A"):
                yield (f"SciPy {n}^3, {ordering}", [*given, "ours"], [*given, ordering])


def run(command, environment):
    """Seconds by the clock and of processor time, as the program says, and MiB."""
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as process:
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    found = re.search(r"([0-9.]+) s, ([0-9.]+) cpu s", text)
    if process.returncode != 0 or found is None:
        raise RuntimeError(f"{command}: {process.returncode}\n{text[-2000:]}")
    return float(found.group(1)), float(found.group(2)), usage.ru_maxrss / 1024


def columns(ours, peer, which):
    """Best (median) of both, and the ratio of the medians."""
    mine, theirs = ([each[which] for each in runs] for runs in (ours, peer))
    middle, other = statistics.median(mine), statistics.median(theirs)
    return (f"{min(mine):7.2f} ({middle:6.2f}) {min(theirs):7.2f} ({other:6.2f}) "
            f"{middle / other:5.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("what", nargs="*", choices=["ipopt", "petsc", "scipy"])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--points", type=int, action="append",
                        help="of PETSc's and SciPy's cubes, instead of the usual ones")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    environment = dict(os.environ, STARPU_SILENT="1",
                       LD_LIBRARY_PATH=os.path.join(build, "adapters"),
                       PYTHONPATH=os.path.join(build, "python"))
    if options.workers:
        for variable in ("ESPALIER_SOLVER_WORKERS", "OPENBLAS_NUM_THREADS"):
            environment[variable] = str(options.workers)
    print(f"{'best (median)':<28} {'ours, s':>16} {'peer, s':>16} ratio "
          f"{'ours, cpu s':>16} {'peer, cpu s':>16} ratio  MiB: ours, peer")
    for what in options.what or ("ipopt", "petsc", "scipy"):
        for name, ours, peer in commands(what, build, options.points):
            mine, theirs = [], []
            for _ in range(options.repeat):
                mine.append(run(ours, environment))
                theirs.append(run(peer, environment))
            print(f"{name:<28} {columns(mine, theirs, 0)} {columns(mine, theirs, 1)}  "
                  f"{max(each[2] for each in mine):.0f}, "
                  f"{max(each[2] for each in theirs):.0f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
