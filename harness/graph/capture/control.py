"""Graphs that are cut at what stays on the host; everything around and inside that is compiled.

``torch.cond``, ``while_loop``, ``scan``, ``map`` and what else torch calls a higher-order operator
are nodes that take graphs as arguments. Such a graph is cut at these nodes. What lies between is
compiled part by part, and so are the branches and bodies, each as a graph of its own. It is cut
too at operators that find a size in data (``nonzero``), an argument of the parts that follow. What
an error leaves to torch is told with the line that it is about (``located``)."""

from __future__ import annotations

import dataclasses
import math
import operator
import re
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import fx
from torch.fx.experimental.symbolic_shapes import free_symbols, free_unbacked_symbols
from torch.fx.passes.split_module import split_module
from torch.utils import _pytree as pytree

from harness.errors import HarnessError, reason
from harness.graph.capture.aot import normalise, plain_effects
from harness.graph.capture.fx import source_of
from harness.graph.capture.libraries.calls import GIVES_MEMORY, WRITES
from harness.graph.capture.scattering import covers_itself

CompilePart = Callable[[fx.GraphModule, Sequence[Any], str], Callable[..., Any]]
"""(graph, its fake inputs, its name) → a function of a list of arguments."""
_ON_TENSORS = "cond while_loop while_loop_stack_output scan map_impl invoke_subgraph".split()
"""Operators that run a graph on tensors of the sizes it was traced with; the others (flex
attention, a scan by halves) run theirs on batches, within transformations of torch."""
_NAMED = re.compile(r"(?<=aten::)\w+|(?<=(?<!\w)')\w+|\w+\.\w+\.\w+")
"""Operators in torch's messages: its own, of which a derivative is missing, of a library."""


def in_parts(
    gm: fx.GraphModule, compile_part: CompilePart
) -> tuple[fx.GraphModule, tuple[tuple[str, int, str], ...]]:
    """What computes ``gm`` part by part, and calls as of ``Report``."""
    counts = Counter(str(node.target) for node in gm.graph.nodes if is_control(node))
    whys = ("control stays on the host", "data tell the size of its result")
    why = {str(target): "an input gets other memory" for target in GIVES_MEMORY}
    run = [n for n in gm.graph.nodes if is_control(n) and n.target.name() in _ON_TENSORS]
    given = (str(arg.target) for n in run for arg in n.all_input_nodes if arg.op == "get_attr")
    for name in dict.fromkeys(n for n in given if isinstance(getattr(gm, n), fx.GraphModule)):
        body = getattr(gm, name)
        plain_effects(body)
        normalise(body)
        known: set[Any] = set()
        for node in body.graph.nodes:  # torch notes what is found in data outside of bodies alone
            symbols = free_unbacked_symbols(pytree.tree_leaves(node.meta.get("val")))
            node.meta.setdefault("unbacked_bindings", dict.fromkeys(symbols - known, ()))
            known |= symbols
        setattr(gm, name, _Compiled(name, body, compile_part))
    homes, kept = _homes(gm)
    _tell_sizes(gm, homes)
    whole: Any = split_module
    split = whole(gm, None, homes.__getitem__, keep_original_order=True)
    for name, part in list(split.named_children()):
        if name.startswith("submod_") and int(name.removeprefix("submod_")) not in kept:
            setattr(split, name, _Compiled(name, part, compile_part))
    return split, tuple((op, n, why.get(op, whys["." in op])) for op, n in sorted(counts.items()))


class _Compiled(torch.nn.Module):
    """A graph, compiled, as what a graph can call."""

    def __init__(self, name: str, graph: fx.GraphModule, compile_part: CompilePart) -> None:
        super().__init__()
        inputs = [n.meta.get("val") for n in graph.graph.nodes if n.op == "placeholder"]
        self.spec = pytree.tree_structure(graph.graph.output_node().args[0])
        self.run = compile_part(graph, inputs, name)

    def forward(self, *args: Any) -> Any:
        # Flat where it was compiled, nested where torch runs it.
        return pytree.tree_unflatten(pytree.tree_leaves(self.run(list(args))), self.spec)


