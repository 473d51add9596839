"""Backward graphs of the gradients that there are.

A model that returns its logits beside its loss is asked for the loss's gradient alone. Autograd
then makes zeros for the other (as large as the logits), which the backward graph adds to what there
is. Here a backward graph is compiled for the gradients that it is given: at its first call, or with
the forward graph, whose kernels take time as well, where they are foreseen: a loss's alone.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy
import torch
from torch import fx
from torch._dynamo import compiled_autograd
from torch._functorch import config as functorch_config
from torch._functorch._aot_autograd.descriptors import ForwardTokenAOTOutput, PlainAOTOutput
from torch._guards import TracingContext
from torch.autograd import forward_ad
from torch.fx._lazy_graph_module import _LazyGraphModule
from torch.fx.experimental._backward_state import BackwardState
from torch.fx.experimental.symbolic_shapes import free_symbols
from torch.utils import _pytree as pytree
from torch.utils._sympy.interp import sympy_interp
from torch.utils._sympy.reference import PythonReferenceAnalysis

from harness.errors import FallbackWarning, FellBack, HarnessError
from harness.graph.capture.fx import tensor_type
from harness.graph.capture.libraries.calls import traced, value
from harness.graph.capture.scattering import OVERLAPPING, addresses, covers_itself, overlaps
from harness.graph.users_gradients import CHECKPOINT, USERS, inline, is_a_users
from harness.ir.reach import gathered, reached

_aten = torch.ops.aten
_OF_ZERO = "view _unsafe_view reshape permute t expand unsqueeze clone _to_copy neg mm".split()
_OTHERS = {_aten.mul.Tensor, torch.ops.prims.convert_element_type.default}
_ZERO_OF_ZERO = {getattr(_aten, name).default for name in _OF_ZERO} | _OTHERS
_GRADIENTS = "gradients"
"""In the ``meta`` of a tangent: a bit for each gradient of an input that its output depends on."""
_FORESEEN = "foreseen"
"""In the ``meta`` of a tangent: whether it is the one that a caller is expected to give."""
CALL = "call"
"""In the ``meta`` of a node that a user's gradient is traced to: the bit of its call."""
_NODE, _CHECK = "CompiledFunctionBackward", "check_custom_op_aliasing"
_RESULT = re.compile(r"modified by an inplace .+?\]\](?:, which is output (\d+))?")
OF_CHANGED = "gradients where a result was changed"
OF_VIEWS = "a result is a view, where inputs that overlap change"
_MOST = 8
"""Sets of gradients that a backward graph is compiled for; with others torch runs it."""


def _autocast() -> list[tuple[Any, ...]]:
    return [(k, torch.get_autocast_dtype(k), torch.is_autocast_enabled(k)) for k in ("cpu", "cuda")]


