#!/usr/bin/env python3
"""What a bound below the least costs with a disk, beside StarPU's own limit.

Runs tiled Cholesky, LU, QR and a training loop (policy_disk_patterns_program of the tests)
under half of what they need, in turns with

  ours     ESPALIER_MEMORY and ESPALIER_ON_OVERFLOW=disk
  StarPU   STARPU_LIMIT_CPU_MEM and STARPU_DISK_SWAP, the policy lws

and prints for each the best and the median seconds of the program, seconds of processor
time and the ratio of ours to StarPU's. A run that does not end is counted as hanging.

  spill_bench.py BUILD [--repeat N] [--scale K] [--directory DIR] [--json FILE]

BUILD is a build folder with the tests; --scale multiplies the sizes of data and bounds.
Processor time and ratios of turns say something on a busy machine; seconds do not.
"""

import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import tempfile

PATTERNS = {  # arguments, MiB; half of the least in order of submission at most
    "Cholesky": (["cholesky", 128, 10], 3),
    "LU": (["lu", 128, 8], 3),
    "QR": (["qr", 128, 7], 3),
    "training": (["training", 256, 25], 3),
}
HANGS_AFTER = 60  # seconds


def run(build, pattern, scale, ours, directory):
    """@return seconds by the program's clock, of processor time and the report, or None"""
    (name, size, count), bound = PATTERNS[pattern]
    library = os.path.join(build, "libespalier.so")
    spill = tempfile.mkdtemp(dir=directory)
    report = os.path.join(spill, "report.json")
    environment = dict(os.environ, STARPU_NCPU="2", STARPU_NCUDA="0", STARPU_SILENT="1")
    if ours:
        environment.update(
            LD_PRELOAD=library, STARPU_SCHED_LIB=library, STARPU_SCHED="espalier",
            ESPALIER_MEMORY=f"{bound * scale}MiB", ESPALIER_ON_OVERFLOW="disk",
            ESPALIER_SPILL_DIR=spill, ESPALIER_REPORT=report)
    else:
        environment.update(
            STARPU_SCHED="lws", STARPU_LIMIT_CPU_MEM=str(bound * scale),
            STARPU_DISK_SWAP=spill)
    command = [os.path.join(build, "tests", "policy_disk_patterns_program"), name,
               str(size * scale), str(count)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True,
                              timeout=HANGS_AFTER, check=False)
        seconds = re.search(r"all right.* ([0-9.]+) s$", done.stdout.strip())
        if done.returncode != 0 or seconds is None:
            raise RuntimeError(f"{command}: {done.returncode} {done.stdout} {done.stderr}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
        spilled = json.load(open(report))["spill"] if ours else None
        return float(seconds.group(1)), cpu, spilled
    except subprocess.TimeoutExpired:
        return None
    finally:
        shutil.rmtree(spill, ignore_errors=True)


def figures(runs, which):
    values = [r[which] for r in runs if r is not None]
    return (min(values), statistics.median(values)) if values else None


def show(pair):
    return f"{pair[0]:6.2f} ({pair[1]:5.2f})" if pair else "       hangs"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--scale", type=int, default=1)
    parser.add_argument("--directory", help="on the disk to spill to")
    parser.add_argument("--pattern", action="append", choices=sorted(PATTERNS))
    parser.add_argument("--json")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    everything = {}
    print(f"{'best (median)':<12} {'ours, s':>15} {'StarPU, s':>15} {'ratio':>13} "
          f"{'ours, cpu s':>15} {'StarPU, cpu s':>15} {'ratio':>13}  written, read MiB")
    for pattern in options.pattern or PATTERNS:
        runs = {True: [], False: []}
        for _ in range(options.repeat):
            for ours in (True, False):
                runs[ours].append(run(build, pattern, options.scale, ours,
                                      options.directory))
        line = f"{pattern:<12}"
        for which in (0, 1):
            mine, theirs = figures(runs[True], which), figures(runs[False], which)
            line += f" {show(mine):>15} {show(theirs):>15}"
            ratio = [m / t for m, t in zip(mine, theirs)] if mine and theirs else None
            line += f" {show(ratio):>13}" if ratio else f" {'-':>13}"
        hung = sum(r is None for r in runs[False])
        spilled = next((r[2] for r in runs[True] if r is not None), None)
        if spilled:
            line += (f"  {spilled['written_bytes'] / 2**20:.0f},"
                     f" {spilled['read_bytes'] / 2**20:.0f}")
        if hung:
            line += f"  ({hung} of {options.repeat} of StarPU's hang)"
        if any(r is None for r in runs[True]):
            line += f"  ({sum(r is None for r in runs[True])} OF OURS HANG)"
        print(line, flush=True)
        everything[pattern] = {"ours": runs[True], "starpu": runs[False]}
    if options.json:
        with open(options.json, "w") as file:
            json.dump(everything, file, indent=1)


if __name__ == "__main__":
    main()