def _homes(gm: fx.GraphModule) -> tuple[dict[fx.Node, int], set[int]]:
    """The part of every node, and the parts that are left to torch: control, what reads a float
    that data tell (``zuf0``), and writes into inputs. What picks a result is where that is made,
    and so is what is computed of sizes alone, and asserted of them."""
    homes: dict[fx.Node, int] = {}
    kept: set[int] = set()
    at = 0
    for node in gm.graph.nodes:
        asserts = node.target is torch.ops.aten._assert_scalar.default
        of_sizes = asserts or isinstance(node.meta.get("val"), (torch.SymInt, torch.SymBool))
        follows = of_sizes or node.target is operator.getitem
        home = max((homes[n] for n in node.all_input_nodes), default=at) if follows else at
        given = (getattr(n.meta.get("val"), "node", "") for n in node.all_input_nodes)
        alone = is_control(node) or node.target in WRITES or "zuf" in "".join(map(str, given))
        if alone or (asserts and home not in kept):
            home = at = at + 1
            kept.add(at)
            at += 1
        homes[node] = home
    return homes, kept


def _tell_sizes(gm: fx.GraphModule, homes: Mapping[fx.Node, int]) -> None:
    """Have ``split_module``, which knows values by Dynamo's name, hand on sizes made no later."""
    values = {node: node.meta.get("val") for node in reversed(gm.graph.nodes)}
    made = {v.node.expr: homes[n] for n, v in values.items() if isinstance(v, torch.SymInt)}
    for node, value in values.items():
        inside = isinstance(value, torch.Tensor) and node.op == "call_function"
        symbols = free_symbols(value) if inside or isinstance(value, torch.SymInt) else {None}
        if all(made.get(symbol, math.inf) <= homes[node] for symbol in symbols):
            node.meta["example_value"] = value


def is_cut(node: fx.Node) -> bool:
    """Whether graphs are cut at ``node``: at control, and at what is asserted of sizes."""
    return is_control(node) or node.target is torch.ops.aten._assert_scalar.default


def is_control(node: fx.Node) -> bool:
    """Whether it stays on the host: a higher-order operator, one that gives an input other memory,
    or one that finds a number or a size of what it makes in data."""
    found = node.op == "call_function" and bool(node.meta.get("unbacked_bindings"))
    calls = isinstance(node.target, torch._ops.HigherOrderOperator) or node.target in GIVES_MEMORY
    return calls or found


def located(gm: fx.GraphModule, error: Exception) -> HarnessError:
    """``error``, met while ``gm`` was compiled, with the line of what ran then, or of an operator
    that it names or that writes to a tensor of which elements share memory, or the graph's last."""
    found = error if isinstance(error, HarnessError) else HarnessError(reason(error))
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    ran = [f.f_locals["n"] for f in frames if f.f_code is fx.Interpreter.run_node.__code__]
    calls = [node for node in gm.graph.nodes if node.op.startswith("call")]
    meant = [node for node in calls if _is_meant(node, _NAMED.findall(str(error)))]
    lines = [f"a graph up to {line}" for line in map(source_of, calls) if line]
    lines += filter(None, map(source_of, (*meant, *ran)))
    return found if found.where or not lines else dataclasses.replace(found, where=lines[-1])


def _is_meant(node: fx.Node, named: Sequence[str]) -> bool:
    name, first = getattr(node.target, "__name__", str(node.target)), next(iter(node.args), None)
    written = getattr(first, "meta", {}).get("example_value") if name.endswith("_") else None
    words = f"_{name.rstrip('_')}", f"_{node.target}"
    return bool(covers_itself(written)) or any(w.endswith(f"_{n}") for w in words for n in named)
