"""A program as text: readable, and the same for any hash seed."""

from __future__ import annotations

from collections.abc import Sequence

from harness.ir import nodes as ir
from harness.ir.index_text import size_text
from harness.ir.program import Buffer, Program


def dump(program: Program) -> str:
    """The whole program: buffers, then nests with one numbered line per value. ``%3 = mul %1, %2 :
    f32``. Numbers start again in each nest."""
    lines = [f"program {program.name}", *(f"  {_buffer(b)}" for b in program.buffers)]
    for nest in program.nests:
        lines += ["", *(f"  {line}" for line in _nest(nest))]
    lines += ["", f"  return {', '.join(program.outputs)}"]
    if program.mutated:
        lines.append(f"  mutates {', '.join(program.mutated)}")
    return "\n".join(lines) + "\n"


def _nest(nest: ir.Nest) -> list[str]:
    """One nest as lines: its loops, its values, its stores."""
    lines = [f"nest {nest.name}  # {', '.join(nest.origins)}"]
    for word, axes in (("for", nest.axes), ("reduce", nest.raxes)):
        if axes:
            loops = ", ".join(f"{a.var.name} < {size_text(a.size)}" for a in axes)
            lines.append(f"{word} {loops}:")
    return [*lines, *(f"  {line}" for line in dump_stores(nest.stores))]


def dump_stores(stores: Sequence[ir.Store]) -> list[str]:
    """Stores as lines, after the values that they need."""
    lines: list[str] = []
    numbers: dict[int, str] = {}
    for value in ir.walk(ir.store_roots(stores)):
        numbers[id(value)] = f"%{len(numbers)}"
        text = _value(value, numbers)
        lines.append(f"{numbers[id(value)]} = {text} : {value.dtype.short}")
    return lines + [_store(s, numbers) for s in stores]


def _buffer(buffer: Buffer) -> str:
    shape, stride = (", ".join(map(size_text, one)) for one in (buffer.shape, buffer.stride))
    bound = "" if buffer.bound is None else f" below {size_text(buffer.bound)}"
    kind = f"{buffer.dtype.short}[{shape}] stride ({stride})"
    return f"{buffer.role.value} {buffer.name}: {kind}{bound}  # {buffer.node}"


def _where(indirect: ir.Indirect, numbers: dict[int, str]) -> str:
    if not indirect:
        return ""
    return " with " + ", ".join(f"{s.name} = {numbers[id(v)]}" for s, v in indirect)


def _value(value: ir.Value, numbers: dict[int, str]) -> str:
    match value:
        case ir.Constant():
            return f"constant {value.number!r}"
        case ir.Load():
            place = size_text(value.index)
            return f"load {value.buffer}[{place}]{_where(value.indirect, numbers)}"
        case ir.IndexValue():
            return f"index {size_text(value.index)}{_where(value.indirect, numbers)}"
        case ir.Compute():
            return f"{value.op.value} {_names(value.args, numbers)}"
        case ir.Masked(mask=mask, body=body, other=other):
            return f"masked {numbers[id(mask)]} ? {numbers[id(body)]} : {numbers[id(other)]}"
        case ir.Reduce():
            return f"reduce.{value.kind.value}.{value.component} {_names(value.args, numbers)}"
        case ir.Scan():
            kind = value.kind.value if isinstance(value.kind, ir.ScanKind) else "by_function"
            return f"scan.{kind}.{value.component} {_names(value.args, numbers)}"
        case ir.Sort():
            order = "descending" if value.descending else "ascending"
            first = "" if value.limit is None else f" first {value.limit}"
            return f"sort.{order}.{value.component} {_names(value.args, numbers)}{first}"


def _names(args: tuple[ir.Value, ...], numbers: dict[int, str]) -> str:
    return ", ".join(numbers[id(a)] for a in args)


def _store(store: ir.Store, numbers: dict[int, str]) -> str:
    operators = {
        ir.StoreMode.PLAIN: "=",
        ir.StoreMode.ATOMIC_ADD: "+=",
        ir.StoreMode.ATOMIC_MAX: "max=",
    }
    operator = operators[store.mode]
    target = f"{store.buffer}[{size_text(store.index)}]"
    mask = "" if store.mask is None else f" if {numbers[id(store.mask)]}"
    return f"{target} {operator} {numbers[id(store.value)]}{_where(store.indirect, numbers)}{mask}"
