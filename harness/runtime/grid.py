"""Launch grids: how many programs a kernel needs under a configuration.

A grid is text: the Python expression that the emitted module's ``grid`` returns, over block sizes
and sizes that only a launch knows (``"2*s0 + 1"``, as in graph files). The module evaluates it.

CUDA takes 2**31 - 1 programs in x and 65535 in y and z. Where tiles may have more blocks in y or
z, all programs are numbered in x.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.errors import GridTooLarge
from harness.heuristics.limits import MAX_GRID_X, MAX_GRID_YZ

Size = int | str
"""A number of points: known, or a Python expression over the names of unknown sizes."""

Counts = tuple[int, int, int]
"""Programs in x, y, z."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Programs in x, y, z: ``text`` is a tuple of three, ``names`` are the parameters of the
    configuration that it reads."""

    names: tuple[str, ...]
    text: str


def tiled(*sides: tuple[Size, str], in_x: bool = False) -> Grid:
    """Up to three tiles (x, y, z), each a number of points and the parameter that holds its block
    size: a block of each for every program. ``in_x``: programs are numbered in x alone, those of a
    row of blocks side by side."""
    counts = [_blocks(*side) for side in sides]
    if in_x:
        counts = [" * ".join(counts)]
    return Grid(tuple(name for _, name in sides), f"({', '.join([*counts, '1', '1'][:3])})")


def cooperative(rows: Size) -> Grid:
    """Rows shared by ``RSPLIT`` programs each: as many of the ``PROGRAMS`` that can run at once as
    there are rows for. With one program a row, a program for every row."""
    text = f"{_atom(rows)} if RSPLIT == 1 else RSPLIT * min({_atom(rows)}, PROGRAMS // RSPLIT)"
    return Grid(("RSPLIT", "PROGRAMS"), f"({text}, 1, 1)")


def in_chunks(columns: Size, name: str) -> Grid:
    """A program for every block of columns (in x) and every one of ``CHUNKS`` of rows (in y)."""
    return Grid((name, "CHUNKS"), f"({_blocks(columns, name)}, CHUNKS, 1)")


def split_scan(scanned: Size, name: str, rows: int) -> Grid:
    """A program for every block along the scan (in x) of every one of a few rows (in y)."""
    return Grid((name,), f"({_blocks(scanned, name)}, {rows}, 1)")


def checked(counts: Sequence[int], where: str) -> Counts:
    """``counts`` as three integers, if a launch takes them. Raises ``GridTooLarge`` if not."""
    x, y, z = (int(n) for n in counts)
    if not (0 <= x <= MAX_GRID_X and 0 <= y <= MAX_GRID_YZ and 0 <= z <= MAX_GRID_YZ):
        raise GridTooLarge(
            "a kernel needs more programs than a launch takes",
            where=where,
            got=f"{x} x {y} x {z}",
            expected=f"at most {MAX_GRID_X} x {MAX_GRID_YZ} x {MAX_GRID_YZ}",
            remedy="a configuration with larger blocks needs fewer",
        )
    return (x, y, z)


def _blocks(points: Size, name: str) -> str:
    """Blocks of ``name`` points, the last of which may be partly outside."""
    return f"-(-{_atom(points)} // {name})"


def _atom(size: Size) -> str:
    """``size`` as text that binds tighter than any operator beside it."""
    text = str(size)
    return text if text.isidentifier() or text.isdecimal() else f"({text})"
