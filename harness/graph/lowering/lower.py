"""From a region's graph to a program: which values get buffers, and the nests that fill them."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import sympy

from harness.decisions import Decisions
from harness.graph.bounds import index_bounds
from harness.graph.lowering import cost
from harness.graph.lowering.context import Context
from harness.graph.lowering.nests import NestMaker, layout_of
from harness.graph.lowering.operators import pointwise
from harness.graph.lowering.operators.joining import MANY, at_once
from harness.graph.lowering.operators.scanning import limited, only_picked, pick
from harness.graph.lowering.rule import Call, Rule, Rules, unsupported
from harness.graph.lowering.tensor import Reduced, Result, Scanned, Scattered, Tensor, canonical
from harness.graph.model import MANY_TILES, Graph, Mutation, Node, Ref, TensorType, tensors_of
from harness.graph.passes.cleanup import kept_names
from harness.graph.passes.reductions import crossed
from harness.ir.affine import size_hint
from harness.ir.index import flat_index, size_symbol
from harness.ir.nodes import Load, StoreMode, walk
from harness.ir.program import Buffer, Program, Role

_DIVIDING = (
    "aten.div.Tensor_mode", "aten.floor_divide", "aten.fmod", "aten.frexp", "aten.remainder",
)  # fmt: skip


def _end(
    node: Node, kept: Collection[str], ends: dict[str, int], numel: int, own: int
) -> dict[str, int]:
    """Where the use by ``node`` of a value of ``numel`` elements ends, with points: where those of
    its own value do, if it is pointwise and these are few and of not many more points. Padding
    counts none: it has all elsewhere."""
    if node.packet == "constant_pad_nd" and any(node.args[1]):  # type: ignore[arg-type]
        return {node.name: 0}
    if node.op not in pointwise.RULES or node.name in kept or own != numel:
        return {node.name: own}
    most = max(ends.values())
    return ends if len(ends) < 8 and most < 8 * numel else {node.name: most}


def analyse(graph: Graph, rules: Rules) -> cost.Uses:
    """Walk the graph backwards from its outputs and mutations."""
    types = graph.types()
    points = {
        name: max((size_hint(one.numel) for one in tensors_of(kind)), default=1)
        for name, kind in types.items()
    }
    kept = kept_names(graph)
    needed = set(kept)
    ends = {name: {name: points.get(name, 1)} for name in needed}
    evaluated = Counter({name: points.get(name, 1) for name in needed})
    passes = evaluated.copy()  # over its elements, by all kernels that its users end in
    users, reread, padded, copied, looked_up = Counter(needed), *(Counter[str]() for _ in range(4))
    live, divided = list[Node](), set[str]()
    for node in reversed(graph.nodes):
        if node.name not in needed:
            continue
        live.append(node)
        rule = rules.get(node.op)
        see_through = node.op == "getitem" or (rule is not None and rule.view)
        names = list(dict.fromkeys(node.refs()))
        same = (see_through or node.packet == "_to_copy") and node.name in divided
        divided.update(names if same or node.op.startswith(_DIVIDING) else ())
        own = max([points[node.name], *(points[n] for n in names)]) if names else 0
        read = points[node.name] * rule.reads(node) if rule is not None and rule.reads else 0
        for name in names:
            needed.add(name)
            found = _end(node, kept, ends[node.name], points[name], own)
            if see_through:
                found = {f"{node.name} {end}": size for end, size in ends[node.name].items()}
                for counter in (users, evaluated, passes, reread, copied, looked_up):
                    counter[name] += counter[node.name]
                repeated = any(0 in one.stride for one in tensors_of(types[name]))
                copied[name] += own * (repeated and node.packet == "clone")
            else:
                users[name] += 1
                evaluated[name] += own
                passes[name] += (points[name] if node.packet == "cat" else own) * len(found)
                reread[name] += read
                whole = name == names[0] and own > points[name]
                looked_up[name] += own * (whole and node.packet == "index")
            ends.setdefault(name, {}).update(found)
            inner = node.packet == "constant_pad_nd" and node.name not in kept
            padded[name] += reread[node.name] * inner
    parts = {(next(n.refs()), int(n.args[1])): n.name for n in live if n.op == "getitem"}  # type: ignore[arg-type]
    demand = {}
    for name, count in users.items():
        size, ended = max(1, points[name]), min(count, len(ends[name]))
        times, wholes = max(count, evaluated[name] // size), -(-passes[name] // size)
        # Who needs all of it where it is may store it there for those who read it padded.
        again = reread[name] + padded[name] * (size in ends[name].values())
        often = again / size, copied[name] / size, looked_up[name] / size
        demand[name] = cost.Demand(count, ended, times, *often, wholes)
    return cost.Uses(tuple(live[::-1]), kept, points, demand, parts, frozenset(divided))


class Lowering:
    """The state of lowering one graph."""

    def __init__(self, graph: Graph, rules: Rules, uses: cost.Uses, decisions: Decisions) -> None:
        self.graph, self.rules, self.uses, self.decisions = graph, rules, uses, decisions
        self.tensors: dict[str, Tensor] = {}
        self.several: dict[str, tuple[Result | None, ...]] = {}
        self.origins: dict[str, frozenset[str]] = {}
        self.alias: dict[str, str] = {}
        self.buffers: dict[str, Buffer] = {}
        self.types: dict[str, TensorType] = {}
        self.picked: dict[str, Scanned] = {}
        self.in_place: dict[str, Scattered] = {}
        self.inlined: dict[str, bool] = {}  # of reductions to be written out
        self.bounds, self.context = index_bounds(graph), Context()
        self.maker = NestMaker(self.context, {n.name: k for k, n in enumerate(graph.nodes)})
        self.context.facts = graph.facts
        self.context.given = frozenset(graph.given)
        self.context.outputs = frozenset(graph.results)
        self.context.crossed = functools.cache(functools.partial(crossed, graph))
        self.context.apart, self.context.live = self._is_apart, uses.live

    def run(self) -> Program:
        """Lower everything."""
        for given in self.graph.inputs:
            name, kind, bound = given.name, given.type, given.bound or self.bounds.get(given.name)
            made = Buffer(name, kind.dtype, kind.shape, kind.stride, Role.INPUT, name, bound)
            self.buffers[name] = made
            self._stored(made)
        for node in self.uses.live:
            self._lower_node(node)
        outputs = tuple(map(self._output, self.graph.results))
        mutated, buffers = self._mutate(), tuple(self.buffers.values())
        nests, many = tuple(self.maker.nests), MANY_TILES in self.graph.facts
        likely = {size_symbol(name): int(n) for name, n in self.graph.facts if n.isdecimal()}
        return Program(self.graph.name, buffers, nests, outputs, mutated, many, likely)

    def _lower_node(self, node: Node) -> None:
        before = (self.origins[r] for r in node.refs())
        self.origins[node.name] = frozenset({node.name}).union(*before)
        if node.op == "getitem":
            self._take(node)
            return
        rule = self.rules.get(node.op)
        if rule is None:
            raise unsupported(node, "an operator without a lowering")
        call = Call(self.context, node, self.tensors, self.types, self.rules)
        sorted_row = self.picked.get(next(iter(node.refs()), ""))
        lowered = rule.lower(call) if sorted_row is None else pick(call, sorted_row)
        if isinstance(lowered, tuple):
            self._settle_several(node, lowered)
            return
        assert isinstance(node.type, TensorType)
        as_stored = node.name in self.uses.divided or self.inlined.get(node.name)
        if isinstance(lowered, Tensor) and as_stored:
            lowered = replace(lowered, value=call.rounded(lowered.value, lowered.dtype))
        self._settle(node, node.type, lowered, rule)

    def _take(self, node: Node) -> None:
        """``getitem``: parts of reductions have their buffers, others are settled here."""
        source, position = node.args
        assert isinstance(source, Ref) and isinstance(node.type, TensorType)
        name = self.uses.parts[source.name, int(position)]  # type: ignore[arg-type]
        if node.name in self.picked:
            return
        if name != node.name:
            self.types[node.name] = node.type
            self._become(node.name, name)
            return
        part = self.several[source.name][int(position)]  # type: ignore[arg-type]
        if part is None:
            raise unsupported(node, "a result that is absent")
        if isinstance(part, Reduced | Scanned):
            self.origins[node.name] = frozenset()
        else:
            self._settle(node, node.type, part, None)

    def _is_apart(self, node: Node) -> bool:
        """Whether to write out a reduction of few elements: within its users, or it would leave
        lanes idle or repeat work or a later one joins it, and nothing else of its operand's size
        shares a kernel with it."""
        (source, *_), sizes, demand = node.refs(), self.uses.points, self.uses.demand
        own, whole = sizes[node.name], sizes[source]
        if isinstance(node.type, tuple) or not own < whole <= cost.MOST_TERMS * own:
            return False
        used, loads = demand[node.name], cost.profile(self.tensors[source].value).loads
        within = self.origins[source] & self.tensors.keys()
        made = {n for n in within if not isinstance(self.tensors[n].value, Load)}
        given = all(self.buffers[load.buffer].role is Role.INPUT for load in loads)
        inlined = given and self.uses.inlines(node, made)
        before, after = {source}, {node.name}
        joins = whole // own not in (2, 4, 8) or any(map(self.inlined.get, within))
        for one in (n for n in reversed(self.uses.live) if n.packet != "index"):
            before.update(n for n in one.refs() if one.name in before and sizes[n] == whole)
        for one in (n for n in self.uses.live if not after.isdisjoint(n.refs())):
            joins = joins or sizes[one.name] < own
            after.update([one.name] if sizes[one.name] == own else ())
        alone = used.evaluations <= used.users and all(demand[n].users == 1 for n in before)
        if found := inlined or (joins and alone):
            self.inlined[node.name] = inlined
        return found

    def _settle_several(self, node: Node, parts: tuple[Result | None, ...]) -> None:
        self.several[node.name] = parts
        made: list[tuple[Buffer, Result]] = []
        for position, part in enumerate(parts):
            name = self.uses.parts.get((node.name, position))
            if name is None or not isinstance(part, Reduced | Scanned):
                continue
            if isinstance(part, Scanned) and self._is_picked(name, part):
                continue
            kind = node.type[position] if isinstance(node.type, tuple) else None
            assert kind is not None
            made.append((self._new_buffer(name, kind), part))
        self._made(made, self.origins[node.name].union(buffer.name for buffer, _ in made))

    def _made(self, made: Sequence[tuple[Buffer, Any]], origins: frozenset[str]) -> None:
        """Fill the buffers of what is reduced or scanned together, and read them from now on."""
        for kind, make in ((Reduced, self.maker.reduce), (Scanned, self.maker.scan)):
            if parts := [one for one in made if isinstance(one[1], kind)]:
                make(parts, origins)
        for buffer, _ in made:
            self._stored(buffer)

    def _is_picked(self, name: str, part: Scanned) -> bool:
        """Whether only parts of a scanned row are needed; then nobody stores the whole."""
        own = self.graph.node(name)
        names = [n.name for n in self.graph.nodes if (n.op, n.args) == (own.op, own.args)]
        names = names if own.op == "getitem" else [name]
        picked = (only_picked(self.graph, n, part.dim) for n in names)
        if not part.whole or part.backward or not all(picked):
            return False
        part = limited(self.graph, names, part, self.context.builder)
        self.picked.update(dict.fromkeys(names, part))
        return True

    def _settle(self, node: Node, kind: TensorType, result: Result, rule: Rule | None) -> None:
        """Keep a result as an expression, or give it a buffer."""
        name = node.name
        self.types[name] = kind
        written = result.over if isinstance(result, Tensor) else result
        if isinstance(written, Scattered) and self._changes_an_input(name, written):
            return
        if isinstance(result, Tensor):
            if self._is_same(node, result, kind, rule):
                self._become(name, next(node.refs()))
            elif self._needs_buffer(name, kind, result, rule):
                stored = self._narrower(node) or name
                self._realise(stored, self.tensors.get(stored, result))
                if stored != name:
                    value = self.context.scalar.cast(self.tensors[stored].value, kind.dtype)
                    self.tensors[name] = replace(result, value=value)
            else:
                self.tensors[name] = result
            return
        if isinstance(result, Scanned) and self._is_picked(name, result):
            return
        self._settle_buffer(name, result)

    def _narrower(self, node: Node) -> str:
        """What a conversion to more bits is of, if that is an expression: to be stored itself."""
        source, own = next(node.refs(), ""), self.types[node.name].dtype
        if node.packet != "_to_copy" or node.name in self.uses.kept or source in self.alias:
            return ""
        old, value = self.types[source].dtype, self.tensors[source].value
        wider = own.is_float and old.is_float and old.itemsize < own.itemsize
        return source if wider and not isinstance(value, Load) else ""

    def _changes_an_input(self, name: str, result: Scattered) -> bool:
        """Scatter into the input that a scatter starts from, does not read and is stored into: at
        once if nothing else reads the input, or at the end if nothing else reads the result."""
        targets = [m.input for m in self.graph.mutations if m.value == name]
        if len(targets) != 1 or name in self.context.outputs:
            return False
        own, start = self.buffers[targets[0]], result.initial
        if (
            start.value is not self.tensors[own.name].value
            or (own.shape, own.dtype) != (start.shape, start.dtype)
            or self._reads_elsewhere(own, result)
        ):
            return False
        if self.uses.demand[own.name].users == 1:
            self.maker.scatter(own, result, self.origins[name])
            self.buffers[own.name] = replace(own, node=name)
            self._become(name, own.name)
        elif self.uses.demand[name].users == 1:
            self.in_place[name], self.tensors[name] = result, start
        else:
            return False
        return True

    def _read_by(self, result: Tensor | Scattered) -> Iterator[Load]:
        """What is read for the values, and for where they are scattered to."""
        target = result.target if isinstance(result, Scattered) else ()
        places = [v for i in target for _, v in self.context.bindings(i)]
        return (part for part in walk([result.value, *places]) if isinstance(part, Load))

    def _reads_elsewhere(self, own: Buffer, result: Tensor | Scattered) -> bool:
        """Whether what is stored into ``own`` reads it at another place than it is written to."""
        place, plain = flat_index(own.stride, canonical(own.shape)), True
        if isinstance(result, Scattered):
            place = self.maker.place(own, result)
            plain = result.mode is StoreMode.PLAIN and not self.context.bindings(place)
        return any(
            load.buffer == own.name and not (plain and sympy.expand(load.index - place) == 0)
            for load in self._read_by(result)
        )

    def _settle_buffer(self, name: str, result: Reduced | Scanned | Scattered) -> None:
        """Give a result that is more than an expression its buffer."""
        buffer = self._new_buffer(name, self.types[name])
        if isinstance(result, Scattered):
            self.maker.fill(buffer, [result.initial], self.origins[name])
            self.maker.scatter(buffer, result, self.origins[name])
        self._made([(buffer, result)], self.origins[name])

    def _is_same(self, node: Node, result: Tensor, kind: TensorType, rule: Rule | None) -> bool:
        """Whether a node is another name of its operand: a view that changes nothing.
        What torch promises to be a copy is none, so that an output never shares memory
        with an input unexpectedly."""
        if rule is None or not rule.view or rule.fresh:
            return False
        first = next(node.refs())
        return self.types.get(first) == kind and self.tensors[first].value is result.value

    def _become(self, name: str, other: str) -> None:
        root = self.alias[name] = self.alias.get(other, other)
        self.tensors[name] = self.tensors[root]
        self.origins[name] = self.origins[root]

    def _needs_buffer(self, name: str, kind: TensorType, tensor: Tensor, rule: Rule | None) -> bool:
        if name in self.context.outputs or self.inlined.get(name) is False:
            return True
        if isinstance(tensor.value, Load) and (rule is None or rule.view):
            return False
        demand = self.uses.demand[name]
        found, own = cost.profile(tensor.value), size_hint(kind.numel)
        if len(found.loads) > cost.MOST_LOADS or found.ops > cost.MOST_OPS:
            return True
        if demand.users > 1 and own > 1 and any(m.value == name for m in self.graph.mutations):
            return True
        if name not in self.decisions.kernels and cost.few(found, own) and not demand.reread:
            return False
        reads = {load.buffer: self.buffers[load.buffer] for load in found.loads}
        read = sum(min(size_hint(b.extent), own) * b.dtype.itemsize for b in reads.values())
        given = all(b.role is Role.INPUT for b in reads.values())
        if (demand.copied or demand.wholes < demand.ends) and not self.maker.reduced(reads):
            demand = replace(demand, copied=0, ends=min(demand.ends, demand.wholes))
        return cost.worth_storing(found, demand, own, read, own * kind.dtype.itemsize, given)

    def _new_buffer(self, name: str, kind: TensorType) -> Buffer:
        role = Role.OUTPUT if name in self.context.outputs else Role.TEMPORARY
        bound = self.bounds.get(name)
        buffer = Buffer(name, kind.dtype, kind.shape, layout_of(kind), role, name, bound)
        self.buffers[name] = buffer
        return buffer

    def _realise(self, name: str, tensor: Tensor) -> None:
        kind = self.types[name]
        changes = any(m.value == name for m in self.graph.mutations)
        if changes and kind.dtype.is_float and kind.dtype.compute is not kind.dtype:
            # The buffer may be one that only this kernel knows; what is stored in the input is not.
            tensor = replace(tensor, value=self.context.builder.rounded(tensor.value, kind.dtype))
        buffer = self._new_buffer(name, kind)
        pieces, dim = [tensor], 0
        many = name in self.types and len(list(self.graph.node(name).refs())) > MANY
        own = name in self.context.outputs and self.uses.demand[name].users == 1
        if (own or many) and not changes:
            rows = self.maker.reduced({x.buffer for x in cost.profile(tensor.value).loads})
            node, scalar = self.graph.node(name), self.context.scalar
            pieces, dim = at_once(node, self.tensors, kind, scalar, rows) or (pieces, dim)
        self.maker.fill(buffer, pieces, self.origins[name], dim)
        self._stored(buffer)

    def _stored(self, buffer: Buffer) -> None:
        """From now on the value is read from its buffer."""
        name = buffer.name
        self.types[name] = TensorType(buffer.dtype, buffer.shape, buffer.stride)
        self.origins[name] = frozenset()
        self.tensors[name] = self.maker.read(buffer)
        if (dim := self.decisions.turned.get(name)) is not None:
            users = (n.name for n in self.uses.live if name in (n.name, *n.refs()))
            copy = self.maker.copy(buffer, dim, frozenset(islice(users, 1)))
            self.buffers[copy.name] = copy
            self.tensors[name] = self.maker.read(copy)

    def _output(self, name: str) -> str:
        """The buffer of an output; made now if the output is another name of a value
        that has none, or an input that is about to be overwritten."""
        root = self.alias.get(name, name)
        buffer = self.buffers.get(root)
        overwritten = any(m.input == root for m in self.graph.mutations)
        if buffer is not None and not (buffer.role is Role.INPUT and overwritten):
            if buffer.role is Role.TEMPORARY:
                self.buffers[root] = replace(buffer, role=Role.OUTPUT)
            return root
        own = root if buffer is None else f"{root}_before"
        return self._filled(root, own, Role.OUTPUT, self.origins[root] | {name})

    def _mutate(self) -> tuple[str, ...]:
        """Stores into inputs, after every read of their old contents."""
        roots = ((m, self.alias.get(m.value, m.value)) for m in self.graph.mutations)
        pending = [(mutation, root) for mutation, root in roots if root != mutation.input]
        ordered, stuck = self._readers_first(pending)
        targets = {m.input for m, _ in pending}
        for position, (mutation, root) in enumerate(stuck):
            if root in targets:
                copy = self._filled(root, f"{root}_before", Role.TEMPORARY, frozenset())
                stuck[position] = mutation, copy
            elif root in self.in_place:
                self._settle_buffer(root, self.in_place.pop(root))
            elif root not in self.buffers:
                self._realise(root, self.tensors[root])
        for mutation, root in (*ordered, *stuck):
            self._overwrite(mutation, root)
        stored = {store.buffer for nest in self.maker.nests for store in nest.stores}
        return tuple(m.input for m in self.graph.mutations if m.input in stored)

    def _readers_first(
        self, pending: list[tuple[Mutation, str]]
    ) -> tuple[list[tuple[Mutation, str]], list[tuple[Mutation, str]]]:
        """Stores in an order in which none overwrites what a later one reads, and those
        for which there is no such order (or that read their own input elsewhere)."""
        made = {m.input: self.in_place.get(root) or self.tensors[root] for m, root in pending}
        reads = {n: {load.buffer for load in self._read_by(v)} - {n} for n, v in made.items()}
        elsewhere = {n for n, v in made.items() if self._reads_elsewhere(self.buffers[n], v)}
        stuck = [pair for pair in pending if pair[0].input in elsewhere]
        rest = [pair for pair in pending if pair[0].input not in elsewhere]
        ordered: list[tuple[Mutation, str]] = []
        while rest:
            awaited = set().union(*(reads[mutation.input] for mutation, _ in rest))
            free = [pair for pair in rest if pair[0].input not in awaited]
            if not free:
                stuck.append(rest.pop())
            ordered.extend(free)
            rest = [pair for pair in rest if pair not in free]
        return ordered, stuck

    def _filled(self, name: str, own: str, role: Role, origins: frozenset[str]) -> str:
        """The buffer ``own``, which holds what ``name`` does now; filled once."""
        if own not in self.buffers:
            kind = self.types[name]
            made = Buffer(own, kind.dtype, kind.shape, layout_of(kind), role, name)
            self.buffers[own] = made
            self.maker.fill(made, [self.tensors[name]], origins)
            self._stored(made)
        return own

    def _overwrite(self, mutation: Mutation, root: str) -> None:
        buffer = self.buffers[mutation.input]
        origins = self.origins[root] | {mutation.value}
        if root in self.in_place:
            self.maker.scatter(buffer, self.in_place[root], origins)
            return
        tensor = self.tensors[root]
        if tensor.shape != buffer.shape:
            raise unsupported(
                self.graph.node(mutation.value),
                f"a value of shape {tensor.shape} stored into %{mutation.input}",
                f"shape {buffer.shape}",
            )
        cast = self.context.scalar.cast(tensor.value, buffer.dtype)
        self.maker.fill(buffer, [Tensor(buffer.shape, buffer.dtype, cast)], origins)
