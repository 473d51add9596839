"""What an emitted module states of itself, read from its text; nothing is executed. A module says
what it executes (``CODE_HASH``) and where it came from (``REGION``, ``NODES``). Modules recorded
before they did have that derived from their text here, and nowhere else."""

from __future__ import annotations

import ast
import functools
import hashlib
import re
from dataclasses import dataclass
from typing import Any

_ORIGIN = re.compile(r"^Region (?P<region>.+?); graph nodes: (?P<nodes>.*)$", re.MULTILINE)
"""Where a module came from, in the docstring of those that do not state it."""
_STRING = (
    r"[rRbBuUfF]{0,2}(?:\"\"\"(?:[^\\]|\\.)*?\"\"\"|\'\'\'(?:[^\\]|\\.)*?\'\'\'"
    r'|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')'
)
_REMARK = re.compile(
    rf"((?<!\\\n)^[ \t]*)({_STRING})|({_STRING}|[][(){{}}])|#[^\n]*", re.DOTALL | re.MULTILINE
)
"""A string that begins a line, as documentation does, another string, a bracket, or a comment."""
_JIT, _REFERENCE = "@triton.jit", "\ndef reference("
_CALL = re.compile(r"^ +(\w+) = (.*torch\.ops\..*|\w+\[\d+\])$", re.MULTILINE)
"""A line of a module's reference that calls an operator, or takes one of its results."""
_VALUE = re.compile(r"(?<![.\w\"])(?!(?:b?float|u?int|complex)\d|bool\b)[a-z_]\w*(?![\w.(=])")
"""A value in such a line: no type, no name of an argument, no function."""
_INPUTS = re.compile(r"^ +\(?([\w, ]+?),?\)? = \(a\.double\(\) if wide", re.MULTILINE)
"""The names that a reference gives its first arguments, in their order."""
_ARGUMENT = re.compile(r"^ +(\(\(.*?\), \(.*?\), \"\w+\"|.*)", re.MULTILINE)
"""Shape, strides and type of an argument: what fills it for a test is left out."""


@dataclass(frozen=True, slots=True)
class ModuleFacts:
    """``code_hash`` names what the module executes: kernels with equal ones are one kernel,
    whatever they are called. ``nodes`` are the nodes of the graph that it computes, ``region`` is
    their region's name; both are empty for a hand-written kernel. ``best`` is the first of its
    configurations, ``arguments`` the text that describes its arguments: shapes, strides,
    types, contents."""

    code_hash: str
    region: str
    nodes: tuple[str, ...]
    best: dict[str, int] | None
    arguments: str

    @property
    def launch_hash(self) -> str:
        """What names a launch: the code, on arguments like these."""
        return _digest(self.code_hash + self.arguments)


@dataclass(frozen=True, slots=True)
class Computed:
    """What a module computes, by its reference, whatever its kernel executes. ``digest`` names it,
    without the names of nodes, and is empty where the text does not say it. ``calls`` are the
    operators with their literal arguments, by node, ``arguments`` the shapes, strides and types
    that it reads and writes."""

    digest: str
    calls: tuple[tuple[str, str], ...]
    arguments: frozenset[str]


@functools.lru_cache(maxsize=4096)
def facts(text: str) -> ModuleFacts:
    """What the module ``text`` states."""
    region, nodes = stated(text, "REGION"), stated(text, "NODES")
    if region is None:
        found = _ORIGIN.search(text[:20_000])
        region = found["region"] if found else ""
        nodes = tuple(filter(None, found["nodes"].split(", "))) if found else ()
    written = stated(text, "CODE_HASH")
    start = text.find("\nARGS = [")
    return ModuleFacts(
        written if isinstance(written, str) else code_hash(text),
        str(region),
        tuple(nodes or ()),
        next(iter(offered(text)), None),
        text[start : text.find("\n]", start)] if start >= 0 else "",
    )


