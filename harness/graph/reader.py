"""Reading graph files: text to ``Graph``, with ``ast`` only, nothing executed.

Needs neither torch nor the library the model came from. Whatever is wrong with a
file ends in ``DamagedGraph`` with the file, the line, what was found and what
belongs there.
"""

from __future__ import annotations

import ast
import math
import os
import re
from pathlib import Path
from typing import NoReturn

import sympy

from harness.dtypes import DType, from_torch_name
from harness.errors import DamagedGraph, GraphError
from harness.graph.model import (
    Arg,
    Graph,
    Input,
    Mutation,
    Node,
    Ref,
    TensorType,
    Token,
    ValueType,
)
from harness.graph.sizes import parse_size, parse_type, print_type

FORMAT = 1
"""Version of the text format; raised when a reader of the old one would go wrong."""

ROLES = ("data", "parameter", "buffer", "gradient", "saved")

_HEADER = re.compile(r"^# harness graph (\d+)$")
_ORIGIN = re.compile(r"^\[(?P<module>[^\]]*)\] ?(?P<source>.*)$")
_OPERATOR = re.compile(r"^(?:(?!__)\w+\.\w+\.(?!__)\w+|getitem)$")
"""Operators may be called ``__and__``; no namespace and no overload is."""
_INTEGERS = 2**63
_REMEDY = "capture the graph again, or undo the edit"
_STATEMENT = 'name: "type" = operator(…), then input[...] = name, then return'


def load(path: str | os.PathLike[str]) -> Graph:
    """The graph saved at ``path``. ``GraphError`` if there is none, ``DamagedGraph`` if broken."""
    name = os.fspath(path)
    try:
        text = Path(name).read_bytes().decode("utf-8")
    except OSError as error:
        raise GraphError("the graph file cannot be read", where=name, got=str(error)) from None
    except UnicodeDecodeError as error:
        raise DamagedGraph(
            "the graph file is not UTF-8 text",
            where=f"{name}:{1 + error.object.count(10, 0, error.start)}",
            got=str(error),
            expected="text, as harness capture writes it",
            remedy=_REMEDY,
        ) from None
    return loads(text, name)


def is_graph(path: Path) -> bool:
    """Whether the file at ``path`` begins as a graph file does (empty: as good as none)."""
    with path.open("rb") as file:
        first = file.readline(80).decode("utf-8", "replace").rstrip()
    return not path.stat().st_size or _HEADER.match(first) is not None


def loads(text: str, path: str = "<text>") -> Graph:
    """The graph that ``text`` describes; ``path`` is named in errors."""
    return _Reader(text, path).read()


