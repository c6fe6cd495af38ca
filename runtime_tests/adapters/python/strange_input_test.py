"""The Python package's solver on what strangers pass to it: each is answered or refused by
name, and nothing is read beyond its end."""

import copy
import os
import pickle
import tempfile
import unittest

import espalier

try:
    import numpy
    import scipy.sparse
except ImportError:
    raise SystemExit(77)


def matrix(order=50, seed=3):
    made = scipy.sparse.random(order, order, 0.1, random_state=seed)
    return (made + 10 * scipy.sparse.identity(order)).tocsc()


def compressed(data, indices, indptr, index_type=numpy.int32):
    return (numpy.array(data, dtype=float), numpy.array(indices, dtype=index_type),
            numpy.array(indptr, dtype=index_type))


class Matrices(unittest.TestCase):
    def test_of_any_type_of_index_are_solved(self):
        known = numpy.arange(50) + 1.0
        b = matrix() @ known
        for kind in ("int16", "int32", "int64", "uint16", "uint32", "uint64"):
            for part in ("indices", "indptr"):
                A = matrix()
                setattr(A, part, getattr(A, part).astype(kind))
                self.assertLess(abs(espalier.spsolve(A, b) - known).max(), 1e-11)

    def test_with_entries_to_spare_are_solved_and_not_analysed_again(self):
        A = matrix()
        known = numpy.ones(50)
        b = A @ known
        A.data = numpy.concatenate([A.data, [numpy.nan] * 5])
        A.indices = numpy.concatenate([A.indices, numpy.full(5, 77, A.indices.dtype)])
        with espalier.factorized(A) as solver:
            seconds = solver.statistics["analyse_seconds"]
            self.assertLess(abs(solver(b) - 1).max(), 1e-11)
            solver.factorise(A)
            self.assertEqual(solver.statistics["analyse_seconds"], seconds)

    def test_whose_parts_do_not_fit_are_refused_by_name(self):
        rows = numpy.array([0], dtype=numpy.int32)
        cases = {
            "indptr ends with 5: there are 2 entries": compressed([1, 2], [0, 1], [0, 1, 5]),
            "indices has 1 entries": compressed([1, 2], [0], [0, 1, 2]),
            "indptr is empty": compressed([], [], []),
        }
        for text, A in cases.items():
            with self.assertRaisesRegex(ValueError, text):
                espalier.spsolve(A, numpy.ones(max(len(A[2]) - 1, 0)))
        short = matrix()
        short.indptr = short.indptr[:-1]
        with self.assertRaisesRegex(ValueError, "indptr has 50 entries for an order of 50"):
            espalier.factorized(short)
        triplets = matrix().tocoo()
        triplets.row = rows
        with self.assertRaisesRegex(ValueError, "row has 1 entries"):
            espalier.factorized(triplets)

    def test_with_indices_that_are_none_are_refused_by_name(self):
        data, indices, indptr = compressed([1, 2], [0, 1], [0, 1, 2])
        with self.assertRaisesRegex(TypeError, "indices: float64, not integers"):
            espalier.spsolve((data, indices + 0.5, indptr), [1, 1])
        with self.assertRaisesRegex(ValueError, "indices.*4294967297"):
            espalier.spsolve((data, numpy.array([0, 2**32 + 1], numpy.uint64), indptr),
                             [1, 1])

    def test_with_values_that_are_no_numbers_are_refused_by_name(self):
        _, indices, indptr = compressed([], [0, 1], [0, 1, 2])
        for error, text, data in ((TypeError, "data: <U1, not numbers", ["1", "2"]),
                                  (TypeError, "data: float", [1, {}]),
                                  (ValueError, "data: some entries are masked",
                                   numpy.ma.masked_array([1., 2.], mask=[0, 1])),
                                  (ValueError, "data has 2 dimensions",
                                   [[1., 2.], [3., 4.]])):
            with self.assertRaisesRegex(error, text):
                espalier.spsolve((data, indices, indptr), [1, 1])

    def test_without_rows_are_solved(self):
        for form in ("csc", "csr", "coo"):
            empty = scipy.sparse.csc_matrix((0, 0)).asformat(form)
            self.assertEqual(espalier.spsolve(empty, numpy.zeros((0, 3))).shape, (0, 3))
        self.assertEqual(espalier.factorized(empty).slogdet(), (1.0, 0.0))