@functools.lru_cache(maxsize=4096)
def computed(text: str) -> Computed:
    """What the module ``text`` computes."""
    numbers: dict[str, str] = {}
    found: list[tuple[str, str]] = _CALL.findall(text)
    rows: list[str] = _ARGUMENT.findall(facts(text).arguments)
    inputs = _INPUTS.search(text)
    kinds = dict(zip(inputs[1].split(", "), rows, strict=False)) if inputs else {}

    def numbered(name: str) -> str:
        return numbers.setdefault(name, f"v{len(numbers)} {kinds.get(name, '')}")

    given = sorted(rows)
    lines = [
        f"{_VALUE.sub(lambda value: numbered(value[0]), call)} -> {numbered(name)}"
        for name, call in found
    ]
    calls = tuple((name, _VALUE.sub("_", call)) for name, call in found)
    digest = _digest("\n".join((*lines, *given))) if found and given else ""
    return Computed(digest, calls, frozenset(given))


def stated(text: str, name: str) -> Any:
    """The literal that a line of the module assigns to ``name``; ``None`` without one."""
    found = re.search(rf"^{name} = (.*)$", text, re.MULTILINE)
    try:
        return ast.literal_eval(found[1]) if found else None
    except (ValueError, SyntaxError):
        return None


def candidates(text: str) -> str:
    """The configurations that the module ``text`` offers a tuner, as text."""
    start = text.find("\nCONFIGS = [")
    lines = text[start : text.find("\n]", start)].split("\n")[2:] if start >= 0 else []
    return "\n".join(lines)


def offered(text: str) -> list[dict[str, int]]:
    """The configurations of the module ``text``; none where they cannot be read."""
    try:
        found = stated(text, "CONFIGS") or ast.literal_eval(f"[{candidates(text)}]")
        return [{str(name): int(value) for name, value in one.items()} for one in found]
    except (ValueError, SyntaxError, TypeError, AttributeError):
        return []


def code_hash(text: str) -> str:
    """What names the code of the module ``text``, computed: 16 hexadecimal digits."""
    return _digest(code(text))


@functools.lru_cache(maxsize=4096)
def executed(text: str) -> str:
    """What names the computation that the module ``text`` executes, whatever its variables are
    called: two modules that differ in names alone compile to the same instructions. Its
    ``code_hash`` where the code cannot be read."""
    kept = "\n".join(line for line in code(text).split("\n") if line != "_KERNEL =")
    named = re.sub(rf"^({_JIT}\ndef )\(", r"\1kernel(", kept, flags=re.MULTILINE)
    try:
        tree = ast.parse(named)
    except SyntaxError:
        return facts(text).code_hash
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            _rename(function)
    return _digest(ast.dump(tree))


def _rename(function: ast.FunctionDef) -> None:
    """Number the variables of ``function`` in the order in which they appear; arguments keep their
    names, by which they are passed."""
    given = {argument.arg for argument in function.args.args}
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    own = {node.id for node in names if isinstance(node.ctx, ast.Store)} - given
    numbers: dict[str, str] = {}
    for node in names:
        if node.id in own:
            node.id = numbers.setdefault(node.id, f"v{len(numbers)}")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@functools.lru_cache(maxsize=256)
def code(text: str) -> str:
    """What the module ``text`` executes: the types of its arguments, its kernel and grid. Without
    comments, documentation, empty lines and the kernel's name. The text itself where that is no
    module."""
    start, grid, end = text.find(_JIT), text.find("\ndef grid("), text.find(_REFERENCE)
    if start < 0 or end < 0:
        return text
    if 0 <= grid < end:
        end = text.find("\n\n\n", grid)
    bare = _without_remarks(text[start:end])
    types = "".join(_line(text, n) for n in ("SIGNATURE", "DIVISIBLE_BY_16", "COMPILE_OPTIONS"))
    kernels = re.findall(rf"^{_JIT}\ndef (\w+)", text, re.MULTILINE)
    name = str(stated(text, "KERNEL") or (kernels or ["\0"])[-1])
    spaced = re.sub(r"(?<=\S) +", " ", (types + bare).replace(name, ""))
    lines = (line.rstrip() for line in spaced.split("\n"))
    return "\n".join(line for line in lines if line and not line.startswith("_KERNEL = "))


def _without_remarks(text: str) -> str:
    """``text`` without comments and documentation; in brackets every string is code."""
    depth = 0

    def kept(found: re.Match[str]) -> str:
        nonlocal depth
        begin, first, other = found.groups("")
        depth += (other in "([{") - (other in ")]}") if other else 0
        return begin + (first if depth else "") + other

    return _REMARK.sub(kept, text)


def _line(text: str, name: str) -> str:
    found = re.search(rf"^{name} = .*\n", text, re.MULTILINE)
    return found[0] if found else ""
