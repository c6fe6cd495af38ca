#!/usr/bin/env python3
"""Random small trees, graphs, buffers and chains: the planner beside brute force.

Every answer is replayed by the rules of docs/manual/planning.md, written down here once more:
least bounds, feasibility, lower bounds and proofs are those of all orders, of all layouts, and
of all places for the next checkpoint. Exit status: 0 all of it held; 1 something is wrong, each
with what makes it again.
"""

import argparse
import collections
import functools
import itertools
import random
import sys

import espalier


def least_over_orders(count, before, peak_of):
    """Of all orders the least peak; before[k]: what must come first; peak_of(set, k)."""
    least = {0: 0}
    for done in range(1 << count):
        if done not in least:
            continue
        for k in range(count):
            if done >> k & 1 or before[k] & ~done:
                continue
            then = done | 1 << k
            peak = max(least[done], peak_of(done, k))
            least[then] = min(least.get(then, peak), peak)
    return least[(1 << count) - 1]


class Tree:
    """Tasks (parent, output, execution, work), the root first."""

    def __init__(self, rng):
        n = rng.randint(1, 9)
        size = rng.choice([3, 20, 10**12])
        self.tasks = [(-1 if k == 0 else rng.randrange(k), rng.randint(0, size),
                       rng.randint(0, size), rng.randint(0, 5)) for k in range(n)]
        self.children = [[j for j in range(n) if self.tasks[j][0] == k] for k in range(n)]

    def least(self):
        n = len(self.tasks)
        before = [sum(1 << j for j in self.children[k]) for k in range(n)]

        def peak(done, k):
            stay = sum(self.tasks[j][1] for j in range(n) if done >> j & 1
                       and not done >> max(self.tasks[j][0], 0) & 1)
            return stay + self.tasks[k][1] + self.tasks[k][2]

        return least_over_orders(n, before, peak)

    def replayed(self, schedule, workers):
        """The peak of a schedule with times, or what is wrong with it."""
        rows = {row["id"]: row for row in schedule}
        if sorted(rows) != list(range(len(self.tasks))) or len(rows) != len(schedule):
            return "not every task once"
        for k, row in rows.items():
            if any(rows[j]["end"] > row["start"] for j in self.children[k]):
                return f"task {k} starts before its children have ended"
        peak = 0
        for row in schedule:
            now = row["start"]
            memory = used = 0
            for k, other in rows.items():
                runs = other["start"] <= now < other["end"] or (
                    other is row and row["start"] == row["end"])
                used += runs  # on one of the workers that it is mapped to
                parent = self.tasks[k][0]
                ends = rows[parent]["end"] if parent >= 0 else None
                waits = other["end"] <= now and (ends is None or ends > now or
                                                 parent == row["id"]) and k != row["id"]
                memory += runs * (self.tasks[k][1] + self.tasks[k][2])
                memory += (waits and parent >= 0 and not runs) * self.tasks[k][1]
            if used > workers:
                return f"{used} workers at {now}"
            peak = max(peak, memory)
        return peak


def judge_tree(rng, say):
    tree = Tree(rng)
    least = tree.least()
    answer = espalier.plan(tree.tasks, "min", workers=1, order="liu", schedule=True)
    if answer["least_bytes"] != least:
        say(f"least {answer['least_bytes']}, by brute force {least}", tree.tasks)
    replayed = tree.replayed(answer["schedule"], 1)
    has_time = all(task[3] > 0 for task in tree.tasks)
    if has_time and replayed != least:
        say(f"the schedule of the least has {replayed}", tree.tasks)
    bound = rng.randint(max(0, least - 2), 2 * least + 1)
    workers = rng.randint(1, 4)
    answer = espalier.plan(tree.tasks, bound, workers=workers, schedule=True)
    if answer["feasible"] != (bound >= least):
        say(f"feasible: {answer['feasible']} in {bound}, where {least} is the least",
            tree.tasks)
    elif answer["feasible"] and has_time:
        replayed = tree.replayed(answer["schedule"], workers)
        if not isinstance(replayed, int) or replayed > bound:
            say(f"{replayed} in {bound} with {workers} workers", tree.tasks)
        span = max(row["end"] for row in answer["schedule"])
        if answer["lower_bound_flops"] > span * (1 + 1e-9):
            say(f"a lower bound of {answer['lower_bound_flops']} over {span}", tree.tasks)


