"""
Print the rooms of the package, the floors they lie on, the imports between them, and
circles.

A package folder is one room, a module in the root is another. The floor of a room is
one above the highest room that it imports. Imports that only type checkers follow do
not count.

Run: python tests/architecture.py
"""

from __future__ import annotations

import sys
from graphlib import CycleError, TopologicalSorter

import grimp

PACKAGE = "petstore_tools"
NO_ROOMS = {"", "__main__", "_version"}  # entry point and version
MOST_ROOMS = 27
MOST_FLOORS = 11


def room_of(module: str) -> str:
    """Return the room of a module: the first part of its name below the package."""
    return module.removeprefix(PACKAGE).lstrip(".").partition(".")[0]


def arrows() -> dict[str, set[str]]:
    """Return the rooms that each room imports."""
    graph = grimp.build_graph(PACKAGE, exclude_type_checking_imports=True)
    rooms: dict[str, set[str]] = {room_of(module): set() for module in graph.modules}
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            rooms[room_of(module)].add(room_of(imported))
    return {
        room: below - NO_ROOMS - {room}
        for room, below in rooms.items()
        if room not in NO_ROOMS
    }


def floors(rooms: dict[str, set[str]]) -> dict[str, int]:
    """
    Return the floor of each room, 0 for those that import none; raises CycleError.
    """
    found: dict[str, int] = {}
    for room in TopologicalSorter(rooms).static_order():
        found[room] = 1 + max((found[below] for below in rooms[room]), default=-1)
    return found


def main() -> int:
    """
    Print all of it; the exit code is 1 where there is a circle, or more than is
    allowed.
    """
    rooms = arrows()
    try:
        on = floors(rooms)
    except CycleError as error:
        print(f"circle: {' -> '.join(error.args[1])}")
        return 1
    for floor in sorted(set(on.values()), reverse=True):
        here = sorted(room for room in rooms if on[room] == floor)
        print(f"{floor:>2}  {' | '.join(here)}")
    count = sum(len(below) for below in rooms.values())
    high = max(on.values()) + 1
    print(f"rooms {len(rooms)}, floors {high}, arrows {count}, circles 0")
    return int(len(rooms) > MOST_ROOMS or high > MOST_FLOORS)


if __name__ == "__main__":
    sys.exit(main())