class _Reader:
    """One file: where it is, what has been read of it."""

    def __init__(self, text: str, path: str) -> None:
        self.path = path
        self.lines = text.split("\n")
        self.text = text
        self.types: dict[str, ValueType] = {}
        self._known_types: dict[str, TensorType] = {}

    def fail(
        self, line: int, what: str, got: str = "", expected: str = "", remedy: str = _REMEDY
    ) -> NoReturn:
        raise self.damaged(line, what, got, expected, remedy)

    def damaged(
        self, line: int, what: str, got: str = "", expected: str = "", remedy: str = _REMEDY
    ) -> DamagedGraph:
        return DamagedGraph(what, f"{self.path}:{line}", got, expected, remedy)

    def read(self) -> Graph:
        self._version()
        function = self._function()
        inputs = tuple(self._input(a) for a in function.args.args)
        nodes: list[Node] = []
        mutations: list[Mutation] = []
        origins = self._origins(function)
        for statement in function.body[:-1]:
            match statement:
                case ast.AnnAssign() if not mutations:
                    nodes.append(self._node(statement, origins))
                case ast.Assign():
                    mutations.append(self._mutation(statement, inputs, mutations))
                case _:
                    self.fail(
                        statement.lineno,
                        "not a statement of a graph",
                        got=self._line(statement.lineno),
                        expected=_STATEMENT,
                    )
        outputs = self._outputs(function.body[-1])
        return Graph(
            function.name, inputs, tuple(nodes), outputs, tuple(mutations), self._facts(function)
        )

    def _line(self, number: int) -> str:
        return self.lines[number - 1].strip() if 0 < number <= len(self.lines) else ""

    def _version(self) -> None:
        match = _HEADER.match(self.lines[0].rstrip("\r"))
        if match is None:
            self.fail(
                1, "not a graph file", got=repr(self.lines[0][:80]), expected="# harness graph 1"
            )
        if int(match[1]) > FORMAT:
            self.fail(
                1,
                "the graph was written by a newer harness",
                got=f"format {match[1]}",
                expected=f"format {FORMAT} or older",
                remedy="update the harness, or capture the graph with this one",
            )

    def _function(self) -> ast.FunctionDef:
        try:
            tree = ast.parse(self.text)
        except SyntaxError as error:
            line = min(error.lineno or 1, len(self.lines))
            got = f"{error.msg}: {self._line(line)}"[:160]
            self.fail(line, "not Python", got, expected=_STATEMENT)
        except (ValueError, RecursionError, MemoryError) as error:
            self.fail(1, "not Python", got=str(error), expected="the text that capture wrote")
        if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
            line = tree.body[1].lineno if len(tree.body) > 1 else len(self.lines)
            self.fail(line, "a graph file holds one function", expected="def name(…):")
        function = tree.body[0]
        a = function.args
        if a.posonlyargs or a.kwonlyargs or a.vararg or a.kwarg or a.defaults:
            self.fail(function.lineno, "a graph has plain arguments only", expected='name: "type"')
        if not isinstance(function.body[-1], ast.Return):
            self.fail(
                len(self.lines),
                "the graph ends before its return; the file may be cut short",
                got=self._line(function.body[-1].end_lineno or 1),
                expected="return (…)",
            )
        return function

    def _facts(self, function: ast.FunctionDef) -> tuple[tuple[str, str], ...]:
        facts = []
        for number in range(2, function.lineno):
            key, colon, value = self.lines[number - 1].removeprefix("# ").partition(":")
            if not self.lines[number - 1].startswith("# ") or not colon:
                self.fail(
                    number, "not a fact", got=self.lines[number - 1][:80], expected="# key: value"
                )
            facts.append((key, value.removeprefix(" ")))
        return tuple(facts)

    def _origins(self, function: ast.FunctionDef) -> dict[int, tuple[str, str]]:
        """(module, source) in force at each line of the body."""
        table: dict[int, tuple[str, str]] = {}
        current = ("", "")
        for number in range(function.lineno, (function.end_lineno or 0) + 1):
            text = self.lines[number - 1].strip()
            if text.startswith("#"):
                text = text[1:].removeprefix(" ")
                match = _ORIGIN.match(text)
                current = (match["module"], match["source"]) if match else ("", text)
            table[number] = current
        return table

    def _define(self, name: str, kind: ValueType, line: int) -> None:
        if name in self.types:
            self.fail(line, f"the name {name} is given twice", expected="one value per name")
        self.types[name] = kind

    def _type(self, text: str, line: int) -> TensorType:
        known = self._known_types.get(text)
        if known is None:
            try:
                known = self._known_types[text] = parse_type(text)
            except GraphError as error:
                self.fail(line, error.what, error.got, error.expected)
        return known

    def _input(self, argument: ast.arg) -> Input:
        match argument.annotation:
            case ast.Constant(value=str() as text):
                pass
            case _:
                self.fail(argument.lineno, f"input {argument.arg} has no type", expected='"f32[4]"')
        end = max(text.rfind("]"), text.rfind("}")) + 1
        kind = self._type(text[:end], argument.lineno)
        role, bound = "data", None
        for word in text[end:].split(" bound=")[0].split():
            if word not in ROLES:
                self.fail(argument.lineno, "unknown role", got=word, expected=", ".join(ROLES))
            role = word
        if " bound=" in text[end:]:
            try:
                bound = parse_size(text[end:].split(" bound=", 1)[1])
            except GraphError as error:
                self.fail(argument.lineno, error.what, error.got, error.expected)
        self._define(argument.arg, kind, argument.lineno)
        return Input(argument.arg, kind, role, bound)

    def _node(self, statement: ast.AnnAssign, origins: dict[int, tuple[str, str]]) -> Node:
        line = statement.lineno
        if not isinstance(statement.target, ast.Name) or not isinstance(statement.value, ast.Call):
            self.fail(line, "not an operator call", self._line(line), 'name: "type" = operator(…)')
        call = statement.value
        op = ast.unparse(call.func)
        if not _OPERATOR.match(op):
            self.fail(line, "not an operator", op, "namespace.operator.overload, or getitem")
        args = tuple(self._argument(a) for a in call.args)
        kwargs = []
        for keyword in call.keywords:
            if keyword.arg is None:
                self.fail(line, "** has no place in a graph", self._line(line))
            kwargs.append((keyword.arg, self._argument(keyword.value)))
        kind = self._value_type(statement.annotation)
        module, source = origins[line]
        node = Node(statement.target.id, op, args, tuple(kwargs), kind, source, module)
        if op == "getitem":
            self._check_getitem(node, line)
        self._define(node.name, kind, line)
        return node

    def _check_getitem(self, node: Node, line: int) -> None:
        match node.args:
            case (Ref(name=name), int(index)) if not node.kwargs and not isinstance(index, bool):
                several = self.types[name]
            case _:
                self.fail(
                    line,
                    "getitem takes a value and a number",
                    got=f"{len(node.args) + len(node.kwargs)} arguments: {self._line(line)}",
                    expected="getitem(name, 0)",
                )
        if not isinstance(several, tuple):
            self.fail(
                line, f"{name} is one value, not several", expected="a node with a tuple type"
            )
        if not 0 <= index < len(several):
            self.fail(line, f"{name} has no result {index}", expected=f"0 to {len(several) - 1}")
        if several[index] != node.type:
            self.fail(
                line,
                f"the type of {node.name} is not that of result {index} of {name}",
                got=_describe(node.type),
                expected=_describe(several[index]),
            )

    def _value_type(self, annotation: ast.expr) -> ValueType:
        match annotation:
            case ast.Constant(value=None):
                return None
            case ast.Constant(value=str() as text):
                return self._type(text, annotation.lineno)
            case ast.Tuple(elts=elements):
                kinds: list[TensorType | None] = []
                for element in elements:
                    kind = self._value_type(element)
                    if isinstance(kind, tuple):
                        self.fail(
                            annotation.lineno, "a result is a tensor or None", expected='"f32[4]"'
                        )
                    kinds.append(kind)
                return tuple(kinds)
            case _:
                got = ast.unparse(annotation)
                expected = '"f32[4]", a tuple, None'
                raise self.damaged(annotation.lineno, "not a type", got, expected)

    def _argument(self, node: ast.expr) -> Arg:
        match node:
            case ast.Name(id=name):
                return self._reference(name, node.lineno)
            case ast.Constant(value=None | bool() | float() | str() as value):
                return value
            case ast.Constant(value=int() as value):
                return self._integer(value, node.lineno)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=float() as value)):
                return -value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
                return self._integer(-value, node.lineno)
            case ast.List(elts=elements):
                return tuple(self._argument(e) for e in elements)
            case ast.Attribute(value=ast.Name(id="torch"), attr=name):
                return _constant(name)
            case ast.Call(
                func=ast.Name(id="float" | "complex" | "sym" as function),
                args=[ast.Constant(value=str() as text)],
                keywords=[],
            ):
                return self._special(function, text, node.lineno)
            case _:
                raise self.damaged(
                    node.lineno,
                    "not an operator argument",
                    got=ast.unparse(node),
                    expected="a name, number, text, list, torch.<constant>, float(…) or sym(…)",
                )

    def _integer(self, value: int, line: int) -> int:
        if not -_INTEGERS <= value < _INTEGERS:
            self.fail(line, "an integer is too large", f"{value.bit_length()} bits", "64 bits")
        return value

    def _reference(self, name: str, line: int) -> Ref:
        if name not in self.types:
            self.fail(
                line,
                f"{name} is used but not defined above",
                got=self._line(line)[:120],
                expected="an input or an earlier node",
            )
        return Ref(name)

    def _special(self, function: str, text: str, line: int) -> float | complex | sympy.Expr:
        numbers = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
        if function == "float":
            if text not in numbers:
                self.fail(line, "not a special float", repr(text), ", ".join(numbers))
            return numbers[text]
        if function == "complex":
            try:
                return complex(text)
            except ValueError:
                self.fail(line, "not a complex number", repr(text), 'such as "(1+2j)"')
        try:
            return parse_size(text)
        except GraphError as error:
            self.fail(line, error.what, error.got, error.expected)

    def _mutation(
        self, statement: ast.Assign, inputs: tuple[Input, ...], earlier: list[Mutation]
    ) -> Mutation:
        match statement:
            case ast.Assign(
                targets=[ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=v))],
                value=ast.Name(id=value),
            ) if v is ...:
                pass
            case _:
                line = statement.lineno
                self.fail(line, "not a mutation", self._line(line), "input[...] = name")
        self._reference(value, statement.lineno)
        if name not in {i.name for i in inputs} or name in {m.input for m in earlier}:
            self.fail(statement.lineno, f"{name} is no input, or is written twice")
        old, new = self.types[name], self.types[value]
        if not (
            isinstance(old, TensorType)
            and isinstance(new, TensorType)
            and (old.dtype, old.shape) == (new.dtype, new.shape)
        ):
            self.fail(
                statement.lineno,
                f"{name} cannot hold {value}",
                got=_describe(new),
                expected=_describe(old),
            )
        return Mutation(name, value)

    def _outputs(self, statement: ast.stmt) -> tuple[str | None, ...]:
        if not isinstance(statement, ast.Return) or not isinstance(statement.value, ast.Tuple):
            self.fail(statement.lineno, "a graph returns a tuple", self._line(statement.lineno))
        outputs: list[str | None] = []
        for element in statement.value.elts:
            match element:
                case ast.Constant(value=None):
                    outputs.append(None)
                case ast.Name(id=name):
                    self._reference(name, element.lineno)
                    if not isinstance(self.types[name], TensorType):
                        self.fail(element.lineno, f"output {name} is not one tensor")
                    outputs.append(name)
                case _:
                    self.fail(element.lineno, "not an output", ast.unparse(element), "a name, None")
        return tuple(outputs)


def _constant(name: str) -> DType | Token:
    try:
        return from_torch_name(name)
    except KeyError:
        return Token(name)


def _describe(kind: ValueType) -> str:
    match kind:
        case None:
            return "None"
        case TensorType():
            return print_type(kind)
        case tuple():
            return f"({', '.join(_describe(k) for k in kind)})"
