#!/usr/bin/env python3
"""Time and memory of two builds: the jobs of planner, policy, solver and cluster_bench.

Every job is a process of its own, the builds take turns (A B B A …), and of the runs of a
job the least count: seconds of processor time, seconds by the clock, bytes. A table gives
for each benchmark and measure the geometric mean of AFTER / BEFORE and the worst jobs.

  two_builds_bench.py BEFORE AFTER [--benches NAME,…] [--repeat N] [--seconds S]
                      [--inputs FOLDER] [--json FILE] [--markdown FILE] [--every FILE]

BEFORE and AFTER are build folders with the benchmarks (`cmake --preset bench`). --seconds
is for each benchmark: no job begins after it; jobs are shuffled, so that what is left out
then is of every sort. Processor time and bytes say something on a busy machine; seconds by the clock do not.
"""

import argparse
import glob
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import time

HANGS_AFTER = 120  # seconds
GRIDS = ["20x20x20", "30x30x30", "40x40x40", "300x300x1", "500x500x1"]
CLUSTER_GRIDS = ["20x20x20", "30x30x30", "200x200x1"]
SHAPES = ["independent", "chain", "tree", "tiles"]
TASKS, MEMORY_TASKS = 20_000, 200_000
MPI = dict(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
           OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_mpi_yield_when_idle="1",
           OPENBLAS_NUM_THREADS="1")


def run(command, environment=None):
    """What the command printed as JSON, its seconds of processor time and by the clock,
    and the peak of its largest process. GNU time in between: a process that Python starts
    is born with Python's own peak."""
    with tempfile.NamedTemporaryFile("r") as peak, tempfile.TemporaryFile() as printed:
        begin = time.monotonic()
        child = subprocess.Popen(
            ["time", "-q", "-f", "%M", "-o", peak.name,
             "timeout", str(HANGS_AFTER), *map(str, command)],
            stdout=printed, stderr=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})})
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.monotonic() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise RuntimeError(f"status {child.returncode}: {' '.join(map(str, command))}")
        printed.seek(0)
        return (json.load(printed), usage.ru_utime + usage.ru_stime, seconds,
                1024 * int(peak.read()))


def planner_job(name):
    # No more iterations in one build than in the other: memory grows with them.
    def figures(build):
        printed, _, _, peak = run(
            [f"{build}/espalier_planner_bench", f"--benchmark_filter=^{name}$",
             "--benchmark_min_time=0.02", "--benchmark_format=json"])
        row = printed["benchmarks"][0]
        unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}[row["time_unit"]]
        return {"processor": unit * row["cpu_time"], "clock": unit * row["real_time"],
                "peak": peak}
    return figures


def planner_jobs(builds, _):
    def names(build):
        listed = subprocess.run(
            [f"{build}/espalier_planner_bench", "--benchmark_list_tests"],
            capture_output=True, text=True, check=True)
        return listed.stdout.split()

    both = set(names(builds[0])) & set(names(builds[1]))
    return {name: planner_job(name) for name in names(builds[0])
            if name in both and not re.search(r"[/:]1000000\b", name)}


def policy_job(measure, shape, bounded):
    tasks = MEMORY_TASKS if measure == "memory" else TASKS
    key = {"time": "clock", "cpu": "processor", "memory": "bytes a task"}[measure]

    def figures(build):
        library = f"{build}/libespalier.so"
        environment = dict(
            STARPU_NCPU="2", STARPU_NCUDA="0", STARPU_NOPENCL="0", STARPU_SILENT="1",
            STARPU_SCHED="espalier", STARPU_SCHED_LIB=library)
        if bounded:
            environment["ESPALIER_MEMORY"] = "8GiB"
        printed, _, _, peak = run(
            ["env", f"LD_PRELOAD={library}", f"{build}/policy_program", measure, tasks,
             shape], environment)
        return {key: printed[shape], "peak": peak}
    return figures


def policy_jobs(*_):
    jobs = {}
    for bounded in (False, True):
        for measure in ("time", "cpu", "memory"):
            for shape in SHAPES if measure != "memory" else ("independent", "tree"):
                name = f"{measure} {shape}{' bounded' if bounded else ''}"
                jobs[name] = policy_job(measure, shape, bounded)
    return jobs


def solver_job(system, kind, bound, processes=0):
    command = ["solve", *system, "--kind", kind, "--workers", 1 if processes else 2,
               "--json", "--ordering", "metis", "--memory", bound]

    def figures(build):
        start = ["mpirun", "-n", processes] if processes else []
        printed, processor, clock, _ = run([*start, f"{build}/espalier", *command],
                                           MPI if processes else None)
        return {"processor": processor, "clock": clock,
                "factor seconds": printed["factor_seconds"],
                "peak": printed["peak_rss_bytes"],
                "factor growth": printed["factor_rss_bytes"],
                "baseline": printed["baseline_rss_bytes"],
                **({"least bound": printed["least_bytes"]} if bound == "min" else {})}
    return figures


