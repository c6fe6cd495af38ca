#!/usr/bin/env python3
"""How long jobs over MPI stand still.

Runs each program of mpi_programs_test, and the solver on 2 to 4 processes, again and
again, and prints for each how many runs there were, how many jobs failed, and the longest
times in which a process had tasks and executed none (longest_gap_seconds of its report).
Not a test: such times depend on the machine.

  longest_gaps.py BUILD [--runs N] [--busy] [--first] [--seconds S] [--case TEXT]...
                  [--keep FOLDER] [--json FILE]

BUILD is a build folder with policy_mpi_programs_test's programs and
solver_repeated_program. A run is a whole graph of tasks, from the first submission until
all of it has ended in all processes. A job starts StarPU and MPI once and has many runs,
one after the other; its gap is that of its longest standing, and a job over 0.2 s counts
as one run over 0.2 s.

With --busy every core runs an endless loop beside. With --first jobs have the cores before
all else that runs on the machine, which is then as good as quiet (SCHED_RR, needs root).
Cases take turns, until each has N runs; interrupted, it prints what it has. Of jobs that
failed or stood still, FOLDER gets the output, the reports, the traces of all tasks and,
where a job did not end, the stacks of its processes if there is gdb.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

LONG = 0.2  # seconds
PATIENCE = 100  # seconds, of a job
KIB = 1024


class Case:
    def __init__(self, name, processes, workers, command, count, bound=None, least=False,
                 asleep=0.0):
        self.name, self.processes, self.workers = name, processes, workers
        self.command, self.count = command, count  # the runs of a job: its last argument
        self.bound, self.least, self.asleep = bound, least, asleep
        self.jobs, self.runs, self.over = 0, 0, 0
        self.gaps, self.longest_runs, self.failures = [], [], []


def cases_of(build):
    programs = os.path.join(build, "tests")
    ring = [os.path.join(programs, "policy_mpi_ring_program"), "espalier"]
    tasks = [os.path.join(programs, "policy_mpi_tasks_program")]
    solver = [os.path.join(programs, "solver_repeated_program"), "16x16x16"]
    for processes in (2, 3):
        yield Case(f"ring, {processes} processes", processes, 1, ring + [str(1024 * KIB)], 10,
                   2048 * KIB)
    yield Case("ring, 3 processes, 8 MiB", 3, 1, ring + [str(1024 * KIB)], 10, 8192 * KIB)
    yield Case("ring of 4 MiB, 2 processes", 2, 1, ring + [str(4096 * KIB)], 5, 16384 * KIB)
    for processes, workers, bound in ((2, 1, 72), (3, 2, 144), (4, 1, 288)):
        yield Case(f"Cholesky, {processes} x {workers}", processes, workers,
                   tasks + ["cholesky", "10"], 30, bound * KIB)
    for processes, workers in ((2, 1), (2, 2), (3, 1), (3, 2)):
        seed = str(100 * processes + 10 * workers)
        random = tasks + ["random", seed]
        shape = f"{processes} x {workers}"
        yield Case(f"random, {shape}, plenty", processes, workers, random, 100, 1 << 30)
        yield Case(f"random, {shape}, least", processes, workers, random, 100, least=True)
    # Who waits is asleep for 50 ms before each of five messages: no tasks, so the time of
    # a run beyond that is taken.
    yield Case("waits, 3 processes", 3, 1, tasks + ["waits", "5"], 4, 2048 * KIB, asleep=0.25)
    for processes in (2, 3, 4):
        for workers in (1, 2):
            yield Case(f"solver, {processes} x {workers}, least", processes, workers,
                       solver + ["min", str(workers)], 40)
        # As many processes share fronts of a larger grid.
        yield Case(f"solver, {processes} x 1, plenty", processes, 1,
                   solver[:1] + ["18x18x18", "none", "1"], 30)


def environment_of(case, library, folder):
    environment = dict(
        os.environ, STARPU_SCHED="espalier", STARPU_SCHED_LIB=library,
        STARPU_NCPU=str(case.workers), STARPU_SILENT="1", OPENBLAS_NUM_THREADS="1",
        ESPALIER_REPORT=os.path.join(folder, "report.%r.json"),
        LD_LIBRARY_PATH=os.path.dirname(library), OMPI_MCA_mpi_yield_when_idle="1",
        OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        PRTE_ALLOW_RUN_AS_ROOT="1", PRTE_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe",
        OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none",
        OMPI_MCA_btl_vader_single_copy_mechanism="none")
    if case.bound:
        environment["ESPALIER_MEMORY"] = str(case.bound)
    return environment


def go_first():
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def start(command, first, **arguments):
    return subprocess.Popen(command, start_new_session=True,
                            preexec_fn=go_first if first else None, **arguments)


def stacks_of(session):
    """Of all processes of a session, as gdb sees them."""
    text = ""
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
            if int(fields[3]) != session:
                continue
            text += f"\n=== process {process}\n" + subprocess.run(
                ["gdb", "-p", process, "-batch", "-ex", "thread apply all bt 30"],
                capture_output=True, text=True, timeout=60).stdout
        except (OSError, IndexError, subprocess.SubprocessError) as error:
            text += f"\n=== process {process}: {error}\n"
    return text


class Runner:
    def __init__(self, build, first, keep, folder):
        self.library = os.path.join(build, "libespalier.so")
        self.first, self.keep, self.folder = first, keep, folder

    def run(self, case, count):
        """@return reports of all processes, the longest run, and why it failed or None"""
        for file in os.listdir(self.folder):
            os.remove(os.path.join(self.folder, file))
        environment = environment_of(case, self.library, self.folder)
        if self.keep:
            environment["ESPALIER_TRACE"] = os.path.join(self.folder, "trace.%r.json")
        command = ["mpirun", "-n", str(case.processes)]
        if not case.name.startswith("solver"):  # which has the policy in it
            command += ["env", "LD_PRELOAD=" + self.library]
        output = os.path.join(self.folder, "output")
        with open(output, "wb") as file:
            job = start(command + case.command + [str(count)], self.first,
                        env=environment, stdout=file, stderr=subprocess.STDOUT)
            try:
                status = job.wait(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                self.end(job)
                return [], 0, f"did not end in {PATIENCE} s"
        with open(output, errors="replace") as file:
            text = file.read()
        if status != 0:
            return [], 0, f"status {status}: {text[-2000:]}"
        longest = [float(t) for t in re.findall(r"longest of \d+ ([0-9.]+) s", text)]
        try:
            reports = []
            for rank in range(case.processes):
                with open(os.path.join(self.folder, f"report.{rank}.json")) as file:
                    reports.append(json.load(file))
            return reports, max(longest), None
        except (OSError, ValueError) as error:
            return [], 0, f"no report: {error}"

    def end(self, job):
        if self.keep:
            with open(os.path.join(self.folder, "stacks"), "w") as file:
                file.write(stacks_of(job.pid))
        os.killpg(job.pid, signal.SIGTERM)  # mpirun ends its processes
        time.sleep(2)
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()

    def keep_files(self, case, what):
        if not self.keep:
            return
        name = re.sub("[^a-z0-9]+", "_", case.name.lower()) + f"-{case.jobs}-{what}"
        shutil.copytree(self.folder, os.path.join(self.keep, name), dirs_exist_ok=True)

    def run_once(self, case):
        case.jobs += 1
        if case.least and case.bound is None:
            case.bound = 1 << 30
            reports, _, failure = self.run(case, case.count)
            case.bound = max((r["least_bytes"] for r in reports), default=None)
            if failure:
                self.fail(case, failure)
                return
        reports, longest, failure = self.run(case, case.count)
        if failure:
            self.fail(case, failure)
            return
        gap = max(r["longest_gap_seconds"] for r in reports)
        if case.asleep:
            gap = max(gap, longest - case.asleep)
        case.runs += case.count
        case.gaps.append(gap)
        case.longest_runs.append(longest)
        if gap > LONG:
            case.over += 1
            self.keep_files(case, f"{gap:.2f}s")

    def fail(self, case, why):
        case.failures.append(why)
        self.keep_files(case, "failed")


def line_of(case):
    gaps = sorted(case.gaps)
    times = "".join(f" {t:>8.3f}" for t in
                    (gaps[len(gaps) // 2], gaps[-1], max(case.longest_runs))) if gaps else ""
    return (f"{case.name:<28} {case.jobs:>5} {case.runs:>6} {len(case.failures):>6} "
            f"{case.over:>10}{times}")


def print_table(cases, seconds):
    print(f"{seconds:.0f} s, load " + " ".join(f"{x:.1f}" for x in os.getloadavg()))
    print(f"{'case':<28} {'jobs':>5} {'runs':>6} {'failed':>6} {'over 0.2 s':>10} "
          f"{'median':>8} {'longest':>8} {'a run':>8}")
    for case in cases:
        print(line_of(case))
    print(f"{'all':<28} {sum(c.jobs for c in cases):>5} {sum(c.runs for c in cases):>6} "
          f"{sum(len(c.failures) for c in cases):>6} {sum(c.over for c in cases):>10}",
          flush=True)
    for case in cases:
        for failure in case.failures[:3]:
            print(f"\n{case.name}: {failure}", file=sys.stderr)


def interrupt(*_):
    raise KeyboardInterrupt


def run_all(cases, options, runner, begin):
    told = begin
    while time.monotonic() - begin < options.seconds:
        left = [c for c in cases if c.runs < options.runs and len(c.failures) < 20]
        if not left:
            return
        runner.run_once(min(left, key=lambda c: c.jobs))
        if time.monotonic() - told > 300:
            told = time.monotonic()
            print_table(cases, told - begin)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--runs", type=int, default=1000, help="of each case")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--case", action="append", default=[],
                        help="only those whose names hold this text")
    parser.add_argument("--keep", metavar="FOLDER")
    parser.add_argument("--json")
    options = parser.parse_args()
    if options.busy and options.first:
        parser.error("--busy and --first exclude each other")
    return options


def main():
    options = arguments()
    build = os.path.abspath(options.build)
    cases = [c for c in cases_of(build)
             if not options.case or any(text in c.name for text in options.case)]
    if options.keep:
        options.keep = os.path.abspath(options.keep)
        os.makedirs(options.keep, exist_ok=True)
    loops = []
    if options.busy:
        loops = [start([sys.executable, "-c", "while True: pass"], False)
                 for _ in range(os.cpu_count())]
    signal.signal(signal.SIGTERM, interrupt)
    begin = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as folder:
            run_all(cases, options, Runner(build, options.first, options.keep, folder), begin)
    except KeyboardInterrupt:
        pass
    finally:
        for loop in loops:
            loop.kill()
    print_table(cases, time.monotonic() - begin)
    if options.json:
        with open(options.json, "w") as file:
            json.dump([vars(c) for c in cases], file, indent=1)


if __name__ == "__main__":
    main()
