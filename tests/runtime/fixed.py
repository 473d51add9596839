"""What the text of an emitted module fixes, held against a configuration and the sizes of a launch.

A text is made once for all sizes, blocks are chosen by those of a launch: here both meet without
running anything, so that sizes may be as large as they come."""

from __future__ import annotations

import ast
import functools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.heuristics.facts import Config
from harness.heuristics.limits import (
    MAX_TENSOR_ELEMENTS,
    MAX_THREADS_PER_BLOCK,
    block_name,
    cdiv,
    is_reduction,
)
from harness.runtime.module import COMBO, LoadedModule


@dataclass(frozen=True, slots=True)
class _Part:
    """A kernel of a module, launched ``count`` times at once: its function, what that is compiled
    for, points by tile, and the words that its programs have to tell each other something."""

    function: str
    known: Mapping[str, int]
    points: Mapping[str, int]
    count: int
    words: int

    def block(self, tile: str) -> int:
        """Of the tile, what a program has at once."""
        return self.known[block_name(tile)]

    @property
    def columns(self) -> int:
        """Blocks of results."""
        sides = (pair for pair in self.points.items() if not is_reduction(pair[0]))
        return math.prod(cdiv(n, self.block(tile)) for tile, n in sides)


@dataclass(frozen=True, slots=True)
class _Fixed:
    """Of what is compiled of a function: tiles that it walks along, parameters of which it has
    whole blocks, and the words that the programs of a column tell each other, as text."""

    walked: frozenset[str]
    spanned: frozenset[str]
    told: str


def contradictions(
    loaded: LoadedModule, config: Config, args: list[Any], warp: int = 32
) -> list[str]:
    """What is wrong with ``config`` for the sizes in ``args``, of which nothing else is used."""
    parts = list(_parts(loaded, config, args))
    wanted = sum(part.count * part.columns * part.known.get("CHUNKS", 1) for part in parts)
    found = [
        f"{part.function} {part.points}: {what}" for part in parts for what in _wrong(loaded, part)
    ]
    programs = math.prod(loaded.grid(config, args))
    if programs != wanted and loaded.category != "spl":  # whose rows have programs along them
        found.append(f"{programs} programs, where {wanted} have all results")
    if not _is_power(config.num_warps) or config.num_warps * warp > MAX_THREADS_PER_BLOCK:
        found.append(f"{config.num_warps} warps")
    return found


def _parts(loaded: LoadedModule, config: Config, args: list[Any]) -> Iterator[_Part]:
    known, words = dict(config.blocks), _words(loaded, args)
    if loaded.category != COMBO:
        points = {tile: n for tile, n in loaded.points.items() if tile != "run"}
        yield _Part(loaded.name, known, points, 1, words)
        return
    shares = re.findall(r"workspace\w* \+ \d+ \* (\d+)", loaded.text)
    for number, (_, count, _, points) in enumerate(loaded.raw.members(args)):
        end = f"_{number}"
        own = {name.removesuffix(end): n for name, n in known.items() if name.endswith(end)}
        points = {tile: n for tile, n in points.items() if tile != "run"}
        yield _Part(f"_part{end}", own, points, count, min(map(int, shares), default=words))


def _words(loaded: LoadedModule, args: Sequence[Any]) -> int:
    sizes = dict(zip(loaded.unknown_sizes, loaded.sizes(args), strict=True))
    rows = zip(loaded.signature, loaded.raw.arg_rows(**sizes), strict=True)
    return min((shape[0] for name, (shape, *_) in rows if name.startswith("workspace")), default=0)


def _wrong(loaded: LoadedModule, part: _Part) -> Iterator[str]:
    known, fixed = part.known, _fixed(loaded.text, part.function, part.known)
    blocks = {name: n for name, n in known.items() if name.endswith("BLOCK")}
    chunks, held = known.get("CHUNKS", 1), known.get("HELD", 0)
    powers = {**blocks, "CHUNKS": chunks}
    yield from (f"{n} of {name}" for name, n in powers.items() if not _is_power(n))
    if math.prod(blocks.values()) > MAX_TENSOR_ELEMENTS:
        yield f"a tensor of {blocks}"
    for tile, points in part.points.items():
        yield from _along(tile, points, part.block(tile), fixed)
        if known.get(f"{tile.upper()}EVEN") and points % part.block(tile):
            yield f"blocks of {part.block(tile)} along {tile} have no mask"
    if held and not known["LEAST"] <= part.points["r0_"] <= held <= known["R0_BLOCK"]:
        yield f"rows in {known}"
    if not known.get("WIDE", 1) and math.prod(part.points.values()) >= 1 << 31:
        yield "32 bits do not count so many"
    told = eval(fixed.told, {"CHUNKS": chunks, "XBLOCK": known.get("XBLOCK", 1)})
    if chunks > 1 and part.columns * told > part.words:
        yield f"{part.columns} times {told} words of {part.words}"


def _along(tile: str, points: int, block: int, fixed: _Fixed) -> Iterator[str]:
    """What is wrong with the block along a tile."""
    if is_reduction(tile):
        if tile not in fixed.walked and block < points:
            yield f"a block of {block} does not hold {tile}"
    elif block_name(tile) not in fixed.spanned and block != 1:
        yield f"{block} along {tile}, of which the text has one"


def _is_power(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


def _fixed(text: str, function: str, known: Mapping[str, int]) -> _Fixed:
    names = _asked(text, function)
    return _of_known(text, function, tuple((n, v) for n, v in known.items() if n in names))


@functools.lru_cache(4096)
def _of_known(text: str, function: str, known: tuple[tuple[str, int], ...]) -> _Fixed:
    body = "\n".join(map(ast.unparse, _compiled(_functions(text)[function].body, dict(known))))
    calls = {*re.findall(r"(_gather_\w+)\(workspace", body)}
    told = {
        re.findall(r"words \+= .*? \* \((.*)\)\n", ast.unparse(_functions(text)[c]))[0]
        for c in calls
    }
    return _Fixed(
        frozenset(re.findall(r"\b(r\d_)offset\b", body)),
        frozenset(re.findall(r"tl\.arange\(0, (\w+)\)", body)),
        max(told, default="0"),
    )


@functools.lru_cache(4096)
def _asked(text: str, function: str) -> set[str]:
    """Names that decide what of a function is compiled."""
    tests = (one.test for one in ast.walk(_functions(text)[function]) if isinstance(one, ast.If))
    return {name for test in tests for name in _names(test)}


@functools.lru_cache(64)
def _functions(text: str) -> dict[str, ast.FunctionDef]:
    return {one.name: one for one in ast.parse(text).body if isinstance(one, ast.FunctionDef)}


def _compiled(body: Sequence[ast.stmt], known: Mapping[str, int]) -> Iterator[ast.stmt]:
    """The statements without branches that are not taken for what is known."""
    for one in body:
        if isinstance(one, ast.If) and _names(one.test) <= known.keys():
            taken = eval(ast.unparse(one.test), dict(known))
            yield from _compiled(one.body if taken else one.orelse, known)
        else:
            yield one


def _names(tree: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
