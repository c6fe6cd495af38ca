"""Matrices and vectors of the caller as addresses, without copies where that can be."""

import array
import ctypes
import hashlib

try:
    import numpy
except ImportError:
    numpy = None

GENERAL, SYMMETRIC, WHOLE, WHOLE_OR_GENERAL = range(4)
_FORMATS = {"csc": 0, "csr": 1, "coo": 2}


def _integers(numbers, code, name):
    """As an array of integers that the type of `code` can hold."""
    given = numpy.asarray(numbers)
    if given.ndim != 1:
        raise TypeError(f"{name}: {numbers!r:.60}, not integers in a row")
    if given.size and given.dtype.kind not in "iu":
        raise TypeError(f"{name}: {given.dtype}, not integers")
    holds = numpy.iinfo(code)
    if given.size and not numpy.can_cast(given.dtype, code):
        for each in (given.min(), given.max()):
            if not holds.min <= each <= holds.max:
                raise ValueError(f"{name} has {each}: beyond {holds.bits} bits")
    return numpy.ascontiguousarray(given, dtype=code)


def _numbers(given, name, code=None):
    """As an array, of floats or complex numbers where `code` says so, which is a copy only
    where it has to be. Text and times are no numbers, and NumPy would take them for some."""
    try:
        numbers = numpy.asarray(given)
        if numbers.dtype.kind not in "biufcO":
            raise TypeError(f"{numbers.dtype}, not numbers")
        if numpy.ma.is_masked(given):
            raise ValueError("some entries are masked")
        return numpy.asarray(numbers, dtype=code)
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


class Array:
    """Numbers in a row: their address, and what keeps them alive.

    code: of the type, integers where it is "i" or "q"; name: what refusals call them
    """

    def __init__(self, numbers, code, name="numbers"):
        if numpy is not None:
            self.owner = (_integers(numbers, code, name) if code in "iq" else
                          numpy.ascontiguousarray(_numbers(numbers, name, code)))
            if self.owner.ndim != 1:
                raise ValueError(f"{name} has {self.owner.ndim} dimensions, not one")
            self.address = self.owner.ctypes.data
        else:
            same = isinstance(numbers, array.array) and numbers.typecode == code
            try:
                self.owner = numbers if same else array.array(code, numbers)
            except (OverflowError, TypeError) as error:
                raise ValueError(f"{name}: {error}") from None
            self.address = self.owner.buffer_info()[0]

    def __len__(self):
        return len(self.owner)

    @property
    def pointer(self):
        return ctypes.c_void_p(self.address) if len(self.owner) else None


def _is_long(numbers):
    """Whether indices are of 64 bits already; others are taken as 32 bits."""
    if numpy is not None:
        return numpy.asarray(numbers).dtype == numpy.int64
    return getattr(numbers, "typecode", "i") in "lq"


def is_complex(numbers):
    """Whether these numbers, in an array, a list or a sparse matrix, are complex."""
    return numpy is not None and numpy.iscomplexobj(numbers)


def parts(numbers):
    """The real and the imaginary parts of complex ones, as arrays."""
    if hasattr(numbers, "toarray"):
        numbers = numbers.toarray()
    numbers = _numbers(numbers, "b")
    return numbers.real, numbers.imag


