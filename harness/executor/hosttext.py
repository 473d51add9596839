"""Host functions: straight-line Python that runs a compiled graph, and what it calls beside torch.

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

import linecache
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy
import torch

from harness.errors import GraphError
from harness.graph.calltext import local_name
from harness.graph.model import TensorType
from harness.graph.replay import same_layout, torch_dtype
from harness.ir.affine import Size, size_of
from harness.ir.index import size_symbol
from harness.ir.index_text import size_text
from harness.ir.program import Buffer
from harness.runtime.launch.driver import cuda
from harness.runtime.launch.host import Empty, Reinterpret

SPARE, MOST_WORKSPACES = -1, 16
"""In the place of a recording's number; and workspaces (of a megabyte) that recordings keep."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A buffer's layout: integers where they are known, expressions over sizes elsewhere."""

    shape: tuple[Size, ...]
    stride: tuple[Size, ...]
    dtype: torch.dtype

    @classmethod
    def of(cls, recorded: Buffer | TensorType) -> Layout:
        """The layout that the graph recorded for a value."""
        shape, stride = (tuple(map(size_of, sizes)) for sizes in (recorded.shape, recorded.stride))
        return cls(shape, stride, torch_dtype(recorded.dtype))

    def fits(self, tensor: torch.Tensor, device: torch.device) -> bool:
        """Whether kernels can read ``tensor`` where it is."""
        stride: Any = self.stride
        same = tensor.device.type == device.type and tensor.dtype is self.dtype
        return same and same_layout(tensor, stride)


@dataclass(frozen=True, slots=True)
class Host:
    """What generated host functions call besides torch. ``workspaces`` by words, stream and the
    number of a recording, which is 0 outside of any and ``SPARE`` for the next one's."""

    device: torch.device
    empty: Empty
    reinterpret: Reinterpret
    workspaces: dict[tuple[int, int, int], torch.Tensor] = field(
        default_factory=dict, compare=False
    )

    def adapted(self, tensor: torch.Tensor, layout: Layout) -> torch.Tensor:
        """``tensor`` if kernels can read it where it is, otherwise a copy that they can."""
        if layout.fits(tensor, self.device):
            return tensor
        lies: Any = (layout.shape, layout.stride, layout.dtype)
        return self.empty(*lies).copy_(tensor)

    def zeros(self, count: int, stream: int) -> torch.Tensor:
        """A workspace of ``count`` words for a kernel that leaves zeros there: on a GPU the one
        that the last kernel of ``stream`` had. A CUDA graph has its own, because nobody knows which
        stream it will run on, cleared before it is recorded; and so has the interpreter, where a
        kernel may stop halfway, for every launch."""
        if self.device.type != "cuda":
            return self._cleared(count)
        recording = cuda().recording(stream) if torch.cuda.is_current_stream_capturing() else 0
        key, spare = (count, stream, recording), (count, 0, SPARE)
        room = len(self.workspaces) < MOST_WORKSPACES
        if room and not recording and spare not in self.workspaces:
            self.workspaces[spare] = self._cleared(count)
        if key not in self.workspaces:
            kept = self.workspaces.pop(spare, None) if recording else None
            made = self._cleared(count) if kept is None else kept
            if recording and len(self.workspaces) >= MOST_WORKSPACES:
                return made
            self.workspaces[key] = made
        return self.workspaces[key]

    def _cleared(self, count: int) -> torch.Tensor:
        return torch.zeros(count, dtype=torch.int64, device=self.device)

    def all_fit(self, pairs: Sequence[tuple[torch.Tensor, Layout]]) -> bool:
        """Whether kernels can read each of the tensors where it is."""
        return all(layout.fits(tensor, self.device) for tensor, layout in pairs)


_INDENT = "    "


