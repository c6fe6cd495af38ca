"""A training step in PyTorch and in `espalier train`, in turns: memory and time.

    train_bench.py ESPALIER MODEL.onnx | SHAPE [--batch 8] [--threads 2] [--turns 3]
                   [--half] [--share 0.66]

SHAPE is that of --transformer. Each turn runs PyTorch (torch_step.py), espalier with
--memory min, and espalier with half of that growth (--half) and inside a share of
PyTorch's growth (--share): operators run again. Growth is VmHWM less what the program
has with a network of a few bytes. Of step times the least of all steps of all turns
counts, by the clock and by processor time (all threads), each first step left out.
Needs Debian's python3-torch and python3-onnx. Waiting threads sleep, in both.
"""

import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MIB = 2**20


def run(command, options):
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive", "STARPU_SILENT": "1",
                   "OMP_NUM_THREADS": str(options.threads)}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {done.returncode}")
    return json.loads(done.stdout)


def ours(options, network, steps, memory="min"):
    return run([options.espalier, "train", *network, "--training", "sgd", "--steps",
                str(steps), "--workers", "1", "--threads", str(options.threads), "--memory",
                memory, "--json"], options)


def theirs(options):
    more = ["--channels-last"] if options.channels_last else []
    return run(["/usr/bin/python3", os.path.join(HERE, "torch_step.py"), options.network,
                "--batch", str(options.batch), "--threads", str(options.threads), "--steps",
                str(options.steps), *more], options)


class Best:
    """The least of what came so far."""

    def __init__(self):
        self.growth, self.seconds, self.processor = [], [], []

    def add(self, growth, seconds, processor):
        self.growth.append(growth)
        self.seconds += seconds
        self.processor += processor

    def line(self, name, beside):
        def ratio(what):
            return min(getattr(self, what)) / min(getattr(beside, what))
        return (f"{name:<24} {min(self.growth) / MIB:8.1f} MiB ({ratio('growth'):.3f})  "
                f"clock {min(self.seconds):7.3f} s ({ratio('seconds'):.2f})  "
                f"processor {min(self.processor):7.3f} s ({ratio('processor'):.2f})")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("espalier")
    parser.add_argument("network")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--channels-last", action="store_true", help="PyTorch's images")
    parser.add_argument("--half", action="store_true", help="half of the growth, too")
    parser.add_argument("--share", type=float, help="a bound: of PyTorch's growth, too")
    options = parser.parse_args()
    file = options.network.endswith(".onnx")
    network = [options.network] if file else ["--transformer", options.network]
    network += ["--batch", str(options.batch)]
    peer, least, half, share = Best(), Best(), Best(), Best()

    small = ours(options, ["--mlp", "2x2"], 2, "none")["peak_rss_bytes"]
    for _ in range(options.turns):
        found = theirs(options)
        peer.add(found["growth_bytes"], found["seconds"], found["processor_seconds"])
        found = ours(options, network, options.steps)
        least.add(found["peak_rss_bytes"] - small, found["seconds_by_step"][1:],
                  found["processor_seconds_by_step"][1:])
        for wanted, best, growth in (
                (options.half, half, min(least.growth) // 2),
                (options.share, share, int(min(peer.growth) * (options.share or 0)))):
            if not wanted:
                continue
            found = ours(options, network, options.steps, str(small + growth))
            best.add(found["peak_rss_bytes"] - small, found["seconds_by_step"][1:],
                     found["processor_seconds_by_step"][1:])
    print(f"{options.network}, batch {options.batch}, {options.threads} threads, "
          f"{options.turns} turns of {options.steps} steps")
    print(peer.line("PyTorch", peer))
    print(least.line("espalier", peer))
    if options.half:
        print(half.line("espalier, half", peer))
        print(half.line("  beside the whole", least))
    if options.share:
        print(share.line(f"espalier, {options.share}", peer))
        print(share.line("  beside the whole", least))


if __name__ == "__main__":
    main()
