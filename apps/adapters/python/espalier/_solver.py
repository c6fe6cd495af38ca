"""Factorisations and what solves with them.

One class and the ways in and out of it: over 300 lines.
"""

import cmath
import ctypes
import errno
import math
import operator
import os
import signal
import sys
import threading
import warnings

from . import _arrays
from ._errors import (BoundError, NotPositiveDefiniteError, SingularError,
                      UntrustedSolutionWarning, exception_of)
from ._library import Input, Options, Progress, Statistics, check, last_error, library

_KINDS = {"auto": 0, "spd": 1, "symmetric": 2, "general": 3}
_PRECISIONS = {"double": 0, "single": 1}
_SCALINGS = {"auto": 0, "none": 1, "equilibrate": 2, "matching": 3}
_ORDERINGS = {"auto": 1, "metis": 2, "scotch": 3, "amd": 4, "natural": 5,
              "nd": 6}
_RUNTIMES = {"auto": 0, "starpu": 1, "none": 2}
_LEAST, _AUTO, _UNBOUNDED = 0, -1, 2**63 - 1
_DOUBT_SINGULAR, _DOUBT_BACKWARD_ERROR, _DOUBT_FORWARD_ERROR = 1, 2, 4
# Entries of the factor times right-hand sides up to which a solve ends before anybody
# misses its interruption.
_SOON = 10**7


def _choice(name, given, among):
    try:
        return among[given]
    except (KeyError, TypeError):
        raise ValueError(f"{name}={given!r}: not one of "
                         f"{', '.join(map(repr, among))}") from None


def _bound_of_text(memory):
    text = memory.encode(errors="backslashreplace")
    if b"\0" in text:  # where C would end
        raise ValueError(f"memory={memory!r}: not a size")
    bound = ctypes.c_int64()
    code = library().espalier_solver_parse_memory(text, ctypes.byref(bound))
    if code < 0:
        raise exception_of(code, f"memory: {last_error()}")
    return bound.value


def _bound(memory):
    """The bound that plan() of the C interface takes."""
    if memory is None:
        return _UNBOUNDED
    if isinstance(memory, str):
        return _bound_of_text(memory)
    try:
        if isinstance(memory, (bool, bytes)):
            raise TypeError
        bytes_ = int(memory)
    except TypeError:
        raise TypeError(f"memory={memory!r}: neither bytes nor a text such as "
                        "'2GiB'") from None
    except (OverflowError, ValueError):  # infinite, not a number
        bytes_ = 0
    if bytes_ >= _UNBOUNDED:
        raise ValueError(f"memory={memory!r}: beyond 64 bits; None is no bound")
    if bytes_ <= 0:
        raise ValueError(f"memory={memory!r}: not a positive number of bytes")
    return bytes_


def _int32(name, given):
    try:
        value = operator.index(given)
    except TypeError:
        raise TypeError(f"{name}={given!r}: not an integer") from None
    if not -2**31 <= value < 2**31:
        raise ValueError(f"{name}={given!r}: beyond 32 bits")
    return value


def _double(name, given):
    try:
        return float(given)
    except (TypeError, ValueError):
        raise TypeError(f"{name}={given!r}: not a number") from None


def _flag(name, given):
    return _choice(name, given, {False: False, True: True})


def _path(name, given):
    try:
        path = os.fsencode(given)
    except TypeError:
        raise TypeError(f"{name}={given!r}: not a path") from None
    except UnicodeEncodeError as error:
        raise ValueError(f"{name}={given!r}: {error}") from None
    if b"\0" in path:
        raise ValueError(f"{name}={given!r}: a path ends at a null character")
    return path


def available_memory():
    """What memory="auto" means now.

    Returns the bytes that this process may have resident before a limit is in its way
    (control groups, ulimit, Slurm, free memory), and which limit that is.
    """
    found = ctypes.c_int64()
    source = ctypes.create_string_buffer(256)
    check(library().espalier_solver_available_memory(ctypes.byref(found), source,
                                                     len(source)))
    return found.value, source.value.decode()