@dataclass(eq=False, slots=True)
class Called:
    """Calls of the graph ``gm`` from ``torch.compile``, once AOTAutograd has compiled it.

    The backward graph gets None for gradients that do not exist, if it is told all sizes. What it
    cannot give torch computes from ``gm``, and ``tell`` is told once: derivatives in forward mode,
    gradients that are to be differentiated, for which ``gm`` runs again, and calls whose inputs
    overlap otherwise than those it was compiled for, or themselves, if it changes them.
    """

    gm: fx.GraphModule
    tell: Callable[[HarnessError], Any]
    _fixed: bool = False
    _once: str = ""  # why another run of ``gm`` would be another one
    _unread: set[int] = field(default_factory=set)  # inputs that no output depends on
    _autocast: list[tuple[Any, ...]] = field(default_factory=_autocast)  # off while it is traced
    _graded: Sequence[bool] = ()  # which outputs are, if there is a backward graph
    _kind: Any = ()  # of the nodes that calls make
    _places: dict[int, tuple[int, bool]] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)
    _changed: set[int] = field(default_factory=set)  # inputs

    def look_at(self, joint: fx.GraphModule, kept: int) -> list[bool]:
        """Note what calls need to know. Answers which of the ``kept`` outputs have a gradient; of a
        graph that another calls none."""
        if "desc" not in joint.graph.output_node().meta:
            return []
        self._fixed = fixed(joint)
        self.note_changed(joint)
        nodes: list[Any] = list(joint.graph.nodes)
        read = reached(nodes[-1:], lambda node: node.all_input_nodes)
        self._unread = {n for n, node in enumerate(_given(joint.graph)) if node not in read}
        changed = not self._changed <= self._unread
        tags = {tag for node in nodes for tag in getattr(node.target, "tags", ())}
        calls = [node.target for node in self.gm.graph.nodes]
        if any(isinstance(call, torch._ops.HigherOrderOperator) for call in calls):
            self._once = "calls graphs, or gradients of its own"
        elif changed or torch.Tag.nondeterministic_seeded in tags:
            self._once = "changes what it reads" if changed else "draws random numbers"
        whole = copy.deepcopy(self.gm.graph) if any(map(is_a_users, calls)) else None
        if whole is not None:
            inline(fx.GraphModule(self.gm, whole), lambda call, _: call.target is CHECKPOINT)
        self._graded = found = note_gradients(joint, kept, whole)
        return found

    def note_changed(self, graph: fx.GraphModule) -> None:
        """Note which inputs ``graph`` changes; of those that it takes as one, one of them."""
        copies = graph.graph.find_nodes(op="call_function", target=_aten.copy_.default)
        written: list[Any] = [getattr(node.args[0], "meta", {}).get("desc") for node in copies]
        described = graph.graph.output_node().meta["desc"]
        for one in (*written, *(getattr(output, "mutated_input", None) for output in described)):
            while hasattr(one, "base_of"):
                one = one.base_of
            self._changed.update([one.idx] if hasattr(one, "idx") else [])

    def by(self, run: Callable[..., Any], inputs: Sequence[Any]) -> Callable[..., Any]:
        """``run``, which AOTAutograd made for ``inputs``, with what it lacks."""
        # it counts what is in lists (of compiled autograd), which a call may empty
        boxes = any(isinstance(one, list) for one in inputs)
        inputs = pytree.arg_tree_leaves(*inputs) if boxes else inputs
        kinds = {type(one) for one in inputs if isinstance(one, torch.Tensor)}
        if kinds - {torch.Tensor, torch.nn.Parameter} and hasattr(functorch_config, _CHECK):
            run = functorch_config.patch({_CHECK: False})(run)  # it takes no types of a user's own
        changed = frozenset(self._changed)
        seen = overlaps(inputs, changed) if changed else []
        told = getattr(getattr(TracingContext.try_get(), "fw_metadata", None), "output_info", None)
        place: Any = {x: n for n, x in enumerate(() if boxes else _given(self.gm.graph))}.get
        each = enumerate(zip(_returned(self.gm.graph), told or (), strict=False))
        same = {n: place(x) for n, (x, one) in each if seen and one.base_idx is not None}
        if seen and (told is None or None in same.values()):
            # AOTAutograd makes views, also of an input that is returned, of all that inputs lie in.
            raise HarnessError(OF_VIEWS)
        # What is written to a part of one that overlaps itself is in another part, too.
        written = changed.union(*(numbers for numbers, *_ in seen))
        doubtful = [n for n in written if covers_itself(inputs[n]) is not False]
        apart: list[Any] = []  # where the inputs of the latest call lay that did not overlap

        def lie_as_seen(args: Sequence[Any]) -> bool:
            nonlocal apart
            if any(covers_itself(args[n]) for n in doubtful):
                return False
            if (places := addresses(args)) and places == apart:
                return True
            found = overlaps(args, changed)
            apart = apart if found or seen else places
            # As those seen, in as much memory at least.
            pairs = itertools.zip_longest(found, seen, fillvalue=((), (), 0))
            return all(one[:2] == other[:2] and one[2] >= other[2] for one, other in pairs)

        def call(*args: Any) -> Any:
            given = pytree.arg_tree_leaves(*args) if boxes else args
            tensors = (arg for arg in given if isinstance(arg, torch.Tensor))
            within = forward_ad._current_level >= 0
            if within and any(forward_ad.unpack_dual(t).tangent is not None for t in tensors):
                self.say("derivatives in forward mode")
                return self.gm(*args)
            if changed and not lie_as_seen(given):
                self.say(OVERLAPPING)
                return self.gm(*args)
            outputs = [given[same[n]] if n in same else x for n, x in enumerate(run(*args))]
            read = compiled_autograd.compiled_autograd_enabled  # it reads backward graphs itself
            if self._graded and not read and torch.is_grad_enabled():
                self._keep(args, outputs)
            return outputs

        return call

    def run(self, graph: fx.GraphModule, run: Callable[..., Any]) -> Callable[..., Any]:
        """``run``, and torch where gradients are batches, without memory for kernels. What no guard
        sees, autograd also hands on memory of their conjugates or negatives, and none of zeros."""
        tangents = _tangents(graph)

        def call(args: list[Any]) -> Any:
            if any(torch._C._functorch.is_legacy_batchedtensor(args[n]) for n in tangents):
                self.say("batches of gradients")
                return graph(*args)
            for n in tangents:
                given = args[n].clone() if args[n]._is_zerotensor() else args[n]
                args[n] = given.resolve_conj().resolve_neg()
            return run(args)

        return boxed(call) if tangents else run

    def owning(self, run: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
        """``run``, a forward graph's, whose results with a gradient are no views, as those of
        memory that lies otherwise are: autograd refuses to change such a one of several."""

        def call(args: list[Any]) -> list[Any]:
            made = list(run(args))
            for n in itertools.compress(range(len(made)), self._graded):
                made[n] = made[n].detach() if made[n]._is_view() else made[n]
            return made

        return boxed(call)

    def _keep(self, args: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Have the node of a call keep what ``_again`` needs."""
        nodes: list[Any] = list(map(_node, outputs))
        if not self._kind:
            earlier = set(map(_node, args))  # of other graphs, whose outputs this one may return
            own = (n for n in nodes if type(n).__name__ == _NODE and n not in earlier)
            self._meet(next(own, None), args, outputs)
        for node in nodes:
            if isinstance(node, self._kind) and not hasattr(node, "given"):
                node.set_materialize_grads(not self._fixed)
                node.given = ((), []) if self._once else (args, _versions(args))
                break

    def _meet(self, node: Any, args: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Note which output each result of ``node`` is, or is what that is a view of."""
        if node is None:
            return
        if len(node.needs_input_grad) != len(args):
            self._once = self._once or "takes more than tensors"
        self._kind, function = type(node), type(node)._forward_cls
        function.backward = staticmethod(torch.compiler.disable(self._backward(function.backward)))
        function.metadata.bw_donated_idxs = []  # kernels leave what was saved as it is
        for number, output in enumerate(outputs):
            if _node(output) is node:
                whole = _whole(output)
                self._places[whole.output_nr] = (number, whole is not output)

    def _backward(self, backward: Callable[..., Any]) -> Callable[..., Any]:
        """The ``backward`` of a node, which without any gradient does not look at what it saved:
        that may have been changed, at which torch raises."""

        def run(node: Any, *args: Any) -> Any:
            tangents = args[0] if isinstance(args[0], list) else args
            if all(tangent is None for tangent in tangents):
                return (None,) * len(node.needs_input_grad)
            given, differentiable = node.given, torch.is_grad_enabled()
            again = self._again(tangents, given) if given and differentiable else None
            if not torch._C._autograd._get_current_graph_task_keep_graph():
                node.given = None
            if again:
                return again
            try:
                return backward(node, *args)
            except RuntimeError as error:
                found = _RESULT.search(str(error)) if given else None
                if found and (again := self._again(tangents, given, found[1] or "")):
                    return again
                raise

        return run

    def _again(
        self, tangents: Sequence[Any], given: Sequence[Any], changed: str | None = None
    ) -> tuple[Any, ...] | None:
        """Gradients of ``args`` that can be differentiated; None if ``gm`` cannot run again. If the
        output ``changed`` (``""``: some of them) was changed since, which this graph keeps and
        eager mode need not: gradients alone, or, where that keeps it, its error."""
        args, versions = given
        once, now = self._once, enumerate(_versions(args))
        if any(version != versions[n] for n, version in now if n not in self._unread):
            once = "has read what was changed since"
        elif any(t is not None and n not in self._places for n, t in enumerate(tangents)):
            once = once or "gives more than tensors"
        what = "gradients of gradients" if changed is None else OF_CHANGED
        self.say(f"no {what}: it {once}" if once else what)
        if once:
            return None
        cpu, cuda = self._autocast
        with torch.enable_grad(), torch.autocast(*cpu), torch.autocast(*cuda):
            # other tensors, so that no hook of theirs runs, and what is not read may change
            copies = (_aten.clone if n in self._unread else _aten.alias for n in range(len(args)))
            pairs = zip(copies, args, strict=True)
            inputs = [copy(x) if isinstance(x, torch.Tensor) else x for copy, x in pairs]
            outputs = self.gm(*inputs)
        asked = [(*self._places[n], t) for n, t in enumerate(tangents) if t is not None]
        roots = [_whole(outputs[n]) if view else outputs[n] for n, view, _ in asked]
        graded = [getattr(x, "requires_grad", False) for x in inputs]
        by, slopes = list(itertools.compress(inputs, graded)), [slope for *_, slope in asked]
        for n, (number, _) in self._places.items() if changed is not None else ():
            if changed in ("", str(n)):
                torch.autograd.graph.increment_version(outputs[number])
        options = {"create_graph": changed is None, "allow_unused": True}
        found = iter(torch.autograd.grad(roots, by, slopes, **options))
        return tuple(next(found) if has else None for has in graded)

    def say(self, what: str) -> None:
        """Once."""
        if what not in self._told:
            self._told.add(what)
            self.tell(HarnessError(what))


def _whole(output: Any) -> Any:
    """What ``output`` is a view of, or itself: that is what a node made. (A view made while the
    node ran is of a tensor without gradient.)"""
    base = getattr(output, "_base", None)
    return output if base is None or not base.requires_grad else base


def _node(value: Any) -> Any:
    return getattr(_whole(value), "grad_fn", None)


def _versions(values: Sequence[Any]) -> list[float]:
    """How often each tensor was changed in place; NaN where one of inference mode is among them,
    which does not count that."""
    try:
        return [getattr(value, "_version", 0) for value in values]
    except RuntimeError:
        return [math.nan] * len(values)


def note_gradients(joint: fx.GraphModule, kept: int, users: fx.Graph | None) -> list[bool]:
    """Note ``_GRADIENTS`` at the tangents of ``joint``, which returns ``kept`` outputs, and then
    gradients, and ``USERS``. Answers which of the outputs have a tangent, without tokens, which no
    part has. Of ``users``, the graph with a user's functions whole, each output depends on all that
    such a function takes."""
    described, given = joint.graph.output_node().meta["desc"], _given(joint.graph)
    bits = {getattr(one, "grad_of", None): 1 << n for n, one in enumerate(described[kept:])}
    reads = _reads(joint.graph, {node: bits.get(node.meta["desc"], 0) for node in given})
    found = dict(zip(described[:kept], map(reads.get, _returned(joint.graph)), strict=False))
    calls = dict.fromkeys(found, 0 if users is None else -1)  # where nobody says: of all
    if users is not None:
        own = {getattr(one, "idx", None): bit for one, bit in bits.items()}
        reads = _reads(users, {node: own.get(n, 0) for n, node in enumerate(_given(users))})
        called = [node for node in users.nodes if is_a_users(node.target)]
        through = _changed_reads(users, {node: 1 << n for n, node in enumerate(called)})
        names = {node.meta.get(USERS): 1 << n for n, node in enumerate(called)}
        for node in joint.graph.nodes:
            node.meta[CALL] = names.get(node.meta.get("custom", {}).get(USERS), 0)
            if node.meta[CALL]:  # also what depends on no tangent
                node.meta["partitioner_tag"] = "must_be_in_backward"
        for one in found:
            if type(one) is PlainAOTOutput:
                found[one] |= reads.get(_returned(users)[one.idx], 0)
                calls[one] = through.get(_returned(users)[one.idx], 0)
    tangents = {getattr(node.meta["desc"], "output", None): node for node in given}
    made = dict(zip(described[:kept], _returned(joint.graph), strict=False))
    # Logits are returned beside their loss, and beside them what they are made of.
    graded = {output: made[output] for output in tangents if output in made}
    losses = [output for output, node in graded.items() if not node.meta["val"].dim()]
    starts = (x for node in graded.values() for x in node.all_input_nodes)
    behind = reached(starts, lambda node: node.all_input_nodes)
    last = losses if len(losses) == 1 else [o for o, x in graded.items() if x not in behind]
    for output, node in tangents.items():
        node.meta |= {_GRADIENTS: found.get(output) or 0, USERS: calls.get(output, 0)}
        node.meta[_FORESEEN] = last == [output]
    return [o in tangents for o in described[:kept] if not isinstance(o, ForwardTokenAOTOutput)]


def _returned(graph: fx.Graph) -> Sequence[Any]:
    output: Any = graph.output_node()
    return output.args[0]


def _given(graph: fx.Graph) -> Sequence[fx.Node]:
    return graph.find_nodes(op="placeholder")


def _reads(graph: fx.Graph, own: Mapping[fx.Node, int]) -> dict[Any, int]:
    """The bits of all placeholders that each node depends on, of which each has its ``own``."""
    reads: dict[Any, int] = {}
    for node in graph.nodes:
        found = map(reads.__getitem__, node.all_input_nodes)
        reads[node] = functools.reduce(operator.or_, found, own.get(node, 0))
    return reads


def _changed_reads(graph: fx.Graph, own: dict[fx.Node, int]) -> dict[Any, int]:
    """The same, where what lies in memory that is changed depends on all that is done with it."""
    values = ((node, node.meta.get("example_value")) for node in graph.nodes)
    changed = ((n, x) for n, x in values if isinstance(x, torch.Tensor) and any(_versions([x])))
    memory = gathered((x.untyped_storage()._cdata, node) for node, x in changed)
    while True:
        reads, before = _reads(graph, own), dict(own)
        for nodes in memory.values():
            done = {user for node in nodes for user in (node, *node.users) if user.op != "output"}
            bits = functools.reduce(operator.or_, map(reads.__getitem__, done))
            own |= {node: own.get(node, 0) | bits for node in nodes}
        if own == before:
            return reads


def by_gradients(compile_backward: Callable[..., Any], called: Called) -> Callable[..., Any]:
    """A compiler of backward graphs, of each one for every set of gradients that it is given."""

    def compiled(graph: fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        if not fixed(graph):
            return compile_backward(graph, inputs)
        tangents = _tangents(graph)
        made: dict[tuple[int, ...], Callable[..., Any]] = {}

        def make(missing: tuple[int, ...]) -> None:
            there = [value for n, value in enumerate(inputs) if n not in missing]
            made[missing] = compile_backward(_without(graph, missing), there)

        def run(args: list[Any]) -> Any:
            missing = tuple(n for n in tangents if args[n] is None)
            if missing not in made and len(made) >= _MOST:
                called.say(f"more than {_MOST} sets of gradients")
                if len(made) >= 2 * _MOST:  # of those that torch runs the eldest
                    del made[list(made)[_MOST]]
                rest = _without(graph, missing)
                made[missing] = lambda args: rest(*args)
            if missing not in made:
                make(missing)
            if missing:
                args[:] = [arg for n, arg in enumerate(args) if n not in missing]
            return made[missing](args)

        foreseen = {n for n in tangents if _given(graph.graph)[n].meta.get(_FORESEEN)}
        if foreseen and not any(isinstance(value, BackwardState) for value in inputs):
            with contextlib.suppress(FellBack, FallbackWarning):  # which the call says
                make(tuple(n for n in tangents if n not in foreseen))
        return boxed(run)

    return compiled


def _tangents(graph: fx.GraphModule) -> list[int]:
    """Which arguments of a backward graph are gradients."""
    return [n for n, node in enumerate(_given(graph.graph)) if "tangents" in node.name]


def boxed(run: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    """``run`` as AOTAutograd calls what a compiler makes: with a list, which it may empty."""
    run._boxed_call = True  # type: ignore[attr-defined]
    return run


def fixed(joint: fx.GraphModule) -> bool:
    """Whether the sizes of all gradients are known, or follow from those that it is given."""
    kinds = [n.meta["val"] for n in joint.graph.nodes if "tangents" in str(n.target)]
    sizes = [n for kind in kinds for n in (*kind.shape, *kind.stride())]
    return free_symbols(sizes) <= _sizes(joint).keys()


def _sizes(gm: fx.GraphModule) -> dict[sympy.Expr, fx.Proxy]:
    """The sizes that ``gm`` is given, by symbol."""
    given = ((n, n.meta.get("val")) for n in _given(gm.graph))
    sizes = ((n, v.node.expr) for n, v in given if isinstance(v, torch.SymInt))
    return {size: fx.Proxy(n) for n, size in sizes if size.is_Symbol}


def _computed(size: Any, told: dict[sympy.Expr, fx.Proxy]) -> Any:
    """A size, or the node of what computes it of those that are ``told``."""
    if type(size) is int:
        return size
    made: Any = sympy_interp(PythonReferenceAnalysis, told, size.node.expr)
    return getattr(made, "node", made)


def _without(gm: fx.GraphModule, missing: Sequence[int]) -> fx.GraphModule:
    """A copy of ``gm`` in which the placeholders ``missing`` are zero, and no gradient is made that
    eager mode does not have without them. What is made of them alone is not added: eager mode
    does not make it, and it may be NaN (of 0 / 0), or take a sum's negative zero."""
    gm = _LazyGraphModule(gm, copy.deepcopy(gm.graph))  # its code is made if torch is to run it
    placeholders = [node for node in gm.graph.nodes if node.op == "placeholder"]
    tangents = {n: node.meta.get(_GRADIENTS, 0) for n, node in enumerate(placeholders)}
    # Calls whose gradients eager mode computes, or not; of some it is known what belongs to them.
    calls = {n: node.meta.get(USERS, 0) for n, node in enumerate(placeholders)}
    unasked = functools.reduce(operator.or_, map(calls.pop, missing), 0)
    asked = functools.reduce(operator.or_, calls.values(), 0)
    known = functools.reduce(operator.or_, (n.meta.get(CALL, 0) for n in gm.graph.nodes), 0)
    dead, users = known & unasked & ~asked, unasked & asked & ~known
    told = _sizes(gm)
    # What depends on tangents: whether on missing ones only.
    alone = {node: False for node in placeholders if "tangents" in node.name}
    for node in (placeholders[n] for n in missing):
        kind = node.meta["val"]
        with gm.graph.inserting_before(node):
            given = {"dtype": kind.dtype, "device": kind.device}
            sizes = [_computed(size, told) for size in kind.shape]
            zero = gm.graph.call_function(_aten.full.default, (sizes, 0), given)
        zero.meta = dict(node.meta)
        node.replace_all_uses_with(zero)
        gm.graph.erase_node(node)
        alone[zero] = True
    for node in list(gm.graph.nodes):
        if "val" not in node.meta and node.op == "call_function":  # a size's
            node.meta["val"] = traced(node)
        found = [a for a in node.all_input_nodes if a in alone]
        there = [a for a in found if not alone[a]]
        if node.meta.get(CALL):  # which gets zeros for what is missing, if it is called
            alone[node] = node.meta[CALL] & dead != 0
        elif found:
            alone[node] = not there and (node.target in _ZERO_OF_ZERO or not users)
        added = node.target is _aten.add.Tensor and not (node.kwargs or node.meta.get(CALL))
        added &= len(found) > len(there) == 1
        # What follows reads it as the sum lies.
        if added and tensor_type(value(node)) == tensor_type(value(there[0])):
            node.replace_all_uses_with(there[0])
    gone = functools.reduce(operator.or_, (tangents.pop(n) for n in missing), 0)
    gone &= ~functools.reduce(operator.or_, tangents.values(), 0)
    output: Any = gm.graph.output_node()
    made = enumerate(output.args[0])
    output.args = ([None if gone >> number & 1 else gradient for number, gradient in made],)
    gm.recompile()
    return gm
