"""Sparse linear systems and memory plans inside a bound.

    import espalier
    with espalier.factorized(A, memory="2GiB") as solver:   # A: a SciPy matrix
        x = solver(b)

    x = espalier.spsolve(A, b)

    espalier.plan("job.tree", memory="min", workers=4)["makespan_ratio"]

The solver needs the shared library libespalier_solver.so, the planner functions the
program `espalier`; both are looked for beside this package, see `espalier.library_path`.
NumPy and SciPy are used where they are there, and not needed.
"""

from ._errors import (BoundError, Busy, LinAlgError, NotPositiveDefiniteError,
                      SingularError, UntrustedSolutionWarning)
from ._library import library_path, program_path, version
from ._planner import checkpoint, layout, order, plan
from ._solver import Factorized, available_memory, factorized, null_space, spsolve

__all__ = [
    "BoundError", "Busy", "Factorized", "LinAlgError", "NotPositiveDefiniteError",
    "SingularError", "UntrustedSolutionWarning", "available_memory", "checkpoint",
    "factorized", "layout", "library_path", "null_space", "order", "plan", "program_path",
    "spsolve", "version",
]
