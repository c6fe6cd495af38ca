#!/usr/bin/env python3
"""Searched pipelines beside those of zero-bubble-pipeline-parallelism's heuristics.

    pipeline_peers.py CHECKOUT ESPALIER [--instances 300] [--chunks 1|2] [--seed 1]

CHECKOUT holds github.com/sail-sg/zero-bubble-pipeline-parallelism. Random instances: 2 to
8 devices, p to 3p micro-batches, F and B of 5 to 20, W of 3 to 20, transfers of 0 to 4.
Their best of all settings, by the span of the longest device, is read as a schedule; ours
gets as bound of every device the most that any device holds in theirs, and is asked twice:
for the span and for the makespan.
"""
import argparse
import importlib.util
import itertools
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import types

PACKAGE = "megatron.core.pipeline_parallel.zerobubble.scheduler"


def load_peer(checkout):
    """Their two modules; what they import and never use is empty."""
    for name in ("torch", "pulp", "megatron", "megatron.core",
                 "megatron.core.pipeline_parallel",
                 "megatron.core.pipeline_parallel.zerobubble", PACKAGE):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["torch"].Tensor = object
    folder = pathlib.Path(checkout) / PACKAGE.replace(".", "/")
    for name in ("graph", "zb", "zbv"):
        spec = importlib.util.spec_from_file_location(f"{PACKAGE}.{name}",
                                                      folder / f"{name}.py")
        sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[spec.name])
    return sys.modules[f"{PACKAGE}.zb"], sys.modules[f"{PACKAGE}.zbv"]


def random_instance(rng, chunks):
    p = rng.randint(2, 8)
    alike = chunks == 2 or rng.random() < 0.5
    times = lambda low, high: ([rng.randint(low, high)] * p if alike else
                               [rng.randint(low, high) for _ in range(p)])
    instance = {"p": p, "m": rng.randint(p, 3 * p), "f": times(5, 20), "b": times(5, 20),
                "w": times(3, 20), "transfer": rng.randint(0, 4),
                "until_b": rng.randint(0, 3), "until_w": rng.randint(1, 4)}
    # Of micro-batches with all their chunks.
    instance["room"] = rng.choice([1, 1.5] if chunks == 2 else [1, 1.5, 2, None])
    if instance["room"]:
        instance["room"] = int(instance["room"] * p)
    if chunks == 2:
        instance["m"] = max(instance["m"], 2 * p)  # fewer end in their assertions
    return instance


def one_chunk_runs(zb, instance):
    """(ends of (kind, micro-batch) by device) of each of the eight settings."""
    p, m = instance["p"], instance["m"]
    size = instance["until_b"] + instance["until_w"]
    reals = lambda values: [float(v) for v in values]
    config = zb.GraphConfig(
        mem_f=[size] * p, mem_b=[-instance["until_b"]] * p, mem_w=[-instance["until_w"]] * p,
        max_mem=instance["room"] and [instance["room"] * size] * p,
        cost_f=reals(instance["f"]), cost_b=reals(instance["b"]),
        cost_w=reals(instance["w"]), cost_comm=float(instance["transfer"]),
        n_stages=p, n_micro=m)
    graph = zb.Graph.build_graph(p, m, config)
    for switches in itertools.product((True, False), repeat=3):
        try:
            _, ends, _ = graph.manual_order(*switches)
        except (AssertionError, ValueError, IndexError):
            continue
        if all(ends):  # some leave forwards out
            yield [{(kind, 0, i): ends[graph.get_id(kind, d, i)]
                    for kind in range(3) for i in range(m)} for d in range(p)]


def two_chunk_runs(zbv, instance):
    p, m = instance["p"], instance["m"]
    size = instance["until_b"] + instance["until_w"]
    for fill_f, fill_b in itertools.product((True, False), repeat=2):
        graph = zbv.PipelineGraph(p, m, instance["f"][0], instance["b"][0],
                                  instance["w"][0], instance["transfer"], size,
                                  -instance["until_b"], -instance["until_w"],
                                  2 * instance["room"] * size)
        try:
            orders, ends, _ = graph.try_v_schedule(fill_f=fill_f, fill_b=fill_b)
        except (AssertionError, IndexError):
            continue
        yield [{(kind, c, i): ends[graph.get_id(kind, c, d, i)]
                for kind, c, i in orders[d]} for d in range(p)]


def figures(instance, ends):
    """Span of the longest device, makespan, most that a device holds."""
    costs = (instance["f"], instance["b"], instance["w"])
    spans, most = [], 0
    changes = (instance["until_b"] + instance["until_w"], -instance["until_b"],
               -instance["until_w"])
    for d, device in enumerate(ends):
        spans.append(max(device.values()) -
                     min(end - costs[kind][d] for (kind, _, _), end in device.items()))
        held = 0
        for (kind, _, _), _ in sorted(device.items(), key=lambda item: item[1]):
            held += changes[kind]
            most = max(most, held)
    return max(spans), max(max(device.values()) for device in ends), most


def ours(program, instance, chunks, bound, objective, more):
    stages = [{"forward": f"{chunks * f}ns", "backward": f"{chunks * b}ns",
               "weight": f"{chunks * w}ns", "until_backward": chunks * instance["until_b"],
               "until_weight": chunks * instance["until_w"]}
              for f, b, w in zip(instance["f"], instance["b"], instance["w"])]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"stages": stages, "transfer": f"{instance['transfer']}ns"}, file)
        file.flush()
        answer = json.loads(subprocess.run(
            [program, "train-plan", "pipeline", file.name, "--schedule",
             "search" if chunks == 1 else "search:2", "--micro-batches",
             str(instance["m"]), "--memory", str(bound), "--objective", objective,
             "--json", *more], check=True, capture_output=True, text=True).stdout)
    return answer["chosen"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout")
    parser.add_argument("program")
    parser.add_argument("--instances", type=int, default=300)
    parser.add_argument("--chunks", type=int, choices=(1, 2), default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="instances where ours is longer")
    options, more = parser.parse_known_args()
    zb, zbv = load_peer(options.checkout)
    rng = random.Random(options.seed)
    runs_of = {1: lambda i: one_chunk_runs(zb, i), 2: lambda i: two_chunk_runs(zbv, i)}
    outcomes = {name: [] for name in ("span", "makespan")}
    while len(outcomes["span"]) < options.instances:
        instance = random_instance(rng, options.chunks)
        runs = [figures(instance, ends) for ends in runs_of[options.chunks](instance)]
        if not runs:
            continue
        theirs = min(runs)
        for k, name in enumerate(outcomes):
            answer = ours(options.program, instance, options.chunks, theirs[2], name, more)
            value = round(answer["value_seconds"] * 1e9)
            outcomes[name].append(value / theirs[k])
            if options.show and value > theirs[k]:
                print(name, value, theirs[k], theirs[2], answer["origin"], instance)
    for name, ratios in outcomes.items():
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{name:9} {len(ratios)} instances: {sum(r < 1 for r in ratios)} shorter, "
              f"{sum(r == 1 for r in ratios)} equal, {sum(r > 1 for r in ratios)} longer, "
              f"mean {mean:.4f}, worst {max(ratios):.4f}")


if __name__ == "__main__":
    main()
