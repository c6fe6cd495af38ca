"""The shared library and the program, and where they are."""

import ctypes
import functools
import os
import pathlib
import shutil
import sysconfig

from ._errors import exception_of

_LIBRARY = "libespalier_solver.so.0"
_HERE = pathlib.Path(__file__).resolve().parent


def _found(variable, candidates, name):
    given = os.environ.get(variable)
    if given:
        return given
    for candidate in candidates:
        if candidate.is_file():
            return str(candidate)
    return name


def library_path():
    """The shared library that is loaded: $ESPALIER_LIBRARY, the one of the tree that this
    package is in, or what the loader finds."""
    # A build tree has it two folders up; an installed one in a library folder.
    machine = sysconfig.get_config_var("MULTIARCH") or ""
    beside = [above / folder / _LIBRARY for above in [_HERE, *_HERE.parents[:4]]
              for folder in ("", machine)]
    return _found("ESPALIER_LIBRARY", beside, _LIBRARY)


def program_path():
    """The program that plans: $ESPALIER_PROGRAM, the one of the tree that this package is
    in, or the one on the path. None: there is none."""
    beside = [above / name for above in _HERE.parents[:6]
              for name in ("espalier", "bin/espalier")]
    found = _found("ESPALIER_PROGRAM",
                   [path for path in beside if os.access(path, os.X_OK)], "espalier")
    return shutil.which(found)


class Input(ctypes.Structure):
    """espalier_solver_input"""
    _fields_ = [("size", ctypes.c_size_t), ("order", ctypes.c_int64),
                ("entries", ctypes.c_int64), ("format", ctypes.c_int32),
                ("symmetry", ctypes.c_int32), ("index_bits", ctypes.c_int32),
                ("index_base", ctypes.c_int32), ("starts", ctypes.c_void_p),
                ("rows", ctypes.c_void_p), ("columns", ctypes.c_void_p),
                ("values", ctypes.c_void_p), ("scalar", ctypes.c_int32)]


Progress = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_double)


class Options(ctypes.Structure):
    """espalier_solver_options"""
    _fields_ = [("size", ctypes.c_size_t), ("kind", ctypes.c_int32),
                ("precision", ctypes.c_int32), ("scaling", ctypes.c_int32),
                ("ordering", ctypes.c_int32), ("workers", ctypes.c_int32),
                ("estimate_errors", ctypes.c_int32), ("no_refinement", ctypes.c_int32),
                ("runtime", ctypes.c_int32), ("pivot_threshold", ctypes.c_double),
                ("delay_reserve", ctypes.c_int64), ("out_of_core", ctypes.c_char_p),
                ("order", ctypes.c_void_p), ("budget", ctypes.c_void_p),
                ("lease_seconds", ctypes.c_double), ("schur", ctypes.c_void_p),
                ("schur_count", ctypes.c_int64), ("low_rank", ctypes.c_double),
                ("communicator", ctypes.c_void_p), ("factor_parts", ctypes.c_int32),
                ("front_grids", ctypes.c_int32), ("progress", Progress),
                ("progress_context", ctypes.c_void_p)]


class Statistics(ctypes.Structure):
    """espalier_solver_statistics"""
    _fields_ = [("size", ctypes.c_size_t), ("order", ctypes.c_int32),
                ("kind", ctypes.c_int32), ("precision", ctypes.c_int32),
                ("structural_rank", ctypes.c_int32), ("factor_entries", ctypes.c_int64),
                ("factor_flops", ctypes.c_double), ("analyse_seconds", ctypes.c_double),
                ("factor_seconds", ctypes.c_double), ("solve_seconds", ctypes.c_double),
                ("refine_seconds", ctypes.c_double), ("baseline_bytes", ctypes.c_int64),
                ("booked_peak", ctypes.c_int64), ("allocated_peak", ctypes.c_int64),
                ("factor_growth", ctypes.c_int64), ("peak_resident", ctypes.c_int64),
                ("bytes_written", ctypes.c_int64), ("bytes_read", ctypes.c_int64),
                ("delayed_pivots", ctypes.c_int64), ("perturbed_pivots", ctypes.c_int64),
                ("null_space", ctypes.c_int64), ("negative_pivots", ctypes.c_int64),
                ("two_by_two_pivots", ctypes.c_int64), ("failed_column", ctypes.c_int32),
                ("refinement_steps", ctypes.c_int32), ("gmres_steps", ctypes.c_int32),
                ("doubts", ctypes.c_int32), ("backward_error", ctypes.c_double),
                ("condition_1norm", ctypes.c_double),
                ("forward_error_bound", ctypes.c_double), ("advice", ctypes.c_char_p),
                ("singular", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("scalar", ctypes.c_int32)]


_ARGUMENTS = {
    "analyse": [ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(Input),
                ctypes.POINTER(Options)],
    "destroy": [ctypes.c_void_p],
    "least": [ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64),
              ctypes.POINTER(ctypes.c_int64)],
    "plan": [ctypes.c_void_p, ctypes.c_int64],
    "factorise": [ctypes.c_void_p],
    "factorise_values": [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64],
    "solve_block": [ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p,
                    ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64],
    "set_progress": [ctypes.c_void_p, Progress, ctypes.c_void_p],
    "read_statistics": [ctypes.c_void_p, ctypes.POINTER(Statistics)],
    "parse_memory": [ctypes.c_char_p, ctypes.POINTER(ctypes.c_int64)],
    "available_memory": [ctypes.POINTER(ctypes.c_int64), ctypes.c_char_p,
                         ctypes.c_size_t],
    "save": [ctypes.c_void_p, ctypes.c_char_p],
    "read_determinant": [ctypes.c_void_p, ctypes.POINTER(ctypes.c_double),
                         ctypes.POINTER(ctypes.c_int64)],
    "read_complex_determinant": [ctypes.c_void_p, ctypes.POINTER(ctypes.c_double),
                                 ctypes.POINTER(ctypes.c_int64),
                                 ctypes.POINTER(ctypes.c_double)],
    "read_schur": [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64],
    "read_inverse": [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p,
                     ctypes.c_void_p],
    "read_null_space": [ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64],
}


@functools.lru_cache(maxsize=None)
def library():
    """The C interface, loaded by the first call."""
    path = library_path()
    try:
        loaded = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"{error}; set ESPALIER_LIBRARY to the path of {_LIBRARY}",
                          path=path) from error
    for name, arguments in _ARGUMENTS.items():
        function = getattr(loaded, "espalier_solver_" + name)
        function.argtypes = arguments
        function.restype = None if name == "destroy" else ctypes.c_int
    for name in ("last_error", "version"):
        function = getattr(loaded, "espalier_solver_" + name)
        function.argtypes = []
        function.restype = ctypes.c_char_p
    return loaded


def version():
    """Of the library, as "0.1.0"."""
    return library().espalier_solver_version().decode()


def last_error():
    return library().espalier_solver_last_error().decode()


def check(code):
    """@raise the exception of a negative code"""
    if code < 0:
        raise exception_of(code, last_error())