@dataclass(eq=False, slots=True)
class HostText:
    """Lines of one host function, and the objects that its free names mean."""

    lines: list[str] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=dict)
    _sizes: dict[sympy.Expr, str] = field(default_factory=dict)
    _taken: dict[str, int] = field(default_factory=dict)
    _bound: dict[tuple[type, Hashable], str] = field(default_factory=dict)
    _gone: set[str] = field(default_factory=set)

    def add(self, *lines: str) -> None:
        """More lines of the function's body."""
        self.lines.extend(_INDENT + line for line in lines)

    def fresh(self, wanted: str) -> str:
        """A variable that nothing else in the function is called."""
        base = local_name(wanted, _BUILT_IN)
        while True:
            number = self._taken[base] = self._taken.get(base, 0) + 1
            name = base if number == 1 else f"{base}_{number}"
            if number == 1 or name not in self._taken:
                self._taken.setdefault(name, 1)
                return name

    def bind(self, thing: Hashable, wanted: str) -> str:
        """The name by which the function knows ``thing``; equal things have one."""
        key = (type(thing), thing)
        if (known := self._bound.get(key)) is None:
            known = self._bound[key] = self.fresh(wanted)
            self.names[known] = thing
        return known

    def unknown(self, symbol: sympy.Symbol) -> str:
        """The variable of a size that only a call knows."""
        if symbol not in self._sizes:
            self._sizes[symbol] = self.fresh(str(symbol))
        return self._sizes[symbol]

    def measure(self, variable: str, shape: Sequence[sympy.Expr]) -> None:
        """Read off the tensor ``variable`` what its ``shape`` tells of unknown sizes."""
        for axis, size in enumerate(shape):
            if isinstance(size, sympy.Symbol) and size not in self._sizes:
                self.add(f"{self.unknown(size)} = {variable}.shape[{axis}]")

    def size(self, size: Size) -> str:
        """The text of a size; what takes arithmetic is computed once, into a variable."""
        if isinstance(size, int) or size.is_Integer:
            return str(int(size))
        if (found := self._sizes.get(size)) is None:
            if not size.free_symbols <= self._sizes.keys():
                raise GraphError(
                    "a size does not follow from the inputs",
                    got=str(size),
                    expected=f"sizes over {', '.join(map(str, self._sizes)) or 'no unknown ones'}",
                    remedy="capture the graph again, or undo the edit",
                )
            renamed = size.xreplace({s: size_symbol(self._sizes[s]) for s in size.free_symbols})
            found = self._sizes[size] = self.fresh("size")
            self.add(f"{found} = {size_text(renamed)}")
        return found

    def number(self, value: Any) -> str:
        """The text of a size, of a constant, or of a function of such that stands before them."""
        if isinstance(value, tuple):
            function, *args = value
            name = self.bind(function, function.__name__)
            return f"{name}({', '.join(map(self.number, args))})"
        if isinstance(value, (bool, float)):
            return str(value) if isinstance(value, bool) else f"float('{value}')"
        return self.size(value)

    def numbers(self, sizes: Sequence[Size]) -> str:
        """A tuple of sizes."""
        items = [self.size(size) for size in sizes]
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"

    def layout(self, layout: Layout) -> str:
        """The text of a layout: its name, where its sizes are known."""
        if all(isinstance(n, int) for n in (*layout.shape, *layout.stride)):
            return self.bind(layout, "layout")
        sizes = f"{self.numbers(layout.shape)}, {self.numbers(layout.stride)}"
        return f"{self.bind(Layout, 'Layout')}({sizes}, {self.dtype(layout.dtype)})"

    def dtype(self, dtype: torch.dtype) -> str:
        """The name of an element type."""
        return self.bind(dtype, str(dtype).removeprefix("torch."))

    def drop(self, names: Iterable[str]) -> None:
        """Forget variables, once, in one line; sizes stay."""
        kept = {*self._sizes.values()}
        new = (name for name in dict.fromkeys(names) if name not in self._gone)
        if found := [name for name in new if name not in kept]:
            self._gone.update(found)
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


_BUILT_IN = frozenset({"complex", "float", "len", "run", "tensors", "max", "min"})


def unpacking(variables: Sequence[str], value: str) -> list[str]:
    """Lines that name the items of the list ``value``."""
    return [f"{', '.join(variables)}, = {value}"] if variables else []


def listing(items: Sequence[str]) -> str:
    """A list display."""
    return f"[{', '.join(items)}]"
