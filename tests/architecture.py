"""
Print the rooms of the package, the floors they lie on, the imports between them, and
circles of rooms and of files.

A package folder is one room, a module in the root is another. The floor of a room is
one above the highest room that it imports. Imports that only type checkers follow count
for circles of files alone.

Run: python tests/architecture.py
"""

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
    graph = grimp.build_graph(
        PACKAGE, exclude_type_checking_imports=True, cache_dir=None
    )
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
    heights: dict[str, int] = {}
    for room in TopologicalSorter(rooms).static_order():
        heights[room] = 1 + max((heights[below] for below in rooms[room]), default=-1)
    return heights


def circles() -> set[str]:
    """Return the files that import each other, for type checkers, too."""
    # a cache may hold files as they were
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    groups = set()
    for module in graph.modules:
        group = graph.find_downstream_modules(module)
        group &= graph.find_upstream_modules(module)
        names = [name.removeprefix(f"{PACKAGE}.") for name in group | {module}]
        if group:
            groups.add(" ".join(sorted(names)))
    return groups


def main() -> int:
    """
    Print all of it; the exit code is 1 where there is a circle, or more than is
    allowed.
    """
    rooms = arrows()
    try:
        heights = floors(rooms)
    except CycleError as error:
        print(f"circle: {' -> '.join(error.args[1])}")
        return 1
    for floor in sorted(set(heights.values()), reverse=True):
        neighbours = sorted(room for room in rooms if heights[room] == floor)
        print(f"{floor:>2}  {' | '.join(neighbours)}")
    count = sum(len(below) for below in rooms.values())
    high = max(heights.values()) + 1
    print(f"rooms {len(rooms)}, floors {high}, arrows {count}, circles 0")
    file_circles = circles()
    for circle in file_circles:
        print(f"circle of files: {circle}")
    return int(len(rooms) > MOST_ROOMS or high > MOST_FLOORS or bool(file_circles))


if __name__ == "__main__":
    sys.exit(main())
