"""The text of a PTX kernel as instructions.

Functions that a kernel calls are put in the place of each call, with registers of their own."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

Operand = str | tuple[str, ...]
"""A register, a number, a name or ``[address]``; several in braces."""

WIDTHS = {"pred": 1, "b8": 8, "b16": 16, "b32": 32, "b64": 64, "b128": 128}
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*\.(loc|file|pragma|section)\b[^\n]*$", re.MULTILINE)
_LABEL = re.compile(r"([$\w]+):(?!:)")
_ARRAY = re.compile(
    r"\.(global|const|shared|local)\s+\.align\s+(\d+)\s+\.(\w+)\s+([$\w]+)\[(\d*)\]"
    r"(?:\s*=\s*\{([^}]*)\})?"
)
_ENTRY = re.compile(r"\.(entry|func)\s+(?:\(([^)]*)\)\s*)?([$\w]+)\s*\(([^)]*)\)")
_PARAM = re.compile(r"\.param\s+([^,]*?)([$\w]+)(?:\[(\d+)\])?\s*(?:,|$)")


@dataclass(frozen=True)
class Array:
    """Memory that a text declares: where, how wide an element is, and what it begins with."""

    space: str
    width: int
    name: str
    size: int
    contents: tuple[int, ...] = ()


@dataclass(frozen=True)
class Instruction:
    """``@guard name.modes operands``."""

    name: str
    modes: tuple[str, ...] = ()
    operands: tuple[Operand, ...] = ()
    guard: str = ""
    text: str = ""

    @property
    def kind(self) -> str:
        """The type that comes last: ``f32``, ``u64``, ``pred`` …"""
        return self.modes[-1]


@dataclass
class Kernel:
    """A kernel: ``widths`` are registers' in bits, by name, ``labels`` positions in
    ``instructions``, ``parameters`` types of parameters by name."""

    name: str
    parameters: dict[str, str] = field(default_factory=dict)
    widths: dict[str, int] = field(default_factory=dict)
    arrays: list[Array] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    threads: int = 0


def parsed(text: str) -> Kernel:
    """The one kernel of ``text``."""
    text = _DIRECTIVE.sub("", _COMMENT.sub("", text))
    functions = {}
    entry = None
    for found in _ENTRY.finditer(text):
        start = text.find("{", found.end())
        if ";" in text[found.end() : start]:
            continue  # declared only
        one = found.groups(), text[found.end() : start], _body(text, start)
        if found[1] == "entry":
            entry = one
        else:
            functions[found[3]] = one
    assert entry is not None, "no kernel in the text"
    (_, _, name, parameters), head, body = entry
    made = Kernel(name, {n: k for k, n in _parameters(parameters)})
    if threads := re.search(r"\.reqntid\s+(\d+)", head):
        made.threads = int(threads[1])
    outside = text[: text.index(".entry")]
    made.arrays += [_array(one) for one in _ARRAY.finditer(outside)]
    _Reader(made, functions).read(body, "")
    made.labels["end"] = len(made.instructions)
    return made


def _body(text: str, start: int) -> str:
    depth = 0
    for found in re.compile(r"[{}]").finditer(text, start):
        depth += 1 if found[0] == "{" else -1
        if not depth:
            return text[start + 1 : found.start()]
    raise AssertionError("a brace is not closed")


def _parameters(text: str | None) -> list[tuple[str, str]]:
    """Types and names."""
    found = _PARAM.finditer(text or "")
    return [(one[1].split()[0].lstrip(".") if one[1].split() else "", one[2]) for one in found]


def _array(found: re.Match[str]) -> Array:
    space, _, kind, name, size, contents = found.groups()
    numbers = tuple(int(n, 0) for n in contents.split(",")) if contents else ()
    return Array(space, int(re.sub(r"\D", "", kind)) // 8, name, int(size or 0), numbers)


class _Reader:
    """Reads bodies into ``kernel``; every call gets a number, which its names begin with."""

    def __init__(self, kernel: Kernel, functions: dict) -> None:
        self.kernel, self.functions, self.calls = kernel, functions, 0

    def read(self, body: str, prefix: str) -> None:
        """One body; ``prefix`` names a call."""
        for found in _ARRAY.finditer(body):
            self.kernel.arrays.append(_array(found))
        for text in _ARRAY.sub("", body).split(";"):
            self.statement(" ".join(text.split()), prefix)

    def statement(self, text: str, prefix: str) -> None:
        """What stands before a semicolon: labels and braces of scopes, then an instruction."""
        while text and (text[0] in "{}" or _LABEL.match(text)):
            if text[0] not in "{}":
                label = _LABEL.match(text)
                self.kernel.labels[prefix + label[1]] = len(self.kernel.instructions)
                text = text[label.end() - 1 :]
            text = text[1:].strip()
        if not text:
            return
        if text.startswith(".reg"):
            self.registers(text, prefix)
        elif text.startswith(".param"):
            _, kind, name = text.split()[0], text.split()[-2], text.split()[-1]
            self.kernel.widths[prefix + name.partition("[")[0]] = 64 if "64" in kind else 32
        else:
            self.instruction(text, prefix)

    def registers(self, text: str, prefix: str) -> None:
        """``.reg .b32 %r<4>`` or names."""
        _, kind, names = text.split(None, 2)
        width = WIDTHS.get(kind[1:]) or int(re.sub(r"\D", "", kind))
        for name in names.split(","):
            first, _, count = name.strip().rstrip(">").partition("<")
            for n in range(int(count)) if count else [None]:
                self.kernel.widths[prefix + first + ("" if n is None else str(n))] = width

    def add(self, one: Instruction) -> None:
        self.kernel.instructions.append(one)

    def instruction(self, text: str, prefix: str) -> None:
        """One that is carried out."""
        full, guard = text, ""
        if text[0] == "@":
            guard, text = text[1:].split(None, 1)
            sign = "!" if guard[0] == "!" else ""
            guard = sign + prefix + guard.lstrip("!")
        name, _, rest = text.partition(" ")
        name, *modes = name.replace("::", "_").split(".")
        operands = tuple(self.named(one, prefix) for one in _operands(rest))
        if name == "call":
            return self.call(modes, operands, guard, full, prefix)
        if name == "ret" and prefix:
            name, operands = "bra", (prefix + "return",)
        self.add(Instruction(name, tuple(modes), operands, guard, full))

    def named(self, operand: Operand, prefix: str) -> Operand:
        """``operand`` with names of the call."""
        if isinstance(operand, tuple):
            return tuple(self.named(one, prefix) for one in operand)
        if not prefix:
            return operand
        known = (prefix + one for one in re.findall(r"[%$\w]+", operand))
        for name in {one for one in known if one in self.kernel.widths or "$" in one}:
            plain = re.escape(name.removeprefix(prefix))
            operand = re.sub(rf"(?<![%$\w]){plain}(?![$\w])", name, operand)
        return operand

    def call(self, modes: list[str], operands: tuple, guard: str, text: str, prefix: str) -> None:
        """The function's own body where it is called."""
        results = operands[0] if operands[0].startswith("(") else "()"
        name, *rest = operands if results == "()" else operands[1:]
        given = rest[0] if rest else "()"
        if name not in self.functions:
            return self.add(Instruction("call", tuple(modes), (name,), guard, text))
        assert not guard, text
        self.calls += 1
        own = f"{self.calls}:"
        (_, made, _, parameters), _, body = self.functions[name]
        for names, wanted in ((given, parameters), (results, made)):
            listed = [n.strip() for n in names.strip("()").split(",") if n.strip()]
            for outer, (kind, inner) in zip(listed, _parameters(wanted), strict=True):
                self.kernel.widths[own + inner] = 64 if "64" in kind else 32
                if names is given:
                    self.move(own + inner, outer, kind)
        self.read(body, own)
        self.kernel.labels[own + "return"] = len(self.kernel.instructions)
        listed = [n.strip() for n in results.strip("()").split(",") if n.strip()]
        for outer, (kind, inner) in zip(listed, _parameters(made), strict=True):
            self.move(outer, own + inner, kind)

    def move(self, target: str, source: str, kind: str) -> None:
        width = "b64" if "64" in kind else "b32"
        self.add(Instruction("mov", (width,), (target, source), "", f"mov {target}, {source}"))


def _operands(text: str) -> list[Operand]:
    """What commas outside of brackets separate."""
    parts, depth = [""], 0
    for one in text:
        depth += (one in "{[(") - (one in ")]}")
        if one == "," and not depth:
            parts.append("")
        else:
            parts[-1] += one
    parts = [one.strip() for one in parts]
    return [
        tuple(n.strip() for n in one.strip("{} ").split(",")) if one[:1] == "{" else one
        for one in parts
        if one
    ]