def _warn_of(facts):
    """Says in the caller's line, outside of this file, why a solution is doubted."""
    why = []
    if facts.doubts & _DOUBT_BACKWARD_ERROR:
        why.append("it is not the solution of this system (backward error "
                   f"{facts.backward_error:.1e})")
    if facts.doubts & _DOUBT_FORWARD_ERROR:
        why.append("its error may be a tenth of it or more (bound "
                   f"{facts.forward_error_bound:.1e})")
    level, frame = 2, sys._getframe(1)
    while frame is not None and frame.f_globals is globals():
        level, frame = level + 1, frame.f_back
    warnings.warn("the solution is not to be trusted: " + "; ".join(why),
                  UntrustedSolutionWarning, stacklevel=level)


class _Interrupts:
    """Notes SIGINT in a block, and lets its handler have it at the end.

    Python runs handlers in the main thread, between steps of Python: while the library
    works, that is when it calls back. An exception would be lost there.
    """

    def __init__(self):
        self._came = None
        self._handler = None

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if callable(handler):
                self._handler = handler
                signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, *arguments):
        self._came = arguments

    def came(self, _context, _done):
        return int(self._came is not None)

    def __exit__(self, *_exception):
        if self._handler is None:
            return
        signal.signal(signal.SIGINT, self._handler)
        if self._came is not None:
            self._handler(*self._came)