class Options(unittest.TestCase):
    def refuse(self, error, text, **options):
        with self.assertRaisesRegex(error, text):
            espalier.factorized(matrix(), **options)

    def test_that_are_no_numbers_are_refused_by_name(self):
        self.refuse(TypeError, "workers='a'", workers="a")
        self.refuse(TypeError, "workers=1.5", workers=1.5)
        self.refuse(ValueError, "workers=1099511627776", workers=2**40)
        self.refuse(TypeError, "pivot_threshold='a'", pivot_threshold="a")
        self.refuse(TypeError, "low_rank=None", low_rank=None)
        self.refuse(ValueError, "memory=nan", memory=float("nan"))
        self.refuse(ValueError, "memory=inf", memory=float("inf"))
        self.refuse(TypeError, "memory=b'2GiB'", memory=b"2GiB")
        self.refuse(TypeError, "memory=True", memory=True)
        self.refuse(TypeError, r"memory=\[1\]: neither", memory=[1])
        self.refuse(TypeError, r"memory=array", memory=numpy.array([1, 2]))

    def test_of_text_that_is_no_size_are_refused_by_name(self):
        for text in ("", "2 apples", "2GiB\0", "2GiB\0junk", "\0", "\udcff"):
            self.refuse(ValueError, "memory", memory=text)

    def test_that_are_neither_true_nor_false_are_refused_by_name(self):
        for name in ("refine", "residual", "estimate_errors"):
            for given in (None, "no", 2, numpy.array([1, 2])):
                self.refuse(ValueError, f"{name}=", **{name: given})
            espalier.factorized(matrix(), **{name: numpy.bool_(True)}).close()
        with self.assertRaisesRegex(ValueError, "transposed='T'"):
            espalier.null_space(matrix(), transposed="T")

    def test_with_indices_that_are_none_are_refused_by_name(self):
        self.refuse(TypeError, "order: float64", order=numpy.arange(50) + 0.5)
        self.refuse(ValueError, "schur.*4294967296", schur=[2**32])
        self.refuse(TypeError, "schur: 3", schur=3)

    def test_for_another_order_are_refused_by_name(self):
        with espalier.factorized(matrix(), order=range(50)) as solver:
            with self.assertRaisesRegex(ValueError, "order has 50 entries"):
                solver.factorise(matrix(80))

    def test_with_paths_that_end_early_are_refused_by_name(self):
        self.refuse(ValueError, "out_of_core", out_of_core="a\0b")
        self.refuse(ValueError, "out_of_core", out_of_core="")
        self.refuse(TypeError, "out_of_core=3: not a path", out_of_core=3)
        with tempfile.TemporaryDirectory() as folder, espalier.factorized(matrix()) as solver:
            with self.assertRaisesRegex(ValueError, "path"):
                solver.save(os.path.join(folder, "a\0b"))
            with self.assertRaisesRegex(TypeError, "path=3: not a path"):
                solver.save(3)
            self.assertEqual(os.listdir(folder), [])


class RightHandSides(unittest.TestCase):
    def test_of_any_numbers_in_any_layout_are_solved(self):
        known = numpy.arange(50) % 7 + 1.0
        b = matrix() @ known
        wide = numpy.zeros((50, 6))
        wide[:, 1::2] = b[:, None]
        with espalier.factorized(matrix()) as solver:
            for given in (b, list(b), b.astype(">f8"), b.astype(object), wide[:, 3],
                          numpy.repeat(b, 3)[::3], b[::-1].copy()[::-1],
                          b.astype(numpy.longdouble)):
                self.assertLess(abs(solver(given) - known).max(), 1e-11)
            for given in (wide[:, 1::2], wide[:, 1::2].copy(order="C"),
                          numpy.ascontiguousarray(wide[:, 1::2].T).T):
                before = given.copy()
                self.assertLess(abs(solver(given) - known[:, None]).max(), 1e-11)
                self.assertTrue((given == before).all())

    def test_that_are_none_are_refused_by_name(self):
        ones = numpy.ones(50)
        cases = ((TypeError, "not numbers", ones.astype(str)),
                 (TypeError, "datetime64.*not numbers", ones.astype("M8[s]")),
                 (TypeError, "float", {1: 2}),
                 (ValueError, "0 dimensions", 5), (ValueError, "2 rows", ones[:2]),
                 (ValueError, "3 dimensions", numpy.ones((50, 1, 1))),
                 (ValueError, "masked", numpy.ma.masked_array(ones, mask=ones)),
                 (ValueError, "masked", numpy.ma.masked_array(1j * ones, mask=ones)))
        with espalier.factorized(matrix()) as solver:
            for error, text, b in cases:
                with self.assertRaisesRegex(error, "b: .*" + text):
                    solver.solve(b)


class Objects(unittest.TestCase):
    def test_can_be_used_again_after_a_matrix_that_was_refused(self):
        known = numpy.ones(50)
        with espalier.factorized(matrix()) as solver:
            for refused in (matrix() * numpy.nan, matrix(80) * numpy.nan):
                with self.assertRaisesRegex(ValueError, "nan"):
                    solver.factorise(refused)
                with self.assertRaisesRegex(ValueError, "no factor"):
                    solver.solve(known)
                again = matrix(seed=5)
                solver.factorise(again)
                self.assertLess(abs(solver(again @ known) - 1).max(), 1e-11)
        with self.assertRaisesRegex(ValueError, "closed"):
            solver.factorise(matrix())

    def test_are_not_copied(self):
        solver = espalier.factorized(matrix())
        for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
            with self.assertRaisesRegex(TypeError, "Factorized.*cannot be copied"):
                duplicate(solver)
        self.assertEqual(len(solver(numpy.ones(50))), 50)
        solver.close()


if __name__ == "__main__":
    unittest.main()
