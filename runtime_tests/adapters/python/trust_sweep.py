#!/usr/bin/env python3
"""Random linear systems, regular and singular, judged in exact arithmetic. One program
with its oracle: over 300 lines.

Entries are whole numbers times powers of two, so that ranks, products and residuals are
known without rounding: ranks modulo a prime, residuals in fractions. A complex system is
judged by the real one of twice its order.

What must hold of a solution that is trusted (`doubts` is 0):
  - its backward error is at most 1e-9 (1e-4 in single precision without refinement);
  - of a regular matrix: it is not off by half of its size, unless the matrix is beyond
    working precision and no error was estimated; it is within the bound that was estimated;
  - of a singular matrix: the right-hand side is in its range.
What is told of ranks is counted: with wide scales it is a matter of rounding.

Exit status: 0 all of it held; 1 something is wrong, each with what makes it again.
"""

import argparse
import collections
import random
import sys
from fractions import Fraction

try:
    import numpy as np
    import scipy.sparse
except ImportError as missing:
    print(f"not run: {missing}")
    sys.exit(77)

import espalier

PRIME = 2**31 - 1


def rank_modulo(whole):
    """Rank modulo PRIME of a matrix of whole numbers: its rank, but for rare chance."""
    a = (np.array(whole, dtype=object) % PRIME).astype(np.int64)
    rank = 0
    for j in range(a.shape[1]):
        found = np.nonzero(a[rank:, j])[0]
        if not len(found):
            continue
        a[[rank, rank + found[0]]] = a[[rank + found[0], rank]]
        a[rank] = a[rank] * pow(int(a[rank, j]), PRIME - 2, PRIME) % PRIME
        below = rank + 1 + np.nonzero(a[rank + 1:, j])[0]
        a[below] = (a[below] - a[below, j][:, None] * a[rank][None, :] % PRIME) % PRIME
        rank += 1
        if rank == len(a):
            break
    return rank


# Patterns and values: matrices of whole numbers.

def sparse(rng, n, density, size):
    a = np.zeros((n, n), dtype=np.int64)
    for i in range(n):
        for j in range(n):
            if rng.random() < density:
                a[i, j] = rng.randint(-size, size)
    return a


def general(rng, n):
    a = sparse(rng, n, rng.choice([0.08, 0.2, 0.5]), 9)
    for i in range(n):
        if rng.random() < 0.9:
            a[i, i] = rng.choice([-1, 1]) * rng.randint(1, 20)
    return a


def symmetric(rng, n):
    a = np.tril(sparse(rng, n, rng.choice([0.08, 0.2, 0.5]), 9))
    for i in range(n):
        if rng.random() < 0.5:
            a[i, i] = 0
    return a + np.tril(a, -1).T


def definite(rng, n):
    a = symmetric(rng, n)
    for i in range(n):
        a[i, i] = 1 + np.abs(a[i]).sum()
    return a