class Factorized:
    """A factored matrix: call it with right-hand sides, or use `solve`.

    Made by `factorized`. Its memory is given back by `close`, at the end of a `with`
    block, or with the object. One thread at a time may use it; others wait.
    """

    def __init__(self, A, memory=None, *, kind="auto", precision="double", scaling="auto",
                 ordering="auto", order=None, workers=0, refine=True,
                 residual=True, estimate_errors=False, pivot_threshold=0.0, out_of_core=None,
                 runtime="auto", schur=None, low_rank=0.0, _singular=False):
        self._handle = None
        self._closed = False
        self._singular = _singular  # whether the matrix may be
        self._lock = threading.RLock()
        self._matrix = matrix = _arrays.Matrix(A)
        self._options = options = Options()
        options.size = ctypes.sizeof(options)
        options.kind = _choice("kind", kind, _KINDS)
        options.precision = _choice("precision", precision, _PRECISIONS)
        options.scaling = _choice("scaling", scaling, _SCALINGS)
        options.ordering = _choice("ordering", ordering, _ORDERINGS)
        options.runtime = _choice("runtime", runtime, _RUNTIMES)
        options.workers = _int32("workers", workers)
        options.estimate_errors = _flag("estimate_errors", estimate_errors)
        refine, residual = _flag("refine", refine), _flag("residual", residual)
        options.no_refinement = 2 if not residual else 1 if not refine else 0
        options.pivot_threshold = _double("pivot_threshold", pivot_threshold)
        options.low_rank = _double("low_rank", low_rank)
        if out_of_core is not None:
            options.out_of_core = _path("out_of_core", out_of_core)
        self._order = None
        if order is not None:
            self._order = _arrays.Array(order, "i", "order")
            options.order = self._order.pointer
        if schur is not None:
            self._schur = _arrays.Array(schur, "i", "schur")
            options.schur = self._schur.pointer
            options.schur_count = len(self._schur)
        self._bound = _bound(memory)
        self._symmetry = {"auto": _arrays.WHOLE_OR_GENERAL,
                          "general": _arrays.GENERAL}.get(kind, _arrays.WHOLE)
        self._analyse()
        self._finish(library().espalier_solver_factorise)

    def _analyse(self):
        if self._order is not None and len(self._order) != self._matrix.order:
            raise ValueError(f"order has {len(self._order)} entries for a matrix of order "
                             f"{self._matrix.order}")
        given = Input()
        self._matrix.fill(given, self._symmetry)
        handle = ctypes.c_void_p()
        with _Interrupts() as interrupts:
            self._options.progress = Progress(interrupts.came)
            try:
                check(library().espalier_solver_analyse(
                    ctypes.byref(handle), ctypes.byref(given),
                    ctypes.byref(self._options)))
                self._handle = handle
                self._pattern = self._matrix.pattern()
                self._matrix.let_go()
                self._plan()
                library().espalier_solver_set_progress(handle, Progress(), None)
            except BaseException:
                self._give_back()
                raise
            finally:
                self._options.progress = Progress()

    def _plan(self):
        code = library().espalier_solver_plan(self._handle, self._bound)
        if code == -errno.ENOMEM:
            raise BoundError(last_error(), self.least)
        check(code)

    def _interruptible(self, call, *arguments):
        """Calls the library with the handle, so that Ctrl-C ends it. Returns the code, and
        of one that is negative its text."""
        with _Interrupts() as interrupts:
            callback = Progress(interrupts.came)
            check(library().espalier_solver_set_progress(self._handle, callback, None))
            try:
                code = call(self._handle, *arguments)
                return code, last_error() if code < 0 else ""
            finally:
                library().espalier_solver_set_progress(self._handle, Progress(), None)

    def _finish(self, call, *arguments):
        code, text = self._interruptible(call, *arguments)
        if code == -errno.EDOM:
            raise NotPositiveDefiniteError(text, self._read().failed_column)
        if code < 0:
            raise exception_of(code, text)
        facts = self._read()
        self._factor_entries = facts.factor_entries
        if facts.singular and not self._singular:
            raise SingularError(f"the matrix of order {facts.order} is singular to working "
                                f"precision: its rank is about {facts.rank}", facts.rank)

    def factorise(self, A):
        """Factors another matrix; of the same pattern without analysing again. Where that is
        refused or interrupted there may be no factor until the next call has ended."""
        with self._lock:
            self._need_open(factored=False)
            matrix = _arrays.Matrix(A)
            if self._handle is not None and self._pattern == matrix.pattern():
                try:
                    self._finish(library().espalier_solver_factorise_values,
                                 matrix.values.pointer, matrix.entries)
                    return self
                except ValueError:
                    if self._symmetry != _arrays.WHOLE_OR_GENERAL:
                        raise
                    # It may have been symmetric before: analysed again.
            self._give_back()  # what is analysed now may need the memory
            self._matrix = matrix
            self._analyse()
            self._finish(library().espalier_solver_factorise)
            return self

    def solve(self, b, trans="N"):
        """x of A x = b, with trans="T" of A^T x = b, with "H" of A^H x = b.

        b: a vector, or a matrix of right-hand sides as its columns; it is not changed. A
        complex one of a real matrix is solved for its parts.
        """
        if not self._matrix.complex and _arrays.is_complex(b):
            real, imaginary = _arrays.parts(b)
            return self.solve(real, trans) + 1j * self.solve(imaginary, trans)
        transposed = _choice("trans", trans,
                             {"N": 0, "T": 1, "H": 2 if self._matrix.complex else 1})
        with self._lock:
            self._need_open()
            vectors = _arrays.Vectors(b, self._matrix.order, self._matrix.complex)
            n = max(self._matrix.order, 1)
            self._check_soon(vectors.columns, library().espalier_solver_solve_block,
                             transposed, vectors.columns, vectors.address, n,
                             vectors.address, n)
            facts = self._read()
            if facts.doubts & _DOUBT_SINGULAR:
                raise SingularError("the matrix is singular to working precision")
            if facts.doubts:
                _warn_of(facts)
            return vectors.result

    __call__ = solve

    def _check_soon(self, vectors, call, *arguments):
        """Calls what solves for so many vectors; Ctrl-C ends it where it takes long."""
        if self._factor_entries * vectors <= _SOON:
            return check(call(self._handle, *arguments))
        self._check_ended(call, *arguments)

    def _check_ended(self, call, *arguments):
        """Calls the library; Ctrl-C ends it."""
        code, text = self._interruptible(call, *arguments)
        if code < 0:
            raise exception_of(code, text)

    def schur(self):
        """The dense Schur complement on the variables that `schur` named, in their order:
        A[k, k] - A[k, i] inv(A[i, i]) A[i, k], with i all others. A NumPy array, or
        without NumPy an array.array of its columns one after the other."""
        count = self._options.schur_count
        with self._lock:
            self._need_open()
            block = _arrays.Block(count, count, self._matrix.complex)
            check(library().espalier_solver_read_schur(self._handle, block.address,
                                                       max(count, 1)))
        return block.result

    def inverse_entries(self, rows, columns):
        """Entries (rows[k], columns[k]) of inv(A), as an array, without the rest of it.

        Each distinct column costs a pass through the fronts between its own and the root;
        nothing is refined. `inverse_diagonal()` has all of the diagonal.
        """
        rows = _arrays.Array(rows, "i", "rows")
        columns = _arrays.Array(columns, "i", "columns")
        if len(rows) != len(columns):
            raise ValueError(f"{len(rows)} rows and {len(columns)} columns")
        with self._lock:
            self._need_open()
            block = _arrays.Block(len(rows), 1, self._matrix.complex)
            self._check_soon(len(rows), library().espalier_solver_read_inverse, len(rows),
                             rows.pointer, columns.pointer, block.address)
        result = block.result
        return result.ravel() if hasattr(result, "ravel") else result

    def inverse_diagonal(self):
        """The diagonal of inv(A): variances, where A is the inverse of a covariance."""
        places = range(self._matrix.order)
        return self.inverse_entries(list(places), list(places))

    def slogdet(self):
        """Sign and logarithm of the modulus of the determinant, as numpy.linalg.slogdet:
        of one that is far outside of what a float holds, too. Of a complex matrix the
        first is a number of modulus 1."""
        if self._matrix.complex:
            return self._complex_slogdet()
        mantissa, exponent = ctypes.c_double(), ctypes.c_int64()
        with self._lock:
            self._need_open()
            check(library().espalier_solver_read_determinant(
                self._handle, ctypes.byref(mantissa), ctypes.byref(exponent)))
        if mantissa.value == 0:
            return 0.0, -math.inf
        return (math.copysign(1.0, mantissa.value),
                math.log(abs(mantissa.value)) + exponent.value * math.log(2))

    def _complex_slogdet(self):
        mantissa, exponent = ctypes.c_double(), ctypes.c_int64()
        argument = ctypes.c_double()
        with self._lock:
            self._need_open()
            check(library().espalier_solver_read_complex_determinant(
                self._handle, ctypes.byref(mantissa), ctypes.byref(exponent),
                ctypes.byref(argument)))
        if mantissa.value == 0:
            return 0j, -math.inf
        return (cmath.rect(1.0, argument.value),
                math.log(mantissa.value) + exponent.value * math.log(2))

    def _null_space(self, transposed):
        with self._lock:
            n, count = self._matrix.order, self._read().null_space
            block = _arrays.Block(n, count, self._matrix.complex)
            check(library().espalier_solver_read_null_space(self._handle, transposed,
                                                            block.address, max(n, 1)))
            return block.result

    def save(self, path):
        """Writes the factorisation to a file, for `espalier solve --factor`. Ctrl-C ends it,
        and an older file of that name stays."""
        with self._lock:
            self._need_open()
            self._check_ended(library().espalier_solver_save, _path("path", path))

    def close(self):
        """Gives the memory back; nothing can be solved afterwards."""
        with self._lock:
            self._closed = True
            self._give_back()

    def _give_back(self):
        handle, self._handle = self._handle, None
        if handle is not None:
            library().espalier_solver_destroy(handle)

    def _need_open(self, factored=True):
        if self._closed:
            raise ValueError("this factorisation is closed")
        if factored and self._handle is None:
            raise ValueError("there is no factor: the last factorise() has not ended")

    def _read(self):
        self._need_open()
        facts = Statistics()
        facts.size = ctypes.sizeof(facts)
        check(library().espalier_solver_read_statistics(self._handle,
                                                        ctypes.byref(facts)))
        return facts

    @property
    def statistics(self):
        """What is known so far, by the names of the C interface, as a dict."""
        with self._lock:
            facts = self._read()
        return {name: getattr(facts, name) for name, _ in Statistics._fields_
                if name != "size"}

    @property
    def shape(self):
        """Of the matrix."""
        return (self._matrix.order, self._matrix.order)

    @property
    def least(self):
        """The least bound in bytes on the memory of this process that suffices."""
        with self._lock:
            self._need_open()
            in_core, out_of_core = ctypes.c_int64(), ctypes.c_int64()
            check(library().espalier_solver_least(
                self._handle, ctypes.byref(in_core), ctypes.byref(out_of_core)))
        if out_of_core.value < 0:
            return in_core.value
        return min(in_core.value, out_of_core.value)

    @property
    def negative_eigenvalues(self):
        """Of a symmetric matrix: how many of its eigenvalues are negative."""
        return self.statistics["negative_pivots"]

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self.close()

    def __reduce__(self):
        raise TypeError("a Factorized holds memory of the library and cannot be copied")

    def __del__(self):
        if getattr(self, "_handle", None) is not None:
            self.close()

    def __repr__(self):
        state = ("closed" if self._closed else
                 "without a factor" if self._handle is None else "factored")
        return f"<espalier.Factorized, order {self._matrix.order}, {state}>"


