"""The Python package's solver, against SciPy where that is there.

The cases of one subject: over 300 lines.
"""

import array
import os
import random
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest
import warnings

import espalier

try:
    import numpy
    import scipy.sparse
    import scipy.sparse.linalg
except ImportError:
    scipy = None

with_scipy = unittest.skipIf(scipy is None, "needs python3-scipy")


def cube(n):
    """The 7-point operator on n x n x n points, definite, with SciPy."""
    edge = scipy.sparse.diags([-1.0, 2.1, -1.0], [-1, 0, 1], shape=(n, n))
    one = scipy.sparse.identity(n)
    kron = scipy.sparse.kron
    return (kron(kron(edge, one), one) + kron(kron(one, edge), one) +
            kron(kron(one, one), edge)).tocsc()


def grid(n):
    """The 5-point Laplacian of n x n points as compressed columns, without SciPy."""
    data, indices, indptr = array.array("d"), array.array("i"), array.array("i", [0])
    for y in range(n):
        for x in range(n):
            near = [(x, y - 1), (x - 1, y), (x, y), (x + 1, y), (x, y + 1)]
            for i, j in near:
                if 0 <= i < n and 0 <= j < n:
                    indices.append(j * n + i)
                    data.append(4.0 if (i, j) == (x, y) else -1.0)
            indptr.append(len(indices))
    return data, indices, indptr


def random_matrix(order, seed, symmetric=False):
    made = scipy.sparse.random(order, order, 6 / order, random_state=seed,
                               data_rvs=numpy.random.default_rng(seed).standard_normal)
    if symmetric:
        made = made + made.T
    return made + 3 * scipy.sparse.identity(order)


class WithoutSciPy(unittest.TestCase):
    def test_solves_compressed_columns_given_as_a_tuple(self):
        data, indices, indptr = matrix = grid(7)
        n = len(indptr) - 1
        known = [1.0 + k % 5 for k in range(n)]
        b = [0.0] * n
        for j in range(n):
            for at in range(indptr[j], indptr[j + 1]):
                b[indices[at]] += data[at] * known[j]
        for x in (espalier.spsolve(matrix, b),
                  espalier.spsolve(tuple(map(list, matrix)), array.array("d", b))):
            self.assertLess(max(abs(p - q) for p, q in zip(x, known)), 1e-12)

    def test_needs_neither_numpy_nor_scipy(self):
        code = """
            import sys
            sys.modules["numpy"] = sys.modules["scipy"] = None
            import array, espalier
            x = espalier.spsolve(([2.0, 4.0], [0, 1], [0, 1, 2]), [2, 8])
            assert isinstance(x, array.array) and abs(x[0] - 1) + abs(x[1] - 2) < 1e-15, x
            try:
                espalier.spsolve(([0.0], [0], [0, 1]), [1])
            except espalier.SingularError as error:
                assert isinstance(error, ValueError) and error.rank == 0
            """
        subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)

    def test_says_which_version_it_is(self):
        self.assertRegex(espalier.version(), r"^\d+\.\d+\.\d+$")

    def test_knows_what_limits_leave(self):
        room, source = espalier.available_memory()
        self.assertGreater(room, 0)
        self.assertTrue(source)