class Matrix:
    """A square matrix in one of SciPy's forms csc, csr and coo, real or complex.

    Takes whatever has `format`, `shape`, `data` and the index arrays of that format, as
    SciPy's matrices and arrays do; anything else that SciPy can turn into csc; without
    SciPy a tuple (data, indices, indptr) of compressed columns.
    """

    def __init__(self, matrix):
        matrix = _with_format(matrix)
        rows, columns = matrix.shape
        if rows != columns:
            raise ValueError(f"a matrix of {rows} rows and {columns} columns: not square")
        self.order = rows
        self.format = matrix.format
        self.complex = is_complex(matrix.data)
        self.values = Array(matrix.data, "D" if self.complex else "d", "data")
        if self.format == "coo":
            given = {"rows": matrix.row, "columns": matrix.col}
        elif self.format == "csc":
            given = {"starts": matrix.indptr, "rows": matrix.indices}
        else:
            given = {"starts": matrix.indptr, "columns": matrix.indices}
        self.long = any(_is_long(each) for each in given.values())
        code = "q" if self.long else "i"
        theirs = self._THEIR_NAMES[self.format]
        self.indices = {name: Array(each, code, theirs[name])
                        for name, each in given.items()}
        self.entries = self._checked_entries()

    # Of the arrays of indices, by the names of the C interface.
    _THEIR_NAMES = {"coo": {"rows": "row", "columns": "col"},
                    "csc": {"starts": "indptr", "rows": "indices"},
                    "csr": {"starts": "indptr", "columns": "indices"}}

    def _checked_entries(self):
        """How many there are; the library reads so many, and so many offsets."""
        entries = len(self.values)
        if "starts" in self.indices:
            starts = self.indices["starts"].owner
            if len(starts) != self.order + 1:
                raise ValueError(f"indptr has {len(starts)} entries for an order of "
                                 f"{self.order}")
            if starts[-1] > entries:
                raise ValueError(f"indptr ends with {starts[-1]}: there are {entries} "
                                 "entries")
            entries = max(int(starts[-1]), 0)
        for name, each in self.indices.items():
            if name != "starts" and len(each) < entries:
                raise ValueError(f"{self._THEIR_NAMES[self.format][name]} has {len(each)} "
                                 f"entries: there are {entries} of the matrix")
        return entries

    def pattern(self):
        """A digest of where the entries stand, in order. It is what later matrices are
        compared with: the caller's arrays may be another matrix's by then, since SciPy
        sorts indices in place."""
        digest = hashlib.blake2b(repr((self.order, self.format, self.complex,
                                       self.entries)).encode(), digest_size=16)
        for name in sorted(self.indices):
            count = self.order + 1 if name == "starts" else self.entries
            for first in range(0, count, _DIGESTED_AT_ONCE):
                last = min(first + _DIGESTED_AT_ONCE, count)
                digest.update(_of_64_bits(self.indices[name].owner[first:last]))
        return digest.digest()

    def let_go(self):
        """Of the caller's arrays, whose memory is the caller's to give back."""
        self.values = self.indices = None

    def fill(self, into, symmetry):
        """Fills an Input, which must not outlive this object."""
        into.size = ctypes.sizeof(into)
        into.order = self.order
        into.entries = self.entries
        into.format = _FORMATS[self.format]
        into.symmetry = symmetry
        into.index_bits = 64 if self.long else 32
        into.values = self.values.pointer
        into.scalar = int(self.complex)
        for name, each in self.indices.items():
            setattr(into, name, each.pointer)


# Indices.
_DIGESTED_AT_ONCE = 2**20


def _of_64_bits(indices):
    return indices.astype("q") if numpy is not None else array.array("q", indices)


class _Columns:
    """Compressed columns given as a tuple."""
    format = "csc"

    def __init__(self, data, indices, indptr):
        if len(indptr) == 0:
            raise ValueError("indptr is empty: of order 0 it is [0]")
        self.data, self.indices, self.indptr = data, indices, indptr
        self.shape = (len(indptr) - 1, len(indptr) - 1)


def _with_format(matrix):
    if isinstance(matrix, tuple) and len(matrix) == 3:
        return _Columns(*matrix)
    if getattr(matrix, "format", None) in _FORMATS:
        return matrix
    try:
        import scipy.sparse
        return scipy.sparse.csc_matrix(matrix)
    except (ImportError, TypeError, ValueError):
        raise TypeError(f"{type(matrix).__name__}: not a matrix in one of the forms "
                        "csc, csr and coo") from None


class Vectors:
    """Right-hand sides, copied to where the solver leaves the solutions."""

    def __init__(self, b, order, complex_=False):
        if hasattr(b, "toarray"):
            b = b.toarray()
        if numpy is None:
            try:
                self.result = array.array("d", b)
            except TypeError as error:
                raise TypeError(f"b: {error}") from None
            self.columns, entries = 1, len(self.result)
            self.address = self.result.buffer_info()[0]
        else:
            # By columns, a copy in any case.
            self.result = numpy.array(_numbers(b, "b", "D" if complex_ else "d"),
                                      order="F", copy=True)
            if self.result.ndim not in (1, 2):
                raise ValueError(f"b: right-hand sides of {self.result.ndim} dimensions")
            self.columns = self.result.shape[1] if self.result.ndim == 2 else 1
            entries = self.result.shape[0]
            self.address = self.result.ctypes.data
        if entries != order:
            raise ValueError(f"b: right-hand sides of {entries} rows for a matrix of "
                             f"order {order}")


class Block:
    """Zeros for a dense matrix that the solver fills, by columns."""

    def __init__(self, rows, columns, complex_=False):
        if numpy is None:
            self.result = array.array("d", bytes(8 * rows * columns))
            self.address = self.result.buffer_info()[0]
        else:
            self.result = numpy.zeros((rows, columns), dtype="D" if complex_ else "d",
                                      order="F")
            self.address = self.result.ctypes.data
        self.address = self.address or None
