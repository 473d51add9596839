"""Launch grids: how many programs a kernel needs under a configuration.

One class per shape of kernel. Each says the same thing twice: ``counts`` computes it,
``text`` writes it as the Python expression that the emitted module's ``grid`` returns.
Sizes that are not known when a kernel is generated are expressions over names
(``"2*s0 + 1"``, as in graph files), whose values come with the launch.

CUDA takes 2**31 - 1 programs in x and 65535 in y and z. Where the second dimension may
pass its limit it is *layered*: split evenly over ``ceil(count / 65535)`` layers in z, and
the kernel's number along it is ``program_id(1) + program_id(2) * num_programs(1)``.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from harness.errors import GridTooLarge, InvalidProgram
from harness.heuristics.limits import MAX_GRID_X, MAX_GRID_YZ, cdiv

Size = int | str
"""A number of points: known, or a Python expression over the names of unknown sizes."""

Counts = tuple[int, int, int]
"""Programs in x, y, z."""

NO_SIZES: Mapping[str, int] = {}


class Grid(Protocol):
    """A rule for the number of programs."""

    @property
    def names(self) -> tuple[str, ...]:
        """Parameters of the configuration that the rule reads, in order of use."""

    def counts(self, config: Mapping[str, int], sizes: Mapping[str, int] = NO_SIZES) -> Counts:
        """Programs under ``config`` with unknown sizes as in ``sizes``."""

    def text(self) -> str:
        """The same as a Python expression over the parameters and the unknown sizes."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """``numel`` points in blocks of the parameter ``name``; without a name ``numel`` is the
    number of programs itself."""

    numel: Size
    name: str = ""

    def count(self, config: Mapping[str, int], sizes: Mapping[str, int]) -> int:
        """Blocks, the last of which may be partly outside."""
        points = size_value(self.numel, sizes)
        return cdiv(points, config[self.name]) if self.name else points

    def text(self) -> str:
        """``count`` as text that binds tighter than any operator beside it but a unary one."""
        numel = str(self.numel)
        if not self.name:
            return numel if _is_atom(numel) else f"({numel})"
        return f"-(-{numel if _is_atom(numel) else f'({numel})'} // {self.name})"


@dataclass(frozen=True, slots=True)
class Tiled:
    """One, two or three tiles, x first: a block of each for every program. ``layered``:
    the second one may have more than 65535 blocks (two tiles only)."""

    tiles: tuple[Blocks, ...]
    layered: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Block sizes."""
        return _names(self.tiles)

    def counts(self, config: Mapping[str, int], sizes: Mapping[str, int] = NO_SIZES) -> Counts:
        """Blocks of every tile."""
        found = [tile.count(config, sizes) for tile in self.tiles]
        if self.layered:
            return (found[0], *layers(found[1]))
        x, y, z = (*found, 1, 1)[:3]
        return (x, y, z)

    def text(self) -> str:
        """A tuple of three."""
        parts = [tile.text() for tile in self.tiles]
        if self.layered:
            parts = [parts[0], *_layered_text(self.tiles[1])]
        return f"({', '.join([*parts, '1', '1'][:3])})"


