"""How the time of a sharded plan grows with the depth of a transformer.

    shard_depth.py ESPALIER [--mesh 8x8] [--layers 24 96] [--turns 5]

Plans gpt2-xl with both numbers of layers, 512 sequences, for limits from 40 to 95 % of what
the fastest plan holds. Prints the least time of each, in turns, their ratio, and
the geometric mean of the ratios.
"""

import argparse
import json
import math
import subprocess


def plan(options, layers, memory=None):
    command = [options.espalier, "shard", "--transformer", "gpt2-xl", "--layers",
               str(layers), "--mesh", options.mesh, "--batch", "512", "--json"]
    if memory is not None:
        command += ["--memory", str(memory)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("espalier")
    parser.add_argument("--mesh", default="8x8")
    parser.add_argument("--layers", type=int, nargs=2, default=[24, 96])
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    held = [plan(options, layers)["memory_bytes"] for layers in options.layers]
    ratios = []
    for share in range(40, 100, 5):
        limits = [size * share // 100 for size in held]
        turns = [[plan(options, layers, limit)
                  for layers, limit in zip(options.layers, limits)]
                 for _ in range(options.turns)]
        if not all(each.get("feasible", True) for each in turns[0]):
            print(f"{share} %: nothing fits")
            continue
        times = [min(turn[k]["seconds"] for turn in turns) for k in (0, 1)]
        proved = ", proved" if all(each["proved"] for each in turns[0]) else ""
        ratios.append(times[1] / times[0])
        print(f"{share} %: {1e3 * times[0]:.1f} and {1e3 * times[1]:.1f} ms, "
              f"ratio {ratios[-1]:.2f}{proved}", flush=True)
    print(f"geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}")


if __name__ == "__main__":
    main()