def factorized(A, memory=None, **options):
    """Factors a sparse matrix inside a bound on the memory of this process.

    A        a SciPy matrix or array in one of the forms csc, csr and coo, of float64 or
             complex128 with indices of 32 or 64 bits: not copied before it is analysed.
             Others are converted. Without SciPy a tuple (data, indices, indptr) of compressed columns
    memory   bytes that may be resident in the process, as a number or "2GiB"; "min" for
             the least that suffices, "auto" for what limits leave (`available_memory`);
             None: no bound
    kind     "auto": Cholesky or L D L^T where A is symmetric or Hermitian, else L U; or
             "spd", "symmetric", "general"
    precision  of the factor, "double" or "single"; solutions are refined in double
    scaling  "auto", "none", "equilibrate", "matching"
    ordering "auto", "nd", "metis", "scotch", "amd", "natural"
    order    instead: a permutation, order[k] is eliminated as the k-th
    workers  threads; 0: one a core. Solvers alive at the same time share them
    refine   whether solutions are refined
    residual whether their errors are found out; False: as a preconditioner, which is not
             refined either
    estimate_errors  whether the condition is estimated with each solve, see `statistics`
    pivot_threshold  in (0, 1]; 0: 0.01
    out_of_core  a directory for what does not fit in the bound
    runtime  "auto": small systems are solved without StarPU; "starpu", "none"
    schur    variables that are not eliminated: `Factorized.schur` is what is left for them.
             Everything else is then about the others' block: right-hand sides are not
             read at these variables, and solutions are 0 there

    low_rank what a block of the factor may lose when it is compressed, as a part of the
             factor's norm, in (0, 1): block low rank, of "spd" alone and in core, not with
             runtime "none"; 0: none

    Returns a `Factorized`; use it in a `with` block, or call `close`, where memory
    matters.

    Raises BoundError (a MemoryError) when the bound is too small, with what suffices;
    SingularError, NotPositiveDefiniteError (numpy.linalg.LinAlgError); ValueError naming
    the argument that cannot be. Solutions that are not to be trusted come with an
    UntrustedSolutionWarning; `statistics["doubts"]` has why. Ctrl-C ends an analysis, a factorisation and a solve with
    KeyboardInterrupt; not before a library's ordering has ended, of which "nd" is none.
    """
    return Factorized(A, memory, **options)


def null_space(A, memory=None, transposed=False, **options):
    """An orthonormal basis of the null space of A, or of its transpose, of the dimension
    that the factorisation finds: a NumPy array with a vector in each column, without NumPy
    an array.array of them one after the other. Options as those of `factorized`."""
    transposed = int(_flag("transposed", transposed))
    with Factorized(A, memory, _singular=True, **options) as solver:
        return solver._null_space(transposed)


def spsolve(A, b, memory=None, **options):
    """x of A x = b: factors, solves and gives the memory back. As `factorized`."""
    with Factorized(A, memory, **options) as solver:
        return solver.solve(b)