def solver_jobs(_, options):
    systems = [(["--grid", grid], grid, "spd") for grid in GRIDS]
    systems += [(["--grid", grid], grid, kind) for kind in ("symmetric", "general")
                for grid in ("20x20x20", "300x300x1")]
    if options.inputs:
        systems += [([path], os.path.basename(path), "auto") for path in
                    sorted(glob.glob(os.path.join(options.inputs, "*.mtx*")))]
    return {f"{name} {kind} {bound}": solver_job(system, kind, bound)
            for system, name, kind in systems for bound in ("none", "min")}


def cluster_jobs(*_):
    return {f"{grid} on {processes} {bound}":
            solver_job(["--grid", grid], "spd", bound, processes)
            for grid in CLUSTER_GRIDS for processes in (2, 4) for bound in ("none", "min")}


BENCHES = {"espalier_planner_bench": planner_jobs, "policy_bench": policy_jobs,
           "solver_bench": solver_jobs, "cluster_bench": cluster_jobs}


def measure(jobs, builds, options):
    """The least of each measure, by job and build, and the number of turns of each job."""
    names = list(jobs)
    random.Random(14).shuffle(names)
    least = {name: [{}, {}] for name in names}
    begin = time.monotonic()
    for turn in range(options.repeat):
        for name in names:
            if time.monotonic() - begin > options.seconds:
                return least, turn
            try:
                sides = [0, 1] if turn % 2 == 0 else [1, 0]
                found = {side: jobs[name](builds[side]) for side in sides}
            except RuntimeError as error:
                print(f"{name}: left out, {error}", file=sys.stderr, flush=True)
                continue
            for side, kept in enumerate(least[name]):
                for key, value in found[side].items():
                    kept[key] = min(value, kept.get(key, math.inf))
    return least, options.repeat


def ratios(least, key):
    """Jobs with their ratio, the largest first."""
    found = {name: sides[1][key] / sides[0][key] for name, sides in least.items()
             if sides[0].get(key, 0) > 0 and sides[1].get(key, 0) > 0}
    return sorted(found.items(), key=lambda item: -item[1])


def rows(bench, least):
    keys = dict.fromkeys(key for sides in least.values() for key in sides[0])
    for key in keys:
        found = ratios(least, key)
        if not found:
            continue
        mean = math.exp(sum(math.log(max(r, 1e-9)) for _, r in found) / len(found))
        worst = "; ".join(f"{name} {ratio:.3f}" for name, ratio in found[:3])
        yield f"| {bench} | {key} | {len(found)} | {mean:.3f} | {worst} |"


def every_job(least):
    """A row for each job: its bytes in both builds, in MiB, and their ratio."""
    measures = ["peak", "least bound"]
    yield "| job |" + "".join(f" {m}, before | after | ratio |" for m in measures)
    yield "|---|" + "---:|---:|---:|" * len(measures)
    for name, (before, after) in sorted(least.items()):
        row = f"| {name} |"
        for key in measures:
            a, b = before.get(key), after.get(key)
            row += (f" {a / 2**20:.2f} | {b / 2**20:.2f} | {b / a:.3f} |" if a and b
                    else " | | |")
        yield row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--benches", default=",".join(BENCHES))
    parser.add_argument("--repeat", type=int, default=3, help="turns of each job")
    parser.add_argument("--seconds", type=float, default=170, help="of each benchmark")
    parser.add_argument("--inputs", help="folder of matrix files for the solver, too")
    parser.add_argument("--json", help="also write every figure to this file")
    parser.add_argument("--markdown", help="also write the table to this file")
    parser.add_argument("--every", help="also write the bytes of every job to this file")
    options = parser.parse_args()
    builds = [os.path.abspath(options.before), os.path.abspath(options.after)]
    table = ["| benchmark | measure | jobs | after / before, geometric mean | worst |",
             "|---|---|---|---|---|"]
    print("\n".join(table), flush=True)
    everything = {}
    for bench in options.benches.split(","):
        if bench not in BENCHES:
            parser.error(f"--benches: no benchmark {bench}; there are {', '.join(BENCHES)}")
        least, turns = measure(BENCHES[bench](builds, options), builds, options)
        print(f"{bench}: {turns} whole turns", file=sys.stderr, flush=True)
        everything[bench] = least
        for row in rows(bench, least):
            print(row, flush=True)
            table.append(row)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(everything, file, indent=1)
    if options.every:
        with open(options.every, "w", encoding="utf-8") as file:
            for bench, least in everything.items():
                file.write("\n".join([f"{bench}:", "", *every_job(least)]) + "\n\n")
    if options.markdown:
        with open(options.markdown, "w", encoding="utf-8") as file:
            file.write("\n".join(table) + "\n")


if __name__ == "__main__":
    main()
