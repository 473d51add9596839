"""Host functions: straight-line Python that runs a compiled graph.

One function per graph: allocations, launches, library calls, and a ``del`` after each value's
last use, in the order of the partition. It is written once from what is known beforehand;
what is not known then (the layout of an input, an operator's result) is checked in it.

The text of

    def run(tensors):
        if len(tensors) != 2: mismatch(tensors)
        x, weight, = tensors
        tensors.clear()
        …
        stream = current_stream(0)
        y = empty((8, 4), (4, 1), float32)
        triton_poi_fused_add_0(stream, x, y)
        del x
        z = mm(y, weight)
        return [z]

is kept (the function's ``text``), so that a traceback shows its lines.
"""

from __future__ import annotations

import keyword
import linecache
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from harness.executor.layouts import Layout

_INDENT = "    "


@dataclass(eq=False, slots=True)
class HostText:
    """Lines of one host function, and the objects that its free names mean."""

    lines: list[str] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=dict)
    _taken: dict[str, int] = field(default_factory=dict)
    _bound: dict[tuple[type, Hashable], str] = field(default_factory=dict)

    def add(self, *lines: str) -> None:
        """More lines of the function's body."""
        self.lines.extend(_INDENT + line for line in lines)

    def fresh(self, wanted: str) -> str:
        """A variable that nothing else in the function is called."""
        base = "".join(c if c.isalnum() or c == "_" else "_" for c in wanted)
        if not base or base[0].isdigit() or keyword.iskeyword(base) or base in _BUILT_IN:
            base = f"v_{base}"
        while True:
            number = self._taken[base] = self._taken.get(base, 0) + 1
            name = base if number == 1 else f"{base}_{number}"
            if number == 1 or name not in self._taken:
                self._taken.setdefault(name, 1)
                return name

    def bind(self, thing: Hashable, wanted: str) -> str:
        """The name by which the function knows ``thing``; equal things have one."""
        key = (type(thing), thing)
        known = self._bound.get(key)
        if known is None:
            known = self._bound[key] = self.fresh(wanted)
            self.names[known] = thing
        return known

    def layout(self, layout: Layout) -> str:
        """The name of a layout."""
        return self.bind(layout, "layout")

    def dtype(self, dtype: torch.dtype) -> str:
        """The name of an element type."""
        return self.bind(dtype, str(dtype).removeprefix("torch."))

    def drop(self, names: Iterable[str]) -> None:
        """Forget variables, in one line."""
        found = list(dict.fromkeys(names))
        if found:
            self.add(f"del {', '.join(found)}")

    def function(self, name: str, title: str) -> Callable[..., Any]:
        """The function, compiled. ``title`` is the file name that tracebacks show."""
        text = "\n".join([f"def {name}(tensors):", *self.lines, ""])
        # The same title for two graphs must not make one's text the other's.
        where = f"<{title} {id(self):x}>"
        code = compile(text, where, "exec")
        scope = {**self.names}
        exec(code, scope)  # noqa: S102 - written above, from a compiled graph
        linecache.cache[where] = (len(text), None, text.splitlines(keepends=True), where)
        made: Callable[..., Any] = scope[name]
        made.__dict__["text"] = text
        return made


_BUILT_IN = frozenset({"complex", "float", "len", "run", "tensors"})


def unpacking(variables: Sequence[str], value: str) -> list[str]:
    """Lines that name the items of the list ``value``."""
    return [f"{', '.join(variables)}, = {value}"] if variables else []


def listing(items: Sequence[str]) -> str:
    """A list display."""
    return f"[{', '.join(items)}]"