@dataclass(frozen=True, slots=True)
class Cooperative:
    """Rows shared by ``RSPLIT`` programs each: as many of the ``PROGRAMS`` that can run at once as
    there are rows for. With one program a row, a program for every row."""

    rows: Size

    @property
    def names(self) -> tuple[str, ...]:
        """Both parameters."""
        return ("RSPLIT", "PROGRAMS")

    def counts(self, config: Mapping[str, int], sizes: Mapping[str, int] = NO_SIZES) -> Counts:
        """Programs in x."""
        split, rows = config["RSPLIT"], size_value(self.rows, sizes)
        return (rows if split == 1 else split * min(rows, config["PROGRAMS"] // split), 1, 1)

    def text(self) -> str:
        """A tuple of three."""
        rows = Blocks(self.rows).text()
        return f"({rows} if RSPLIT == 1 else RSPLIT * min({rows}, PROGRAMS // RSPLIT), 1, 1)"


@dataclass(frozen=True, slots=True)
class SplitScan:
    """A program for every block along the scan (in x) of every row (in y, layered)."""

    scanned: Blocks
    rows: Size

    @property
    def names(self) -> tuple[str, ...]:
        """The block size along the scan."""
        return _names((self.scanned,))

    def counts(self, config: Mapping[str, int], sizes: Mapping[str, int] = NO_SIZES) -> Counts:
        """Blocks along the scan times rows."""
        rows = size_value(self.rows, sizes)
        return (self.scanned.count(config, sizes), *layers(rows))

    def text(self) -> str:
        """A tuple of three."""
        return f"({self.scanned.text()}, {', '.join(_layered_text(Blocks(self.rows)))})"


@dataclass(frozen=True, slots=True)
class MixedOrder:
    """Rows and columns of one matrix reduced in one pass: every program walks ``split`` rows
    in blocks of ``name``, and leaves partial sums of the columns behind."""

    rows: Size
    split: int
    name: str = "XBLOCK"

    @property
    def names(self) -> tuple[str, ...]:
        """None: the split decides."""
        return ()

    def counts(self, config: Mapping[str, int], sizes: Mapping[str, int] = NO_SIZES) -> Counts:
        """Shares of the rows, whatever the block is, as long as it divides them.

        Raises ``InvalidProgram`` for a block that does not.
        """
        if self.split % config[self.name]:
            raise InvalidProgram(
                "a block does not divide the rows of a program",
                got=f"{self.name} = {config[self.name]}, {self.split} rows",
                expected=f"a divisor of {self.split}",
                remedy="pin the block, or choose another split",
            )
        return (cdiv(size_value(self.rows, sizes), self.split), 1, 1)

    def text(self) -> str:
        """A tuple of three."""
        return f"(-(-{Blocks(self.rows).text()} // {self.split}), 1, 1)"


@dataclass(frozen=True, slots=True)
class Part:
    """One kernel of a combo: its tiles, x first; a kernel without an x dimension has a
    fixed number of programs (``Blocks`` without a name)."""

    tiles: tuple[Blocks, ...]


@dataclass(frozen=True, slots=True)
class Sequential:
    """Kernels side by side in one launch, one after the other along x: the sum of their x
    blocks, and as many in y and z as the part that has most."""

    parts: tuple[Part, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Block sizes of all parts."""
        return _part_names(self.parts)

    def counts(self, config: Mapping[str, int], sizes: Mapping[str, int] = NO_SIZES) -> Counts:
        """The sum in x, the maxima in y and z."""
        x = sum(part.tiles[0].count(config, sizes) for part in self.parts)
        return (x, *_rest(self.parts, config, sizes))

    def text(self) -> str:
        """A tuple of three."""
        x = " + ".join(part.tiles[0].text() for part in self.parts)
        return f"({x}, {_rest_text(self.parts)})"


@dataclass(frozen=True, slots=True)
class RoundRobin:
    """Kernels dealt out in turn along x (``program_id(0) % count``): as many turns as the
    largest needs, so the others have idle programs at the end."""

    parts: tuple[Part, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Block sizes of all parts."""
        return _part_names(self.parts)

    def counts(self, config: Mapping[str, int], sizes: Mapping[str, int] = NO_SIZES) -> Counts:
        """The number of parts times the largest in x, the maxima in y and z."""
        largest = max(part.tiles[0].count(config, sizes) for part in self.parts)
        return (len(self.parts) * largest, *_rest(self.parts, config, sizes))

    def text(self) -> str:
        """A tuple of three."""
        largest = _max_text([part.tiles[0].text() for part in self.parts])
        return f"({len(self.parts)} * {largest}, {_rest_text(self.parts)})"


def layers(count: int) -> tuple[int, int]:
    """``count`` programs as (y, z) within the launch limit, spread evenly: no layer is less
    than full by more than one program a layer. At least (0, 1)."""
    deep = max(1, cdiv(count, MAX_GRID_YZ))
    return (cdiv(count, deep), deep)


def checked(counts: Sequence[int], where: str) -> Counts:
    """``counts`` as three integers, if a launch takes them.

    Raises ``GridTooLarge`` if not.
    """
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


def size_value(size: Size, sizes: Mapping[str, int]) -> int:
    """``size`` as a number. Expressions hold names, integers, ``+ - * // %``, ``min`` and ``max``.

    Raises ``InvalidProgram`` for a name that has no value and for any other expression.
    """
    if isinstance(size, int):
        return size
    return _evaluate(ast.parse(size, mode="eval").body, sizes)


def _evaluate(node: ast.expr, sizes: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name) if name in sizes:
            return sizes[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand, sizes)
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _ARITHMETIC:
            function = _ARITHMETIC[type(operation)]
            return function(_evaluate(left, sizes), _evaluate(right, sizes))
        case ast.Call(func=ast.Name(id=("min" | "max") as name), args=args, keywords=[]):
            values = [_evaluate(arg, sizes) for arg in args]
            return min(values) if name == "min" else max(values)
        case _:
            raise InvalidProgram(
                "a grid depends on something that has no value",
                got=ast.unparse(node),
                expected=f"integers, + - * // % min max, and {', '.join(sizes) or 'no names'}",
                remedy="report this as a defect of the compiler",
            )


_ARITHMETIC: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def _names(tiles: Sequence[Blocks]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tile.name for tile in tiles if tile.name))


def _part_names(parts: Sequence[Part]) -> tuple[str, ...]:
    return _names([tile for part in parts for tile in part.tiles])


def _rest(
    parts: Sequence[Part], config: Mapping[str, int], sizes: Mapping[str, int]
) -> tuple[int, int]:
    y, z = (
        max((p.tiles[at].count(config, sizes) for p in parts if len(p.tiles) > at), default=1)
        for at in (1, 2)
    )
    return (y, z)


def _rest_text(parts: Sequence[Part]) -> str:
    texts = ([p.tiles[at].text() for p in parts if len(p.tiles) > at] for at in (1, 2))
    return ", ".join(_max_text(group) if group else "1" for group in texts)


def _max_text(texts: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(texts))
    return f"({distinct[0]})" if len(distinct) == 1 else f"max({', '.join(distinct)})"


def _layered_text(tile: Blocks) -> list[str]:
    """Y and z. A known number of points is never 0, an unknown one may be."""
    count = tile.text()
    deep = f"-(-({count}) // {MAX_GRID_YZ})"
    if isinstance(tile.numel, str):
        deep = f"max(1, {deep})"
    return [f"-(-({count}) // ({deep}))", deep]


def _is_atom(text: str) -> bool:
    """Whether ``text`` is one name or one number."""
    return text.isidentifier() or text.isdecimal()
