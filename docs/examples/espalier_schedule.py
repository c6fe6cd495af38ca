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


ACTIONS = ("Forward", "Copy", "Move", "Reverse", "EndForward", "EndReverse")


class Slots:
    """What the slots of a file hold while it is read: the package's actions have no slots."""

    def __init__(self):
        self.of_level, self.state = [], {}

    def use(self, action, first, level, slot):
        if action not in ("Forward", "Copy", "Move") or (action == "Forward" and level == -1):
            return
        if not (0 <= level < len(self.of_level) and 0 <= slot < self.of_level[level]):
            raise ValueError(f"there is no slot {slot} of level {level}")
        held = self.state.get((level, slot))
        if action == "Forward":
            if held is not None:
                raise ValueError(f"slot {slot} of level {level} holds x_{held} still")
            self.state[level, slot] = first
        elif held != first:
            raise ValueError(f"slot {slot} of level {level} does not hold x_{first}")
        elif action == "Move":
            del self.state[level, slot]


class Schedule:
    """Iterates over the actions of a file (not of --online, which gives up stored states,
    nor of a chain whose stages keep tapes: the package has no word for either).

    Raises ValueError, with the number of the line, for what is no such file."""

    def __init__(self, path):
        self.path, self.line, self.max_n = path, 0, None
        for _ in self._lines():
            break
        if self.max_n is None:
            raise ValueError("1: expected '# steps N'")

    def _lines(self):
        """(action, first, last, level, slot) of each line; before the first, the steps."""
        self.slots, self.turned = Slots(), False
        with open(self.path, encoding="utf-8", errors="replace") as lines:
            for self.line, line in enumerate(lines, 1):
                words = line.split()
                try:
                    if words[:2] == ["#", "steps"]:
                        self.max_n = int(words[2])
                    elif words[:2] == ["#", "level"]:
                        self.slots.of_level.append(int(words[-1]))
                    elif words and not words[0].startswith("#"):
                        yield self._action(line.split("#")[0].split())
                except (IndexError, ValueError) as error:
                    raise ValueError(f"{self.line}: {error}") from error

    def _action(self, words):
        if words[-1] == "tape":
            raise ValueError("it keeps tapes, for which the package has no word")
        if words[0] not in ACTIONS or len(words) != 5:
            raise ValueError("expected an action, first, last, level and slot")
        first, last, level, slot = map(int, words[1:])
        if words[0] in ("Copy", "Move") and last != first:
            raise ValueError(f"one state has two numbers: {first} and {last}")
        if words[0] == ("EndForward" if self.turned else "Reverse"):
            raise ValueError("EndForward comes once, before the first Reverse")
        self.turned |= words[0] == "EndForward"
        self.slots.use(words[0], first, level, slot)
        return words[0], first, last, level

    def __iter__(self):
        turned = False
        for action, first, last, level in self._lines():
            if action == "Forward":
                yield Forward(first, last, level >= 0, False, _storage(level))
            elif action == "Copy":
                yield Copy(first, _storage(level), StorageType.WORK)
            elif action == "Move":
                yield Move(first, _storage(level), StorageType.WORK)
            elif action == "Reverse":
                yield Forward(first, last, False, True, StorageType.WORK)
                if not turned:
                    yield EndForward()
                turned = True
                yield Reverse(last, first, True)
            elif action == "EndReverse":
                yield EndReverse()


def replay(schedule):
    """Runs a schedule on nothing; the forward steps beside those that keep dependencies.

    Raises ValueError when an action cannot be carried out.
    """

    def need(condition, action):
        if not condition:
            raise ValueError(f"{schedule.line}: cannot be carried out: {action}")

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
        raise ValueError(f"{schedule.line}: the schedule has no end")
    return forwards


if __name__ == "__main__":
    try:
        print(replay(Schedule(sys.argv[1])))
    except OSError as error:
        sys.exit(f"{sys.argv[1]}: {error.strerror}")
    except ValueError as error:
        sys.exit(f"{sys.argv[1]}:{error}")
