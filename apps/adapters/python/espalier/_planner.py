"""The planner, through the program `espalier`: plain data in, plain data out."""

import contextlib
import csv
import json
import os
import pathlib
import subprocess
import tempfile

from ._library import program_path

_ANSWER_NO = 1


def _arguments(options):
    """--memory 2GiB of memory="2GiB"; flags of True; what is None or False is left out."""
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        yield option
        if value is not True:
            listed = isinstance(value, (list, tuple))
            yield ",".join(map(str, value)) if listed else str(value)


def _reason(text):
    """The program's last message. A command that works, which a line after it may show,
    is one for a shell."""
    messages = [line.removeprefix("espalier: ") for line in text.splitlines()
                if line.startswith("espalier: ")]
    return messages[-1] if messages else text.strip()


def _run(command, inputs, options):
    program = program_path()
    if program is None:
        raise FileNotFoundError("the program espalier is not beside this package nor on "
                                "the path: set ESPALIER_PROGRAM to its path")
    ran = subprocess.run([program, command, *inputs, "--json", *_arguments(options)],
                         capture_output=True, text=True, check=False)
    if ran.returncode not in (0, _ANSWER_NO):
        raise ValueError(_reason(ran.stderr) or
                         f"espalier {command} ended with status {ran.returncode}")
    return json.loads(ran.stdout)


@contextlib.contextmanager
def _as_file(given, suffix, write):
    """The path of an input: given as one, or written to a file of its own."""
    if isinstance(given, (str, os.PathLike)):
        yield os.fspath(given)
        return
    with tempfile.TemporaryDirectory(prefix="espalier-") as folder:
        path = pathlib.Path(folder) / ("input" + suffix)
        path.write_text(write(given), encoding="utf-8")
        yield str(path)


@contextlib.contextmanager
def _output(wanted):
    """A path that the program may write to; None: nothing is wanted."""
    if not wanted:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="espalier-") as folder:
        yield str(pathlib.Path(folder) / "output")


def _lines(path):
    """Of a file that was written; where the answer is no it is not there."""
    if path is None or not os.path.exists(path):
        return None
    return pathlib.Path(path).read_text(encoding="utf-8").splitlines()


def _tree_text(tree):
    return "".join(
        f"{k} {-1 if parent is None else parent} {' '.join(map(str, sizes))}\n"
        for k, (parent, *sizes) in enumerate(tree))


def plan(tree, memory="min", *, schedule=False, **options):
    """Plans a task tree, or the assembly tree of a matrix, inside a memory bound.

    tree     the path of a file (docs/manual/planning.md), or a list of tasks
             (parent, output_size, execution_size, work[, retained_size]); the parent of a
             root is -1 or None
    memory   "512MiB", "min", "x1.5", "none", or a number of bytes
    schedule True: with the order, mapping and times of all tasks as `schedule`
    options  those of `espalier plan`, with _ for -: workers=4, order="liu", …

    Returns a dict as `espalier plan --json` prints it. Where it does not fit, `feasible`
    is False and `least_bytes` suffices. Raises ValueError for bad input.
    """
    with _as_file(tree, ".tree", _tree_text) as path, _output(schedule) as table:
        answer = _run("plan", [path], {"memory": memory, "schedule": table, **options})
        lines = _lines(table)
        if lines is not None:
            answer["schedule"] = _table(lines)
        return answer


def _table(lines):
    """Rows of a table whose first line names the columns, as dicts of numbers."""
    names = lines[0].lstrip("# ").partition(";")[0].split()
    return [dict(zip(names, map(_number, line.split()))) for line in lines[1:]]


def _number(text):
    for form in (int, float):
        with contextlib.suppress(ValueError):
            return form(text)
    return text


def order(graph, *, schedule=True, **options):
    """Orders the operators of a computation graph for the least memory.

    graph    the path of a graph (ONNX, JSON, DOT: docs/manual/planning.md), or a dict as the
             JSON form has it
    schedule True: with the operators' names in order as `schedule`
    options  those of `espalier order`: timeout=10, memory="1GiB", workers=2, …

    Returns a dict as `espalier order --json` prints it.
    """
    with _as_file(graph, ".json", json.dumps) as path, _output(schedule) as table:
        answer = _run("order", [path], {"schedule": table, **options})
        lines = _lines(table)
        if lines is not None:
            answer["schedule"] = lines
        return answer


def checkpoint(chain=None, *, schedule=False, **options):
    """Plans what of a chain is stored and what is computed again, to reverse it.

    chain    the path of a chain of stages with sizes (docs/manual/checkpointing.md), or None
    schedule True: with the actions, (name, first, last, level, slot[, "tape"]), as
             `schedule`
    options  those of `espalier checkpoint`: length=1000, slots=20, or levels="ram:20",
             memory="2GiB", …

    Returns a dict as `espalier checkpoint --json` prints it.
    """
    inputs = [] if chain is None else [os.fspath(chain)]
    with _output(schedule) as table:
        answer = _run("checkpoint", inputs, {"schedule": table, **options})
        lines = _lines(table)
        if lines is not None:
            answer["schedule"] = [tuple(map(_number, line.split())) for line in lines
                                  if line and not line.startswith("#")]
        return answer


def _buffer_text(buffers):
    return "id,lower,upper,size\n" + "".join(
        f"{k},{lower},{upper},{size}\n" for k, (lower, upper, size) in enumerate(buffers))


def layout(buffers, capacity=None, *, offsets=True, **options):
    """Offsets of buffers with lifetimes in one piece of memory, of least capacity.

    buffers  the path of a CSV file (docs/manual/layout.md), or a list of (lower, upper, size)
    capacity stop at a layout of no more than this: "1MiB" or a number of bytes
    offsets  True: with the offsets in the order of the buffers as `offsets`
    options  those of `espalier layout`: timeout="10s", alignment=64, …

    Returns a dict as `espalier layout --json` prints it.
    """
    with _as_file(buffers, ".csv", _buffer_text) as path, _output(offsets) as table:
        answer = _run("layout", [path], {"capacity": capacity, "out": table, **options})
        lines = _lines(table)
        if lines is not None:
            answer["offsets"] = [int(row["offset"]) for row in csv.DictReader(lines)]
        return answer