def saddle_point(rng, n):
    m = max(1, n // 3)
    a = np.zeros((n, n), dtype=np.int64)
    a[:n - m, :n - m] = definite(rng, n - m)
    a[n - m:, :n - m] = sparse(rng, n, 0.3, 5)[:m, :n - m]
    a[:n - m, n - m:] = a[n - m:, :n - m].T
    return a


def with_combinations(rng, n):
    """Rows are sums of others, and columns as well where it is symmetric."""
    both = rng.random() < 0.5
    a = symmetric(rng, n) if both else general(rng, n)
    for _ in range(rng.randint(1, max(1, n // 8))):
        i, j, k = (rng.randrange(n) for _ in range(3))
        if len({i, j, k}) < 3:
            continue
        p, q = rng.choice([-2, -1, 1, 2]), rng.choice([-1, 0, 1])
        a[i] = p * a[j] + q * a[k]
        if both:
            a[:, i] = p * a[:, j] + q * a[:, k]
    return a


def laplacian(rng, n):
    """Of a graph in a few parts."""
    a = np.zeros((n, n), dtype=np.int64)
    for i in range(1, n):
        if rng.random() < 0.9:
            j = rng.randrange(i)
            a[i, j] -= rng.randint(1, 9)
            a[j, i] = a[i, j]
    for _ in range(n):
        i, j = rng.randrange(n), rng.randrange(n)
        if i != j and a[i].any() and a[j].any():
            a[i, j] -= 1
            a[j, i] -= 1
    np.fill_diagonal(a, 0)
    np.fill_diagonal(a, -a.sum(axis=1))
    return a


def of_low_rank(rng, n):
    r = rng.randint(1, n)
    c = sparse(rng, n, 0.4, 4)[:, :r]
    return c @ (c.T if rng.random() < 0.5 else sparse(rng, n, 0.4, 4)[:r, :])


def structurally_singular(rng, n):
    a = general(rng, n)
    if rng.random() < 0.5:
        a[rng.randrange(n)] = 0
    else:
        a[:, rng.randrange(n)] = 0
    if rng.random() < 0.3:
        k = rng.randint(1, n)
        a[:k, k - 1:] = 0
    return a


def permuted_triangle(rng, n):
    a = np.tril(general(rng, n))
    if rng.random() < 0.4:
        i = rng.randrange(n)
        a[i, i] = 0
    return a[rng.sample(range(n), n)][:, rng.sample(range(n), n)]


def ill_conditioned(rng, n):
    low = np.tril(sparse(rng, n, 0.3, 3), -1) + np.eye(n, dtype=np.int64)
    up = np.triu(sparse(rng, n, 0.3, 3), 1)
    return low @ (np.diag([rng.choice([1, 1000, 100000]) for _ in range(n)]) + up)


def grid(rng, n):
    """With Neumann's boundary, and one point held in every other."""
    k = max(2, int(n**0.5))
    a = np.zeros((k * k, k * k), dtype=np.int64)
    for x in range(k):
        for y in range(k):
            for u, v in ((x + 1, y), (x, y + 1)):
                if u < k and v < k:
                    a[x * k + y, u * k + v] = a[u * k + v, x * k + y] = -1
    np.fill_diagonal(a, -a.sum(axis=1))
    a[0, 0] += rng.choice([0, 1])
    return a


def nearly_skew(rng, n):
    a = np.tril(sparse(rng, n, 0.3, 9), -1)
    return a - a.T + rng.choice([0, 1]) * np.diag([rng.randint(0, 1) for _ in range(n)])


FAMILIES = [general, symmetric, definite, saddle_point, with_combinations, laplacian,
            of_low_rank, structurally_singular, permuted_triangle, ill_conditioned, grid,
            nearly_skew]
WIDTHS = {"narrow": 6, "wide": 30, "widest": 100}


def exponents(rng, n, kind):
    if kind == "none":
        return [0] * n
    if kind == "uniform":
        return [rng.randint(-400, 400)] * n
    return [rng.randint(-WIDTHS[kind], WIDTHS[kind]) for _ in range(n)]


class System:
    """The matrix (whole + i imaginary)_ij 2^(row_i + column_j) and a right-hand side."""

    def __init__(self, rng, largest):
        family = rng.choice(FAMILIES)
        n = rng.choice([rng.randint(2, 8), rng.randint(5, 30), rng.randint(20, largest)])
        self.whole = family(rng, n)
        self.complex = rng.random() < 0.2
        self.imaginary = family(rng, n) if self.complex else None
        self.n = n = len(self.whole)
        self.scale(rng)
        self.real = self.whole
        if self.complex:
            a, b = self.whole, self.imaginary
            self.real = np.block([[a, -b], [b, a]])
        twice = 1 + self.complex
        self.row, self.column = np.array(self.row * twice), np.array(self.column * twice)
        self.rank = rank_modulo(self.real) // twice
        self.regular = self.rank == n
        self.choose_sides(rng)
        self.name = f"{family.__name__}, order {n}, rank {self.rank}, {self.scales}"

    def scale(self, rng):
        kind = rng.choice(["none", "none", "narrow", "wide", "widest", "uniform"])
        other = rng.choice(["none", "narrow", "wide", "widest"])
        self.row = exponents(rng, self.n, kind)
        alike = rng.random() < 0.8 and all(
            (part == part.T).all() for part in (self.whole, self.imaginary)
            if part is not None)
        if not alike:
            self.column = exponents(rng, self.n, other)
        else:
            self.column = [0] * self.n if kind == "uniform" else list(self.row)
        self.scales = f"rows {kind}, columns {'alike' if alike else other}"

    def entry(self, i, j):
        return int(self.real[i, j]) * Fraction(2)**int(self.row[i] + self.column[j])

    def terms(self, i, x):
        return [self.entry(i, j) * x[j] for j in np.nonzero(self.real[i])[0]]

    def choose_sides(self, rng):
        """b, exactly; and x where b is A x."""
        self.x = [rng.randint(-9, 9) * Fraction(2)**int(-c) for c in self.column]
        self.b = [sum(self.terms(i, self.x), Fraction(0)) for i in range(len(self.row))]
        if rng.random() < 0.4 or not all(is_float(v) for v in self.b):
            self.x = None
            self.b = [rng.randint(-9, 9) * Fraction(2)**int(r) for r in self.row]

    def is_finite(self):
        largest = max((abs(v) for v in self.b), default=0)
        with np.errstate(over="ignore", under="ignore"):
            a = self.floats()
        zero = a[:self.n] == 0
        whole = (self.whole == 0) & (True if not self.complex else self.imaginary == 0)
        return bool(np.isfinite(a).all() and (zero == whole).all() and
                    largest < Fraction(10)**300)

    def floats(self):
        def scaled(part):
            n = self.n
            return np.ldexp(np.ldexp(part.astype(float), self.row[:n, None]),
                            self.column[None, :n])
        return scaled(self.whole) + (1j * scaled(self.imaginary) if self.complex else 0)

    def right_hand_side(self):
        b = np.array([float(v) for v in self.b])
        return b[:self.n] + 1j * b[self.n:] if self.complex else b

    def is_consistent(self):
        """Whether A and b side by side have the rank of A."""
        b = [v / Fraction(2)**int(r) for v, r in zip(self.b, self.row)]
        common = max(v.denominator for v in b)
        last = np.array([[int(v * common)] for v in b], dtype=object)
        beside = np.hstack([self.real.astype(object), last])
        return rank_modulo(beside) == rank_modulo(self.real)

    def backward_error(self, x):
        """The largest, over rows, of the residual over what its terms allow."""
        size = max(map(abs, x))
        worst = Fraction(0)
        for i, b in enumerate(self.b):
            terms = self.terms(i, x)
            residual = abs(b - sum(terms, Fraction(0)))
            columns = np.nonzero(self.real[i])[0]
            norm = sum((abs(self.entry(i, j)) for j in columns), Fraction(0))
            allowed = max(sum(map(abs, terms), abs(b)), norm * size)
            if residual:
                worst = max(worst, residual / allowed)
        return worst

    def forward_errors(self, x):
        """Relative to the largest unknown: as given, and with columns scaled."""
        def error(scale):
            size = max(abs(v) * s for v, s in zip(self.x, scale))
            off = max(abs(v - w) * s for v, w, s in zip(self.x, x, scale))
            return off / size if size else Fraction(0)
        return (error([Fraction(1)] * len(self.x)),
                error([Fraction(2)**int(c) for c in self.column]))

    def is_beyond_precision(self):
        return np.linalg.cond(self.real.astype(float)) > 1e13


def is_float(value):
    return abs(value) < Fraction(10)**300 and Fraction(float(value)) == value


def options_for(rng, a):
    alike = bool((a == a.T).all())
    return {
        "kind": rng.choice(["auto", "auto", "general"] + ["symmetric"] * alike),
        "precision": rng.choice(["double", "double", "double", "single"]),
        "scaling": rng.choice(["auto", "auto", "none", "equilibrate", "matching"]),
        "refine": rng.random() < 0.9,
        "estimate_errors": rng.random() < 0.3,
        "runtime": rng.choice(["auto", "auto", "auto", "none"]),
    }


class Sweep:
    def __init__(self, args):
        self.args = args
        self.count = collections.Counter()
        self.wrong = 0

    def say(self, what, where):
        self.wrong += 1
        print(f"WRONG {what}: {where}", flush=True)

    def note(self, what, where):
        self.count[what] += 1
        if self.args.verbose:
            print(f"{what}: {where}")

    def solve(self, system, options):
        """(facts, x or None), or None where the matrix was refused."""
        a = scipy.sparse.csc_matrix(system.floats())
        try:
            solver = espalier.factorized(a, _singular=True, **options)
        except espalier.NotPositiveDefiniteError:
            return None
        with solver:
            try:
                x = solver.solve(system.right_hand_side())
            except espalier.SingularError:
                x = None
            facts = solver.statistics
        return facts, x

    def run(self, index):
        rng = random.Random(self.args.seed * 1000003 + index)
        system = System(rng, self.args.largest)
        if not system.is_finite():
            return
        options = options_for(rng, system.floats())
        where = f"--seed {self.args.seed} --only {index}: {system.name}, {options}"
        self.count["systems"] += 1
        try:
            answer = self.solve(system, options)
        except (ValueError, MemoryError) as error:
            self.say(f"refused ({error})", where)
            return
        if answer is not None:
            self.judge(system, options, *answer, where)

    def judge(self, system, options, facts, x, where):
        told = facts["singular"] != 0 or facts["null_space"] > 0
        trusted = x is not None and facts["doubts"] == 0
        self.judge_rank(system, options, facts, told, where)
        if system.regular and not trusted:
            self.count["regular, not trusted"] += 1
        if not trusted:
            return
        if not np.isfinite(x).all():
            self.say("a solution that is not finite", where)
            return
        parts = np.concatenate([x.real, x.imag]) if system.complex else x
        exact = [Fraction(float(v)) for v in parts]
        error = system.backward_error(exact)
        rough = options["precision"] == "single" and not options["refine"]
        if error > (1e-4 if rough else 1e-9):
            self.say(f"a backward error of {float(error):.1e}, where "
                     f"{facts['backward_error']:.1e} was told", where)
        if system.regular:
            self.judge_solution(system, options, facts, exact, where)
        elif not system.is_consistent():
            self.say("no solution there is", where)

    def judge_rank(self, system, options, facts, told, where):
        if system.regular:
            self.count["regular"] += 1
            if told:
                self.note("regular, called singular", where)
            return
        self.count["singular"] += 1
        if not told:
            self.note("singular, not told", where)
        elif facts["rank"] != system.rank and options["precision"] == "double" and \
                options["scaling"] in ("auto", "matching"):
            self.note("another rank in double precision, scaled",
                      f"{facts['rank']}: {where}")

    def judge_solution(self, system, options, facts, exact, where):
        if system.x is None:
            return
        given, scaled = system.forward_errors(exact)
        bound = facts["forward_error_bound"]
        if options["estimate_errors"] and given > 2 * Fraction(bound):
            self.say(f"an error of {float(given):.1e} in a bound of {bound:.1e}", where)
        elif min(given, scaled) > Fraction(1, 2):
            if not system.is_beyond_precision() or options["estimate_errors"]:
                self.say(f"an error of {float(given):.1e}", where)
            else:
                self.note("beyond precision, error not estimated", where)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--systems", type=int, default=1000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--largest", type=int, default=70, metavar="N", help="order")
    parser.add_argument("--only", type=int, metavar="K", help="this one system")
    parser.add_argument("--verbose", action="store_true", help="name what is counted")
    args = parser.parse_args()
    sweep = Sweep(args)
    for index in range(args.systems) if args.only is None else [args.only]:
        sweep.run(index)
    for name, number in sorted(sweep.count.items()):
        print(f"{number:7d} {name}")
    print(f"{sweep.wrong:7d} wrong")
    return 1 if sweep.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
