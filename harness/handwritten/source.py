"""Cutting a declared kernel out of the user's file, with all that it needs and nothing else.

An emitted module is kept for years and must run without the file it came from, so the text of
the kernel, of the functions in its declaration and of everything these use is copied. What
a kernel does not use is left out: editing it must not make another kernel of this one.
"""

from __future__ import annotations

import ast
import symtable
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from harness.errors import UsageError
from harness.ir.reach import reached
from harness.runtime.module import names_in

_TUNERS = (".autotune", ".heuristics")
_HOST_PARTS = ("args", "reference", "grid", "bytes")


@dataclass(frozen=True, slots=True)
class KernelText:
    """The text of one kernel. ``device`` is what must stand at the top level of a module, the
    kernel last; ``host`` are statements that ``parts`` (expressions by keyword of the declaration)
    need."""

    name: str
    line: int
    imports: str
    device: str
    host: str
    parts: dict[str, str]
    summary: str


def declares_kernels(text: str) -> bool:
    """Whether the file with this ``text`` imports the harness, which graph files never do."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return bool(_decorators(tree))


def cut(text: str, where: str) -> dict[str, KernelText]:
    """Every declared kernel of a file by name, in the file's order. Raises ``UsageError`` for a
    file that does not parse, and for a declaration that is not a decorator of a function at the top
    level."""
    try:
        tree = ast.parse(text)
        file = _File(text, tree, where)
    except (SyntaxError, ValueError) as error:
        raise UsageError(
            "a file of kernels is not Python",
            where=where,
            got=str(error),
            expected="a Python file",
            remedy="python FILE says where it goes wrong",
        ) from error
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    made = [file.kernel(node, call) for node in functions if (call := file.declaration(node))]
    return {kernel.name: kernel for kernel in made}


def _decorators(tree: ast.Module) -> set[str]:
    """What ``harness.kernel`` is called in a file, by what it imports."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            found |= {f"{a.asname or a.name}.kernel" for a in node.names if a.name == "harness"}
        elif isinstance(node, ast.ImportFrom) and node.module == "harness":
            found |= {a.asname or a.name for a in node.names if a.name == "kernel"}
    return found


class _File:
    """A parsed file: which of its statements bind which names, and which they use."""

    def __init__(self, text: str, tree: ast.Module, where: str) -> None:
        self._text = text
        self._lines = text.splitlines()
        self._where = where
        self._decorators = _decorators(tree)
        own = (node for node in tree.body if not self._is_harness(node))
        self._body = [(bound_names(ast.unparse(node)), node) for node in own]

    def kernel(self, node: ast.FunctionDef, declaration: ast.Call) -> KernelText:
        """The kernel that ``node`` defines, with all it needs."""
        parts = {str(k.arg): k.value for k in declaration.keywords if k.arg in _HOST_PARTS}
        device = self._needed(self._used(node), {node.name})
        wanted = set[str]().union(*map(names_in, parts.values()))
        if wanted & {node.name}:
            raise UsageError(
                "a declaration uses the kernel that it declares",
                where=f"{self._where}:{node.lineno}",
                got=node.name,
                expected="a reference in plain torch",
                remedy="compute what the kernel writes without launching it",
            )
        host = self._needed(wanted, set())
        both = [*device, *(one for one in host if one not in device)]
        imports = [one for one in both if isinstance(one, ast.Import | ast.ImportFrom)]
        return KernelText(
            node.name,
            node.lineno,
            "\n".join(dict.fromkeys(ast.unparse(one) for one in imports)),
            "\n\n".join([*self._texts(device), self._function(node, ["@triton.jit"])]),
            "\n".join(ast.unparse(one) for one in host if one not in imports),
            {name: ast.unparse(value) for name, value in parts.items()},
            (ast.get_docstring(node) or "").strip().split("\n")[0],
        )

    def _is_harness(self, node: ast.stmt) -> bool:
        if isinstance(node, ast.Import):
            return {a.name for a in node.names} == {"harness"}
        return isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "harness"

    def declaration(self, node: ast.FunctionDef) -> ast.Call | None:
        """The decorator that declares ``node`` as a kernel."""
        calls = (one for one in node.decorator_list if isinstance(one, ast.Call))
        return next((one for one in calls if ast.unparse(one.func) in self._decorators), None)

    def _used(self, node: ast.stmt) -> set[str]:
        """Names that a statement needs to exist; of a kernel without its decorators."""
        if not isinstance(node, ast.FunctionDef):
            return names_in(node)
        found = names_in(node.args) | set[str]().union(*(names_in(one) for one in node.body))
        kept = [d for d in node.decorator_list if not self._dropped(d)]
        return found.union(*(names_in(d) for d in kept))

    def _dropped(self, decorator: ast.expr) -> bool:
        """Decorators that say how a kernel is tuned or declared, not what it does."""
        name = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)
        return name in self._decorators or name.endswith(_TUNERS)

    def _needed(self, names: Iterable[str], but: set[str]) -> list[ast.stmt]:
        """The statements that bind ``names`` and, over and over, what these use; file order."""

        def used(name: str) -> set[str]:
            return set[str]().union(*(self._used(n) for own, n in self._body if name in own)) - but

        wanted = set(reached(set(names) - but, used))
        return [node for own, node in self._body if own & wanted]

    def _texts(self, nodes: Sequence[ast.stmt]) -> Iterator[str]:
        for node in nodes:
            if isinstance(node, ast.FunctionDef):
                kept = [d for d in node.decorator_list if not self._dropped(d)]
                yield self._function(node, [f"@{ast.unparse(d)}" for d in kept])
            elif not isinstance(node, ast.Import | ast.ImportFrom):
                yield ast.get_source_segment(self._text, node) or ast.unparse(node)

    def _function(self, node: ast.FunctionDef, decorators: Sequence[str]) -> str:
        lines = self._lines[node.lineno - 1 : node.end_lineno]
        return "\n".join([*decorators, textwrap.dedent("\n".join(lines))])


def bound_names(text: str) -> set[str]:
    """Names that the top level of ``text`` binds."""
    found = symtable.symtable(text, "", "exec").get_symbols()
    return {one.get_name() for one in found if one.is_assigned() or one.is_imported()}
