"""Reading graph files: text to ``Graph``, with ``ast`` only, nothing executed. Needs neither torch
nor the library the model came from. Whatever is wrong with a file ends in ``DamagedGraph`` with the
file, the line, what was found and what belongs there."""

from __future__ import annotations

import ast
import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import sympy

from harness.dtypes import DType, from_torch_name
from harness.errors import DamagedGraph, GraphError
from harness.files import read_text
from harness.graph.model import Arg, Graph, Input, Mutation, Node, Ref, TensorType, Token, ValueType
from harness.graph.sizes import parse_size, parse_type, print_types

T = TypeVar("T")

FORMAT = 1
"""Version of the text format; raised when a reader of the old one would go wrong."""

ROLES = ("data", "parameter", "buffer", "gradient", "saved")

_HEADER = re.compile(r"^# harness graph (\d+)$")
_ORIGIN = re.compile(r"^\[(?P<module>[^\]]*)\] ?(?P<source>.*)$")
_OPERATOR = re.compile(r"^(?:(?!__)\w+\.\w+\.(?!__)\w+|getitem)$")
"""Operators may be called ``__and__``; no namespace and no overload is."""
_INTEGERS = 2**63
_REMEDY = "capture the graph again, or undo the edit"
_MISSING = "list the graphs: harness list; make one: harness capture TARGET -o FILE"
_STATEMENT = 'name: "type" = operator(…), then input[...] = name, then return'


def load(path: str | os.PathLike[str]) -> Graph:
    """The graph saved at ``path``. Raises ``DamagedGraph``, also for a file that is missing."""
    name = os.fspath(path)
    given = ("the graph file", "text, as harness capture writes it", _MISSING)
    return loads(read_text(Path(name), DamagedGraph, *given), name)


