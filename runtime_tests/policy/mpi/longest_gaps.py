#!/usr/bin/env python3
"""How long jobs over MPI stand still.

Runs each case of mpi_programs_test, and the solver on 2 to 4 processes, again and again,
and prints for each how many runs there were, how many failed, and the longest times in
which a process had tasks and none of them ended (longest_gap_seconds of its report). Not a
test: such times depend on the machine.

  longest_gaps.py BUILD [--runs N] [--busy] [--seconds S] [--case TEXT]... [--json FILE]

BUILD is a build folder with policy_mpi_programs_test's programs and espalier. With --busy
every core runs an endless loop beside. Cases take turns; interrupted, it prints what it has.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

LONG = 0.2  # seconds
KIB = 1024


class Case:
    def __init__(self, name, processes, workers, command, bound=None, least=False):
        self.name, self.processes, self.workers = name, processes, workers
        self.command, self.bound, self.least = command, bound, least
        self.gaps, self.failures = [], []


def cases_of(build):
    programs = os.path.join(build, "tests")
    ring = [os.path.join(programs, "policy_mpi_ring_program"), "espalier"]
    tasks = [os.path.join(programs, "policy_mpi_tasks_program")]
    solve = [os.path.join(build, "espalier"), "solve", "--grid"]
    for processes in (2, 3):
        yield Case(f"ring, {processes} processes", processes, 1, ring, 2048 * KIB)
    yield Case("ring of 4 MiB, 2 processes", 2, 1, ring + ["4194304"], 16384 * KIB)
    for processes, workers, bound in ((2, 1, 72), (3, 2, 144), (4, 1, 288)):
        yield Case(f"Cholesky, {processes} x {workers}", processes, workers,
                   tasks + ["cholesky", "10"], bound * KIB)
    for processes, workers in ((2, 1), (2, 2), (3, 1), (3, 2)):
        seed = str(100 * processes + 10 * workers)
        random = tasks + ["random", seed, "6"]
        shape = f"{processes} x {workers}"
        yield Case(f"random, {shape}, plenty", processes, workers, random, 1 << 30)
        yield Case(f"random, {shape}, least", processes, workers, random, least=True)
    for processes in (2, 3, 4):
        yield Case(f"solver, {processes} processes", processes, 1,
                   solve + ["14x14x14"])
        yield Case(f"solver, {processes} processes, least", processes, 1,
                   solve + ["14x14x14", "--memory", "min"])


def run(case, library, folder):
    """@return the reports of all processes, and why it failed or None"""
    report = os.path.join(folder, "report.%r.json")
    files = [report.replace("%r", str(r)) for r in range(case.processes)]
    for file in files:
        if os.path.exists(file):
            os.remove(file)
    environment = dict(
        os.environ, STARPU_SCHED="espalier", STARPU_SCHED_LIB=library,
        STARPU_NCPU=str(case.workers), STARPU_SILENT="1", OPENBLAS_NUM_THREADS="1",
        ESPALIER_REPORT=report, STARPU_WATCHDOG_TIMEOUT="20000000",
        STARPU_WATCHDOG_CRASH="1", LD_LIBRARY_PATH=os.path.dirname(library),
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none",
        OMPI_MCA_btl_vader_single_copy_mechanism="none")
    if case.bound:
        environment["ESPALIER_MEMORY"] = str(case.bound)
    command = ["mpirun", "-n", str(case.processes)]
    if not case.name.startswith("solver"):  # which has the policy in it
        command += ["env", "LD_PRELOAD=" + library]
    job = subprocess.Popen(command + case.command, env=environment,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           start_new_session=True)
    try:
        output, _ = job.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        job.communicate()
        return [], "did not end in 120 s"
    if job.returncode != 0:
        return [], f"status {job.returncode}: {output.decode(errors='replace')[-2000:]}"
    try:
        return [json.load(open(file)) for file in files], None
    except (OSError, ValueError) as error:
        return [], f"no report: {error}"


def run_once(case, library, folder):
    if case.least and case.bound is None:
        case.bound = 1 << 30
        reports, failure = run(case, library, folder)
        case.bound = max((r["least_bytes"] for r in reports), default=None)
        if failure:
            case.failures.append(failure)
            return
    reports, failure = run(case, library, folder)
    if failure:
        case.failures.append(failure)
    else:
        case.gaps.append(max(r["longest_gap_seconds"] for r in reports))


def print_table(cases):
    print(f"{'case':<34} {'runs':>6} {'failed':>6} {'over 0.2 s':>10} "
          f"{'median':>8} {'longest':>8}")
    for case in cases:
        gaps = sorted(case.gaps)
        if gaps:
            times = f"{gaps[len(gaps) // 2]:>8.3f} {gaps[-1]:>8.3f}"
        else:
            times = f"{'-':>8} {'-':>8}"
        print(f"{case.name:<34} {len(gaps) + len(case.failures):>6} "
              f"{len(case.failures):>6} {sum(g > LONG for g in gaps):>10} {times}")
    for case in cases:
        for failure in case.failures[:3]:
            print(f"\n{case.name}: {failure}", file=sys.stderr)


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--runs", type=int, default=100, help="of each case")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--case", action="append", default=[],
                        help="only those whose names hold this text")
    parser.add_argument("--json")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    library = os.path.join(build, "libespalier.so")
    cases = [c for c in cases_of(build)
             if not options.case or any(text in c.name for text in options.case)]
    loops = []
    if options.busy:
        loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                 for _ in range(os.cpu_count())]
    signal.signal(signal.SIGTERM, interrupt)
    start = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(options.runs):
                for case in cases:
                    if time.monotonic() - start < options.seconds:
                        run_once(case, library, folder)
    except KeyboardInterrupt:
        pass
    finally:
        for loop in loops:
            loop.kill()
    load = " ".join(f"{x:.1f}" for x in os.getloadavg())
    print(f"{time.monotonic() - start:.0f} s, load at the end {load}")
    print_table(cases)
    if options.json:
        with open(options.json, "w") as file:
            json.dump([vars(c) for c in cases], file, indent=1)


if __name__ == "__main__":
    main()