@with_scipy
class Factorized(unittest.TestCase):
    def expect_same(self, matrix, **options):
        b = numpy.arange(1.0, matrix.shape[0] + 1)
        wanted = scipy.sparse.linalg.spsolve(matrix.tocsc(), b)
        with espalier.factorized(matrix, **options) as solver:
            numpy.testing.assert_allclose(solver(b), wanted, rtol=1e-9, atol=1e-9)
            wanted = scipy.sparse.linalg.splu(matrix.tocsc()).solve(b, "T")
            numpy.testing.assert_allclose(solver.solve(b, "T"), wanted, rtol=1e-9,
                                          atol=1e-9)

    def test_solves_what_splu_solves_in_every_format(self):
        for seed in range(4):
            matrix = random_matrix(60, seed, symmetric=seed % 2 == 1)
            for form in ("csc", "csr", "coo", "lil"):
                with self.subTest(seed=seed, form=form):
                    self.expect_same(matrix.asformat(form))

    def test_takes_64_bit_indices_integers_and_sparse_arrays(self):
        matrix = random_matrix(40, 3).tocsr()
        long = matrix.copy()
        long.indices = long.indices.astype("int64")
        long.indptr = long.indptr.astype("int64")
        self.expect_same(long)
        self.expect_same(scipy.sparse.csc_array(matrix))
        x = espalier.spsolve(scipy.sparse.csr_matrix([[2, 1], [1, 3]]), [3, 4])
        numpy.testing.assert_allclose(x, [1, 1])
        x = espalier.spsolve(numpy.array([[2.0, 1], [0, 3]]), [3, 3])
        numpy.testing.assert_allclose(x, [1, 1])

    def test_runs_every_kind_precision_runtime_and_order(self):
        matrix = scipy.sparse.csc_matrix(grid(12)[::1], shape=(144, 144))
        for options in ({"kind": "spd"}, {"kind": "symmetric"}, {"kind": "general"},
                        {"precision": "single"}, {"ordering": "natural"},
                        {"runtime": "starpu", "workers": 2}, {"runtime": "none"},
                        {"scaling": "matching"}, {"refine": False},
                        {"order": random.Random(1).sample(range(144), 144)}):
            with self.subTest(**options):
                self.expect_same(matrix, **options)

    def test_tells_the_determinant_as_numpy_does(self):
        for seed in range(6):
            matrix = random_matrix(70, seed, symmetric=seed % 2 == 1)
            for kind in ("auto", "general"):
                with self.subTest(seed=seed, kind=kind), \
                        espalier.factorized(matrix, kind=kind) as solver:
                    sign, log = numpy.linalg.slogdet(matrix.toarray())
                    self.assertEqual(solver.slogdet()[0], sign)
                    self.assertAlmostEqual(solver.slogdet()[1], log, places=9)

    def test_gives_entries_of_the_inverse(self):
        for seed in range(4):
            matrix = random_matrix(40, seed, symmetric=seed == 1).astype(
                complex if seed >= 2 else float)
            if seed == 3:
                matrix = matrix + 1j * matrix.T
            wanted = numpy.linalg.inv(matrix.toarray())
            rows, columns = [0, 39, 7, 7], [3, 3, 20, 7]
            for form in ("csc", "csr", "coo"):
                with self.subTest(seed=seed, form=form), \
                        espalier.factorized(matrix.asformat(form)) as solver:
                    numpy.testing.assert_allclose(solver.inverse_entries(rows, columns),
                                                  wanted[rows, columns], atol=1e-10)
                    numpy.testing.assert_allclose(solver.inverse_diagonal(),
                                                  numpy.diag(wanted), atol=1e-10)
        with espalier.factorized(matrix) as solver:
            with self.assertRaisesRegex(ValueError, r"rows\[1\] is 40"):
                solver.inverse_entries([0, 40], [0, 0])
            with self.assertRaisesRegex(ValueError, "2 rows and 1 columns"):
                solver.inverse_entries([0, 1], [0])

    def test_gives_schur_complements_also_of_compressed_rows(self):
        for seed in range(4):
            matrix = random_matrix(50, seed, symmetric=seed == 3)
            kept = numpy.random.default_rng(seed).permutation(50)[:7]
            inner = numpy.setdiff1d(numpy.arange(50), kept)
            dense = matrix.toarray()
            wanted = (dense[numpy.ix_(kept, kept)] - dense[numpy.ix_(kept, inner)] @
                      numpy.linalg.solve(dense[numpy.ix_(inner, inner)],
                                         dense[numpy.ix_(inner, kept)]))
            for form in ("csc", "csr", "coo"):
                with self.subTest(seed=seed, form=form), \
                        espalier.factorized(matrix.asformat(form), schur=kept) as solver:
                    numpy.testing.assert_allclose(solver.schur(), wanted, rtol=1e-9,
                                                  atol=1e-9)
                    b = numpy.arange(1.0, 51)
                    x = solver(b)
                    numpy.testing.assert_array_equal(x[kept], 0)
                    numpy.testing.assert_allclose(
                        dense[numpy.ix_(inner, inner)] @ x[inner], b[inner], atol=1e-9)
        with self.assertRaisesRegex(ValueError, r"schur\[1\] is 50"):
            espalier.factorized(matrix, schur=[0, 50])
        with espalier.factorized(matrix) as solver, \
                self.assertRaisesRegex(ValueError, "schur"):
            solver.schur()

    def test_gives_null_spaces_of_both_sides(self):
        a = random_matrix(40, 5).tolil()
        a[3] = a[7] + a[9]
        a[:, 5] = 2 * a[:, 6]
        a = a.tocsc()
        for transposed in (False, True):
            for form in ("csc", "csr"):
                basis = espalier.null_space(a.asformat(form), transposed=transposed)
                self.assertIn(basis.shape, ((40, 1), (40, 2)))
                numpy.testing.assert_allclose((a.T if transposed else a) @ basis, 0,
                                              atol=1e-9)
                numpy.testing.assert_allclose(basis.T @ basis,
                                              numpy.identity(basis.shape[1]), atol=1e-12)
        self.assertEqual(espalier.null_space(random_matrix(20, 1)).shape, (20, 0))

    def test_solves_for_many_right_hand_sides_and_leaves_them_alone(self):
        matrix = random_matrix(50, 8).tocsc()
        solver = espalier.factorized(matrix)
        for order in "CF":
            b = numpy.array(numpy.random.default_rng(2).random((50, 3)), order=order)
            before = b.copy()
            x = solver(b)
            self.assertEqual(x.shape, (50, 3))
            numpy.testing.assert_allclose(matrix @ x, b, atol=1e-12)
            numpy.testing.assert_array_equal(b, before)
        x = solver(scipy.sparse.csc_matrix(b[:, :1]))
        numpy.testing.assert_allclose(matrix @ x, b[:, :1], atol=1e-12)

    def test_copies_no_matrix_that_is_in_form(self):
        from espalier._arrays import Matrix
        matrix = random_matrix(30, 1).tocsr()
        taken = Matrix(matrix)
        self.assertEqual(taken.values.address, matrix.data.ctypes.data)
        self.assertEqual(taken.indices["columns"].address, matrix.indices.ctypes.data)

    def test_factors_other_values_without_analysing(self):
        matrix = random_matrix(50, 4).tocsr()
        other = matrix.copy()
        other.data = other.data * 2 + 0.1
        b = numpy.ones(50)
        with espalier.factorized(matrix) as solver:
            seconds = solver.statistics["analyse_seconds"]
            x = solver.factorise(other).solve(b)
            numpy.testing.assert_allclose(other @ x, b, atol=1e-10)
            self.assertEqual(solver.statistics["analyse_seconds"], seconds)
            x = solver.factorise(random_matrix(50, 5)).solve(b)
            numpy.testing.assert_allclose(random_matrix(50, 5) @ x, b, atol=1e-10)

    def test_analyses_what_was_changed_in_place(self):
        def swap():
            matrix.indices[:2] = matrix.indices[1::-1].copy()
        matrix = scipy.sparse.csc_matrix(([1.0, 2, 3, 5], [1, 0, 0, 1], [0, 2, 4]))
        for change in (matrix.sort_indices, swap, lambda: matrix.resize(1, 1)):
            with espalier.factorized(matrix) as solver:
                change()
                b = matrix @ numpy.ones(matrix.shape[0])
                x = solver.factorise(matrix).solve(b)
                numpy.testing.assert_allclose(x, numpy.ones(len(b)))

    def test_keeps_no_array_of_the_caller(self):
        matrix = random_matrix(30, 1).tocsr()
        held = sys.getrefcount(matrix.data), sys.getrefcount(matrix.indices)
        with espalier.factorized(matrix):
            self.assertEqual((sys.getrefcount(matrix.data),
                              sys.getrefcount(matrix.indices)), held)

    def test_values_may_stop_being_symmetric(self):
        matrix = scipy.sparse.csc_matrix([[2.0, 1], [1, 3]])
        other = scipy.sparse.csc_matrix([[2.0, 1], [5, 3]])
        with espalier.factorized(matrix) as solver:
            numpy.testing.assert_allclose(solver.factorise(other).solve([3, 8]), [1, 1])
        with espalier.factorized(matrix, kind="symmetric") as solver:
            with self.assertRaisesRegex(ValueError, "symmetric"):
                solver.factorise(other)

    def test_counts_negative_eigenvalues(self):
        matrix = random_matrix(40, 6, symmetric=True) - 4 * scipy.sparse.identity(40)
        wanted = (numpy.linalg.eigvalsh(matrix.toarray()) < 0).sum()
        self.assertEqual(espalier.factorized(matrix, kind="symmetric")
                         .negative_eigenvalues, wanted)

    def test_a_bound_that_is_too_small_says_what_suffices(self):
        matrix = scipy.sparse.csc_matrix(grid(60)[::1], shape=(3600, 3600))
        with self.assertRaises(MemoryError) as caught:
            espalier.factorized(matrix, memory="1MiB")
        self.assertIsInstance(caught.exception, espalier.BoundError)
        self.assertIn("suffices", str(caught.exception))
        least = caught.exception.least
        with espalier.factorized(matrix, memory=least + (4 << 20)) as solver:
            self.assertLessEqual(solver.statistics["allocated_peak"], least)
            x = solver(numpy.ones(3600))
            numpy.testing.assert_allclose(matrix @ x, numpy.ones(3600), atol=1e-10)
        for memory in ("min", "auto"):
            espalier.factorized(matrix, memory=memory).close()

    def test_the_bound_is_one_on_the_whole_process(self):
        # Of its own, so that nothing else was ever resident in it.
        program = textwrap.dedent('''
            import sys, numpy, espalier
            sys.path.insert(0, sys.argv[1])
            from solver_test import cube
            matrix = cube(24)
            try:
                espalier.factorized(matrix, memory="1MiB", workers=2)
            except espalier.BoundError as error:
                bound = error.least + (2 << 20)
            with espalier.factorized(matrix, memory=bound, workers=2) as solver:
                x = solver(numpy.ones(matrix.shape[0]))
                assert numpy.abs(matrix @ x - 1).max() < 1e-10
                status = open("/proc/self/status").read()
                most = int(status.partition("VmHWM:")[2].split()[0]) * 1024
                assert most <= bound, (most, bound)
                assert solver.statistics["factor_entries"] * 8 > bound // 16
        ''')
        folder = os.path.dirname(os.path.abspath(__file__))
        subprocess.run([sys.executable, "-c", program, folder], check=True)

    def test_singular_matrices_are_linear_algebra_errors(self):
        for rows in ([[1.0, 2], [2, 4]], [[0.0, 0], [0, 1]], [[1.0, 2], [3, 6]]):
            with self.assertRaises(numpy.linalg.LinAlgError) as caught:
                espalier.factorized(scipy.sparse.csc_matrix(rows))
            self.assertIsInstance(caught.exception, espalier.SingularError)
            self.assertEqual(caught.exception.rank, 1)
        with self.assertRaises(espalier.NotPositiveDefiniteError) as caught:
            espalier.factorized(scipy.sparse.csc_matrix([[1.0, 0], [0, -1]]), kind="spd")
        self.assertEqual(caught.exception.column, 1)

    def test_solutions_that_are_not_to_be_trusted_come_with_a_warning(self):
        matrix = scipy.sparse.csc_matrix([[1.0, 1], [1, 1 + 1e-14]])
        for solve in (lambda: espalier.spsolve(matrix, [1.0, 2.0]),
                      lambda: espalier.factorized(matrix).solve([1.0, 2.0j])):
            with self.assertWarns(espalier.UntrustedSolutionWarning) as caught:
                solve()
            self.assertIsInstance(caught.warning, RuntimeWarning)
            self.assertRegex(str(caught.warning), "its error may be a tenth of it or more")
            self.assertEqual(caught.filename, __file__)
        with espalier.factorized(matrix, residual=False) as unchecked, \
                espalier.factorized(cube(4)) as trusted, warnings.catch_warnings():
            warnings.simplefilter("error")
            unchecked.solve([1.0, 2.0])
            trusted.solve(numpy.ones(64))
            self.assertEqual(trusted.statistics["doubts"], 0)

    def test_refuses_what_cannot_be_by_name(self):
        good = scipy.sparse.csc_matrix([[2.0, 0], [0, 1]])
        for word, error, call in (
                ("memory", ValueError, lambda: espalier.factorized(good, memory=0)),
                ("beyond 64 bits", ValueError,
                 lambda: espalier.factorized(good, memory=2**70)),
                ("apples", ValueError, lambda: espalier.factorized(good, "2 apples")),
                ("kind", ValueError, lambda: espalier.factorized(good, kind="soft")),
                ("workers", ValueError, lambda: espalier.factorized(good, workers=-1)),
                ("order", ValueError, lambda: espalier.factorized(good, order=[0])),
                ("second time", ValueError,
                 lambda: espalier.factorized(good, order=[1, 1])),
                ("square", ValueError,
                 lambda: espalier.factorized(scipy.sparse.csc_matrix((2, 3)))),
                ("nan", ValueError, lambda: espalier.factorized(good * numpy.nan)),
                ("3 rows", ValueError, lambda: espalier.spsolve(good, [1, 1, 1])),
                ("entry", ValueError, lambda: espalier.spsolve(good, [1, numpy.inf])),
                ("dimensions", ValueError,
                 lambda: espalier.spsolve(good, numpy.ones((2, 1, 1)))),
                ("str", TypeError, lambda: espalier.factorized("A.mtx"))):
            with self.subTest(word), self.assertRaisesRegex(error, word):
                call()

    def test_solves_complex_matrices_in_every_form(self):
        random = numpy.random.default_rng(3)
        a = random_matrix(60, 1) + 1j * random_matrix(60, 2)
        b = random.standard_normal((60, 3)) + 1j * random.standard_normal((60, 3))
        hermitian = a + a.conj().T
        for matrix in (a.tocsc(), a.tocsr(), a.tocoo(), hermitian.tocsr(),
                       (a + a.T).tocsc()):
            dense = matrix.toarray()
            with espalier.factorized(matrix) as solver:
                self.assertEqual(solver.statistics["scalar"], 1)
                for order in "CF":
                    for trans, op in (("N", dense), ("T", dense.T),
                                      ("H", dense.conj().T)):
                        x = solver.solve(numpy.array(b, order=order), trans)
                        numpy.testing.assert_allclose(op @ x, b, atol=1e-9)
                x = solver(b[:, 0].real)
                numpy.testing.assert_allclose(dense @ x, b[:, 0].real, atol=1e-9)
                solver.factorise(2 * matrix)
                numpy.testing.assert_allclose(2 * dense @ solver(b), b, atol=1e-9)

    def test_solves_complex_right_hand_sides_of_real_matrices(self):
        matrix = random_matrix(40, 5)
        x = numpy.arange(40) + 1j * numpy.arange(40)[::-1]
        many = numpy.stack([x, 2 * x, x.conj()], axis=1)
        for b in (matrix @ x, list(matrix @ x), matrix @ many,
                  scipy.sparse.csc_matrix(matrix @ many)):
            wanted = x if numpy.ndim(b) == 1 and not hasattr(b, "toarray") else many
            found = espalier.spsolve(matrix, b)
            numpy.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
        with espalier.factorized(matrix) as solver:
            numpy.testing.assert_allclose(solver.solve(matrix.T @ x, "H"), x, rtol=1e-9,
                                          atol=1e-9)

    def test_tells_complex_determinants(self):
        a = random_matrix(30, 1) + 1j * random_matrix(30, 2)
        with espalier.factorized(a.tocsc()) as solver:
            sign, log = solver.slogdet()
        expected = numpy.linalg.slogdet(a.toarray())
        self.assertAlmostEqual(log, expected[1], 9)
        self.assertAlmostEqual(abs(sign - expected[0]), 0, 9)
        hermitian = (a + a.conj().T).tocsc()
        with espalier.factorized(hermitian) as solver:
            sign, log = solver.slogdet()
        expected = numpy.linalg.slogdet(hermitian.toarray())
        self.assertAlmostEqual(log, expected[1], 9)
        self.assertAlmostEqual(sign.real, expected[0].real, 12)

    def test_finds_complex_null_spaces_and_schur_complements(self):
        phases = 1j ** numpy.arange(8)
        path = numpy.diag([1.0] + 6 * [2] + [1]) - numpy.eye(8, k=1) - numpy.eye(8, k=-1)
        a = scipy.sparse.csr_matrix(numpy.outer(phases, phases.conj()) * path)
        for transposed, op in ((False, a), (True, a.T)):
            basis = espalier.null_space(a, transposed=transposed)
            self.assertEqual(basis.shape, (8, 1))
            numpy.testing.assert_allclose(op @ basis, 0, atol=1e-12)
        a = (random_matrix(20, 1) + 1j * random_matrix(20, 2)).tocsr()
        kept, others = [19, 3], [i for i in range(20) if i not in (3, 19)]
        dense = a.toarray()
        expected = dense[numpy.ix_(kept, kept)] - dense[numpy.ix_(kept, others)] @ (
            numpy.linalg.solve(dense[numpy.ix_(others, others)],
                               dense[numpy.ix_(others, kept)]))
        with espalier.factorized(a, schur=kept) as solver:
            numpy.testing.assert_allclose(solver.schur(), expected, atol=1e-9)

    def test_is_closed_by_its_block(self):
        with espalier.factorized(random_matrix(20, 1)) as solver:
            self.assertIn("factored", repr(solver))
        self.assertIn("closed", repr(solver))
        with self.assertRaisesRegex(ValueError, "closed"):
            solver(numpy.ones(20))
        solver.close()

    def test_is_used_by_threads_in_turn(self):
        matrix = random_matrix(200, 2)
        solver = espalier.factorized(matrix)
        wrong = []

        def work(seed):
            b = numpy.random.default_rng(seed).random(200)
            for _ in range(10):
                if numpy.abs(matrix @ solver(b) - b).max() > 1e-10:
                    wrong.append(seed)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def interrupted(self, body):
        """Interrupts it within its first part, again and again until it is over."""
        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            for _ in range(400):
                body()
        timer.join()

    def test_interrupts_end_a_factorisation(self):
        matrix = cube(37)
        with espalier.factorized(matrix, workers=1) as solver:
            self.interrupted(lambda: solver.factorise(matrix))
            # It goes on working.
            x = solver.factorise(matrix).solve(numpy.ones(matrix.shape[0]))
            self.assertLess(numpy.abs(matrix @ x - 1).max(), 1e-10)

    def test_interrupts_end_saves(self):
        with tempfile.TemporaryDirectory() as folder, \
                espalier.factorized(cube(26), workers=1) as solver:
            path = os.path.join(folder, "factor")
            solver.save(path)
            with open(path, "rb") as file:
                before = file.read()
            self.interrupted(lambda: solver.save(path))
            self.assertEqual(os.listdir(folder), ["factor"])
            with open(path, "rb") as file:
                self.assertEqual(file.read(), before)

    def test_interrupts_end_analyses_and_solves(self):
        matrix = cube(26)
        vectors = numpy.ones((matrix.shape[0], 40))
        with espalier.factorized(matrix, workers=1) as solver:
            self.interrupted(lambda: solver.solve(vectors))
            self.interrupted(lambda: solver.inverse_entries(range(500), range(500)))
            x = solver.solve(vectors)
            self.assertLess(numpy.abs(matrix @ x - vectors).max(), 1e-10)
        self.interrupted(
            lambda: espalier.factorized(matrix, workers=1, ordering="nd").close())
        matrix.data = numpy.random.default_rng(3).random(matrix.nnz)  # to be matched
        self.interrupted(lambda: espalier.factorized(matrix, kind="general", workers=1,
                                                     ordering="nd").close())


if __name__ == "__main__":
    unittest.main()
