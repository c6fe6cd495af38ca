"""Schedules that `espalier checkpoint --schedule FILE` wrote, as the classes that users of
the Python package checkpoint_schedules know: Forward, Reverse, Copy, Move, EndForward and
EndReverse with the same arguments, from an iterator. An adjoint driver that is written
against that package runs on these with the import changed.

    python3 espalier_schedule.py FILE      replays the file and prints its forward steps

Level 0 is StorageType.RAM, every other level DISK; WORK is the working state. In these
schedules a Reverse is preceded by a Forward over its step that stores the adjoint's
dependencies (in FILE that step is part of the Reverse).
"""

import sys
from collections import namedtuple
from enum import Enum


class StorageType(Enum):
    RAM = 0
    DISK = 1
    WORK = -1
    NONE = None


Forward = namedtuple("Forward", "n0 n1 write_ics write_adj_deps storage")
Reverse = namedtuple("Reverse", "n1 n0 clear_adj_deps")
Copy = namedtuple("Copy", "n from_storage to_storage")
Move = namedtuple("Move", "n from_storage to_storage")
EndForward = namedtuple("EndForward", "")
EndReverse = namedtuple("EndReverse", "")


def _storage(level):
    if level < 0:
        return StorageType.NONE
    return StorageType.RAM if level == 0 else StorageType.DISK


class Schedule:
    """Iterates over the actions of a file (not of --online, which gives up stored states,
    nor of a chain whose stages keep tapes: the package has no word for either)."""

    def __init__(self, path):
        self.path = path
        self.max_n = None
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                if not line.startswith("#"):
                    break
                words = line[1:].split()
                if words[:1] == ["steps"]:
                    self.max_n = int(words[1])

    def __iter__(self):
        turned = False
        with open(self.path, encoding="utf-8") as lines:
            for line in lines:
                words = line.split("#")[0].split()
                if not words:
                    continue
                if words[-1] == "tape":
                    raise ValueError("it keeps tapes, for which the package has no word")
                first, last, level = int(words[1]), int(words[2]), int(words[3])
                if words[0] == "Forward":
                    yield Forward(first, last, level >= 0, False, _storage(level))
                elif words[0] == "Copy":
                    yield Copy(first, _storage(level), StorageType.WORK)
                elif words[0] == "Move":
                    yield Move(first, _storage(level), StorageType.WORK)
                elif words[0] == "Reverse":
                    yield Forward(first, last, False, True, StorageType.WORK)
                    if not turned:
                        yield EndForward()
                    turned = True
                    yield Reverse(last, first, True)
                elif words[0] == "EndReverse":
                    yield EndReverse()


def replay(schedule):
    """Runs a schedule on nothing; the forward steps beside those that keep dependencies.

    Raises ValueError when an action cannot be carried out.
    """

    def need(condition, action):
        if not condition:
            raise ValueError(f"cannot be carried out: {action}")

    stored = {StorageType.RAM: set(), StorageType.DISK: set()}
    working, adjoint, dependencies, forwards = 0, schedule.max_n, None, 0
    ended = False
    for action in schedule:
        need(not ended, action)
        if isinstance(action, Forward):
            need(working == action.n0 < action.n1 <= adjoint, action)
            if action.write_ics:
                stored[action.storage].add(action.n0)
            if action.write_adj_deps:
                dependencies = action.n0
            else:
                forwards += action.n1 - action.n0
            working = action.n1
        elif isinstance(action, (Copy, Move)):
            need(action.n in stored[action.from_storage], action)
            if isinstance(action, Move):
                stored[action.from_storage].remove(action.n)
            working = action.n
        elif isinstance(action, Reverse):
            need(dependencies == action.n0 == adjoint - 1, action)
            adjoint, dependencies = action.n0, None
        elif isinstance(action, EndReverse):
            need(adjoint == 0 and not any(stored.values()), action)
            ended = True
    if not ended:
        raise ValueError("the schedule has no end")
    return forwards


if __name__ == "__main__":
    try:
        print(replay(Schedule(sys.argv[1])))
    except (OSError, ValueError) as error:
        sys.exit(f"{sys.argv[1]}: {error}")
