"""The table that `run` prints: its head, or a line, a replay by simgrid_replay beside ours."""

import json
import os
import sys

HEAD = "| record | memory | workers | StarPU and SimGrid, s | plan --replay, s | ratio | peak, MiB: both | booked, MiB: both | bound, MiB | taken, s |"


def main():
    if len(sys.argv) == 1:
        print(HEAD + "\n" + "|---" * HEAD.count(" | ") + "|---|", flush=True)
        return
    record, simulated, ours = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
    replay = ours["replays"][0]
    bound = simulated["bound_bytes"]
    mib = lambda size: f"{size / 2**20:.1f}"
    both = lambda key: f"{mib(simulated[key])}, {mib(replay[key])}"
    print(
        f"| {os.path.basename(record)} | {simulated['memory']} | {simulated['workers']}"
        f" | {simulated['makespan_seconds']:.4f} | {replay['makespan_seconds']:.4f}"
        f" | {simulated['makespan_seconds'] / replay['makespan_seconds']:.3f}"
        f" | {both('peak_bytes')} | {both('booked_peak_bytes')}"
        f" | {'none' if bound > 2**60 else mib(bound)} | {simulated['tools_seconds']:.1f} |",
        flush=True,
    )


main()