class Graph:
    def __init__(self, rng):
        n = rng.randint(1, 9)
        size = rng.choice([3, 30, 10**12])
        self.sizes, self.ops = [], []
        for _ in range(rng.randint(0, 2)):
            self.sizes.append(rng.randint(0, size))
        self.given = len(self.sizes)
        for _ in range(n):
            inputs = rng.sample(range(len(self.sizes)), min(len(self.sizes), rng.randint(0, 3)))
            outputs = []
            for _ in range(rng.choice([1, 1, 1, 2, 0])):
                outputs.append(len(self.sizes))
                self.sizes.append(rng.randint(0, size))
            self.ops.append((inputs, outputs, rng.choice([0, 0, rng.randint(0, size)])))
        self.keep = {t for t in range(len(self.sizes)) if rng.random() < 0.1}

    def as_dict(self):
        def names(tensors):
            return [f"t{t}" for t in tensors]
        return {"tensors": {f"t{t}": {"size": size} for t, size in enumerate(self.sizes)},
                "ops": [{"name": f"o{k}", "inputs": names(i), "outputs": names(o),
                         "workspace": w} for k, (i, o, w) in enumerate(self.ops)],
                "keep": names(sorted(self.keep))}

    def peak_of(self, done, k):
        """While operator k runs after those in `done`."""
        inputs, outputs, workspace = self.ops[k]
        memory = workspace
        for t, size in enumerate(self.sizes):
            readers = [j for j, op in enumerate(self.ops) if t in op[0]]
            written = t < self.given or any(
                t in op[1] for j, op in enumerate(self.ops) if done >> j & 1)
            waits = t in self.keep or any(not done >> j & 1 for j in readers)
            # What was given and nobody reads stays as it was given.
            memory += size * (t in outputs or t in inputs or
                              written and (waits or t < self.given and not readers))
        return memory

    def before(self):
        writer = {t: k for k, op in enumerate(self.ops) for t in op[1]}
        return [sum({1 << writer[t] for t in op[0] if t in writer}) for op in self.ops]

    def replayed(self, schedule):
        order = [int(name[1:]) for name in schedule]
        if sorted(order) != list(range(len(self.ops))):
            return "not every operator once"
        done, peak, before = 0, 0, self.before()
        for k in order:
            if before[k] & ~done:
                return f"o{k} before its inputs"
            peak = max(peak, self.peak_of(done, k))
            done |= 1 << k
        return peak


def judge_graph(rng, say):
    graph = Graph(rng)
    least = least_over_orders(len(graph.ops), graph.before(), graph.peak_of)
    least = max(least, sum(graph.sizes[:graph.given]))
    answer = espalier.order(graph.as_dict())
    if answer["lower_bound_bytes"] > least or answer["least_bytes"] < least:
        say(f"{answer['lower_bound_bytes']} to {answer['least_bytes']}, by brute force {least}",
            graph.as_dict())
    if answer["proved"] != (answer["lower_bound_bytes"] == answer["least_bytes"]):
        say("proved without a proof", graph.as_dict())
    if not answer["proved"]:
        say("a small graph that is not proved", graph.as_dict())
    replayed = graph.replayed(answer["schedule"])
    if replayed != answer["least_bytes"] and not (
            isinstance(replayed, int) and answer["least_bytes"] == answer["initial_bytes"]):
        say(f"the schedule has {replayed}, not {answer['least_bytes']}", graph.as_dict())


def lowest_fit(buffers, order):
    placed, height = [], 0
    for k in order:
        lower, upper, size = buffers[k]
        if lower == upper or size == 0:
            continue
        offset = 0
        for low, high, other in sorted((o, o + buffers[j][2], j) for o, j in placed):
            if buffers[other][0] < upper and lower < buffers[other][1] and \
                    low < offset + size and offset < high:
                offset = high
        placed.append((offset, k))
        height = max(height, offset + size)
    return height


def judge_layout(rng, say):
    n = rng.randint(1, 6)
    times, size = rng.randint(2, 8), rng.choice([3, 10, 10**12])
    buffers = []
    for _ in range(n):
        lower = rng.randrange(times)
        buffers.append((lower, rng.randint(lower + 1, times), rng.randint(1, size)))
    least = min(lowest_fit(buffers, order) for order in itertools.permutations(range(n)))
    answer = espalier.layout(buffers)
    if answer["capacity_bytes"] != least or not answer["proved"]:
        say(f"capacity {answer['capacity_bytes']}, by brute force {least}", buffers)
    ends = [o + b[2] for o, b in zip(answer["offsets"], buffers)]
    if max(ends) > answer["capacity_bytes"] or min(answer["offsets"]) < 0:
        say("offsets outside the capacity", buffers)
    for i, j in itertools.combinations(range(n), 2):
        if buffers[i][0] < buffers[j][1] and buffers[j][0] < buffers[i][1] and \
                answer["offsets"][i] < ends[j] and answer["offsets"][j] < ends[i]:
            say(f"buffers {i} and {j} overlap", buffers)


@functools.lru_cache(maxsize=None)
def fewest_advances(steps, slots):
    if steps <= 1:
        return 0
    if slots == 1:
        return steps * (steps - 1) // 2
    return min(m + fewest_advances(steps - m, slots - 1) + fewest_advances(m, slots)
               for m in range(1, steps))


def judge_chain(rng, say):
    steps, slots = rng.randint(1, 60), rng.randint(1, 8)
    answer = espalier.checkpoint(length=steps, slots=slots, schedule=True)
    least = fewest_advances(steps, slots)
    taken = sum(a[2] - a[1] for a in answer["schedule"] if a[0] == "Forward")
    if not answer["advances"] == least == taken:
        say(f"{answer['advances']} advances told, {taken} taken, by brute force {least}",
            (steps, slots))
    reversed_ = [a[1] for a in answer["schedule"] if a[0] == "Reverse"]
    if reversed_ != list(range(steps - 1, -1, -1)):
        say("not every step reversed in turn", (steps, slots))


JUDGES = {"tree": judge_tree, "graph": judge_graph, "layout": judge_layout,
          "chain": judge_chain}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instances", type=int, default=1000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--only", type=int, metavar="K", help="this one instance")
    args = parser.parse_args()
    count, wrong = collections.Counter(), []
    for index in range(args.instances) if args.only is None else [args.only]:
        kind = list(JUDGES)[index % len(JUDGES)]
        count[kind] += 1

        def say(what, instance):
            wrong.append(what)
            print(f"WRONG {kind}: {what}: --seed {args.seed} --only {index}: {instance}")

        JUDGES[kind](random.Random(args.seed * 1000003 + index), say)
    print(", ".join(f"{number} of {kind}" for kind, number in count.items()))
    print(f"{len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
