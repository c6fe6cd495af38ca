"""What goes wrong, as Python has it."""

import errno

try:
    from numpy.linalg import LinAlgError
except ImportError:
    class LinAlgError(ValueError):
        """NumPy's, where NumPy is there."""


class BoundError(MemoryError):
    """The bound on the memory is too small; the text and `least` say what suffices."""

    def __init__(self, text, least=None):
        super().__init__(text)
        self.least = least


class SingularError(LinAlgError):
    """The matrix is singular to working precision; `rank` is what was found of it."""

    def __init__(self, text, rank=None):
        super().__init__(text)
        self.rank = rank


class NotPositiveDefiniteError(LinAlgError):
    """Cholesky was asked for, and `column` has no positive pivot."""

    def __init__(self, text, column=None):
        super().__init__(text)
        self.column = column


class UntrustedSolutionWarning(RuntimeWarning):
    """A solution is not to be trusted; the text says why."""


class Busy(RuntimeError):
    """The process runs StarPU itself, or a solver with other workers; or fork() made it of
    one where a solver runs StarPU."""


def exception_of(code, text):
    """The exception for a code of the C interface."""
    if code == -errno.EINVAL:
        return ValueError(text)
    if code == -errno.ENOMEM:
        return MemoryError(text)
    if code == -errno.EDOM:
        return NotPositiveDefiniteError(text)
    if code == -errno.EBUSY:
        return Busy(text)
    if code == -errno.EOVERFLOW:
        return OverflowError(text)
    return OSError(-code, text)