def is_graph(path: Path) -> bool:
    """Whether there is a file at ``path`` that begins as a graph file does, or an empty one."""
    if not path.is_file():
        return False
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

    def damaged(
        self,
        at: int | ast.stmt | ast.expr | ast.arg,
        what: str,
        expected: str = "",
        got: str | None = None,
        remedy: str = _REMEDY,
    ) -> DamagedGraph:
        """What is wrong in a line, by its number or by what stands there: ``got``, or the line."""
        line = at if isinstance(at, int) else at.lineno
        if got is None:
            got = self.lines[line - 1].strip()[:120] if 0 < line <= len(self.lines) else ""
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
                    raise self.damaged(statement, "not a statement of a graph", _STATEMENT)
        outputs = self._outputs(function.body[-1])
        return Graph(
            function.name, inputs, tuple(nodes), outputs, tuple(mutations), self._facts(function)
        )

    def _version(self) -> None:
        if (match := _HEADER.match(self.lines[0].rstrip("\r"))) is None:
            raise self.damaged(1, "not a graph file", "# harness graph 1")
        if int(match[1]) > FORMAT:
            raise self.damaged(
                1,
                "the graph was written by a newer harness",
                f"format {FORMAT} or older",
                remedy="update the harness, or capture the graph with this one",
            )

    def _function(self) -> ast.FunctionDef:
        try:
            tree = ast.parse(self.text)
        except SyntaxError as error:
            line = min(error.lineno or 1, len(self.lines))
            got = f"{error.msg}: {self.lines[line - 1].strip()}"[:160]
            raise self.damaged(line, "not Python", _STATEMENT, got) from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise self.damaged(1, "not Python", "what capture wrote", str(error)) from None
        if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
            line = tree.body[1].lineno if len(tree.body) > 1 else len(self.lines)
            raise self.damaged(line, "a graph file holds one function", "def name(…):")
        function = tree.body[0]
        a = function.args
        if a.posonlyargs or a.kwonlyargs or a.vararg or a.kwarg or a.defaults:
            raise self.damaged(function, "a graph has plain arguments only", 'name: "type"')
        if not isinstance(function.body[-1], ast.Return):
            line = function.body[-1].end_lineno or 1
            what = "the graph ends before its return; the file may be cut short"
            raise self.damaged(line, what, "return (…)")
        return function

    def _facts(self, function: ast.FunctionDef) -> tuple[tuple[str, str], ...]:
        facts = []
        for number in range(2, function.lineno):
            key, colon, value = self.lines[number - 1].removeprefix("# ").partition(":")
            if not self.lines[number - 1].startswith("# ") or not colon:
                raise self.damaged(number, "not a fact", "# key: value")
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

    def _define(self, name: str, kind: ValueType, at: ast.stmt | ast.arg) -> None:
        if name in self.types:
            raise self.damaged(at, f"the name {name} is given twice", "one value per name")
        self.types[name] = kind

    def _parsed(self, parse: Callable[[str], T], text: str, at: ast.expr | ast.arg) -> T:
        try:
            return parse(text)
        except GraphError as error:
            raise self.damaged(at, error.what, error.expected, error.got) from None

    def _type(self, text: str, at: ast.expr | ast.arg) -> TensorType:
        if (known := self._known_types.get(text)) is None:
            known = self._known_types[text] = self._parsed(parse_type, text, at)
        return known

    def _input(self, argument: ast.arg) -> Input:
        text = getattr(argument.annotation, "value", None)
        if not isinstance(text, str):
            raise self.damaged(argument, f"input {argument.arg} has no type", '"f32[4]"')
        end = max(text.rfind("]"), text.rfind("}")) + 1
        kind = self._type(text[:end], argument)
        words, bounded, bound = text[end:].partition(" bound=")
        role = "data"
        for role in words.split():
            if role not in ROLES:
                raise self.damaged(argument, "unknown role", ", ".join(ROLES), role)
        self._define(argument.arg, kind, argument)
        limit = self._parsed(parse_size, bound, argument) if bounded else None
        return Input(argument.arg, kind, role, limit)

    def _node(self, statement: ast.AnnAssign, origins: dict[int, tuple[str, str]]) -> Node:
        if not isinstance(statement.target, ast.Name) or not isinstance(statement.value, ast.Call):
            raise self.damaged(statement, "not an operator call", 'name: "type" = operator(…)')
        call = statement.value
        op = ast.unparse(call.func)
        if not _OPERATOR.match(op):
            expected = "namespace.operator.overload, or getitem"
            raise self.damaged(statement, "not an operator", expected, op)
        args = tuple(self._argument(a) for a in call.args)
        kwargs = []
        for keyword in call.keywords:
            if keyword.arg is None:
                raise self.damaged(statement, "** has no place in a graph")
            kwargs.append((keyword.arg, self._argument(keyword.value)))
        kind = self._value_type(statement.annotation)
        module, source = origins[statement.lineno]
        node = Node(statement.target.id, op, args, tuple(kwargs), kind, source, module)
        if op == "getitem":
            self._check_getitem(node, statement)
        self._define(node.name, kind, statement)
        return node

    def _check_getitem(self, node: Node, at: ast.stmt) -> None:
        match node.args:
            case (Ref(name=name), int(index)) if not node.kwargs and not isinstance(index, bool):
                several = self.types[name]
            case _:
                raise self.damaged(at, "getitem takes a value and a number", "getitem(name, 0)")
        if not isinstance(several, tuple):
            what = f"{name} is one value, not several"
            raise self.damaged(at, what, "a node with a tuple type")
        if not 0 <= index < len(several):
            what = f"{name} has no result {index}"
            raise self.damaged(at, what, f"0 to {len(several) - 1}")
        if several[index] != node.type:
            what = f"the type of {node.name} is not that of result {index} of {name}"
            raise self.damaged(at, what, print_types(several[index]), print_types(node.type))

    def _value_type(self, annotation: ast.expr) -> ValueType:
        match annotation:
            case ast.Constant(value=None):
                return None
            case ast.Constant(value=str() as text):
                return self._type(text, annotation)
            case ast.Tuple(elts=elements):
                kinds: list[TensorType | None] = []
                for element in elements:
                    kind = self._value_type(element)
                    if isinstance(kind, tuple):
                        raise self.damaged(element, "a result is a tensor or None", '"f32[4]"')
                    kinds.append(kind)
                return tuple(kinds)
            case _:
                raise self.damaged(annotation, "not a type", '"f32[4]", a tuple, None')

    def _argument(self, node: ast.expr) -> Arg:
        match node:
            case ast.Name(id=name):
                return self._reference(name, node)
            case ast.Constant(value=None | bool() | int() | float() | str() as value):
                return self._checked(value, node)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return self._checked(-value, node)
            case ast.List(elts=elements):
                return tuple(self._argument(e) for e in elements)
            case ast.Attribute(value=ast.Name(id="torch"), attr=name):
                return _constant(name)
            case ast.Call(
                func=ast.Name(id="float" | "complex" | "sym" as function),
                args=[ast.Constant(value=str() as text)],
                keywords=[],
            ):
                return self._special(function, text, node)
            case _:
                expected = "a name, number, text, list, torch.<constant>, float(…) or sym(…)"
                raise self.damaged(node, "not an operator argument", expected, ast.unparse(node))

    def _checked(self, value: Arg, at: ast.expr) -> Arg:
        if isinstance(value, int) and not -_INTEGERS <= value < _INTEGERS:
            got = f"{value.bit_length()} bits"
            raise self.damaged(at, "an integer is too large", "64 bits", got)
        return value

    def _reference(self, name: str, at: ast.stmt | ast.expr) -> Ref:
        if name not in self.types:
            what = f"{name} is used but not defined above"
            raise self.damaged(at, what, "an input or an earlier node")
        return Ref(name)

    def _special(self, function: str, text: str, at: ast.expr) -> float | complex | sympy.Expr:
        if function == "sym":
            return self._parsed(parse_size, text, at)
        numbers = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
        if function == "float":
            if text not in numbers:
                raise self.damaged(at, "not a special float", ", ".join(numbers), repr(text))
            return numbers[text]
        try:
            return complex(text)
        except ValueError:
            raise self.damaged(at, "not a complex number", 'such as "(1+2j)"', repr(text)) from None

    def _mutation(
        self, statement: ast.Assign, inputs: tuple[Input, ...], earlier: list[Mutation]
    ) -> Mutation:
        found = re.fullmatch(r"(\w+)\[\.\.\.\] = (\w+)", ast.unparse(statement))
        if found is None:
            raise self.damaged(statement, "not a mutation", "input[...] = name")
        name, value = found.groups()
        self._reference(value, statement)
        if name not in {i.name for i in inputs} or name in {m.input for m in earlier}:
            raise self.damaged(statement, f"{name} is no input, or is written twice")
        sides = self.types[name], self.types[value]
        kinds = [(one.dtype, one.shape) for one in sides if isinstance(one, TensorType)]
        if len(kinds) < 2 or kinds[0] != kinds[1]:
            raise self.damaged(statement, f"{name} cannot hold {value}", *map(print_types, sides))
        return Mutation(name, value)

    def _outputs(self, statement: ast.stmt) -> tuple[str | None, ...]:
        if not isinstance(statement, ast.Return) or not isinstance(statement.value, ast.Tuple):
            raise self.damaged(statement, "a graph returns a tuple", "return (name, …)")
        outputs: list[str | None] = []
        for element in statement.value.elts:
            match element:
                case ast.Constant(value=None):
                    outputs.append(None)
                case ast.Name(id=name):
                    self._reference(name, element)
                    if not isinstance(self.types[name], TensorType):
                        raise self.damaged(element, f"output {name} is not one tensor")
                    outputs.append(name)
                case _:
                    raise self.damaged(element, "not an output", "a name, None")
        return tuple(outputs)


def _constant(name: str) -> DType | Token:
    try:
        return from_torch_name(name)
    except KeyError:
        return Token(name)
