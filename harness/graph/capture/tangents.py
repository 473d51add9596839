"""Backward graphs of the gradients that there are.

A model that returns its logits beside its loss is asked for the loss's gradient alone. Autograd
then makes zeros for the other (as large as the logits), which the backward graph adds to what there
is. Here a backward graph is compiled for the gradients that it is given, when it is given them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

_aten = torch.ops.aten
_ZERO_OF_ZERO = {
    getattr(_aten, name).default
    for name in "view _unsafe_view reshape permute t expand unsqueeze clone _to_copy neg mm".split()
} | {_aten.mul.Tensor, _aten.slice.Tensor, _aten.transpose.int, _aten.squeeze.dim}
_MOST = 8
"""Sets of gradients that a backward graph is compiled for; others are given zeros."""


def given_alone(run: Callable[..., Any], has_zeros: Callable[[], bool]) -> Callable[..., Any]:
    """``run``, which AOTAutograd made, such that its backward graph gets None for gradients that do
    not exist, unless it ``has_zeros`` (known once ``run`` has been called)."""
    own: list[type] = []

    def run_alone(*args: Any) -> Any:
        outputs = run(*args)
        nodes = () if has_zeros() else (getattr(output, "grad_fn", None) for output in outputs)
        for node in nodes:
            compiled = type(node).__name__ == "CompiledFunctionBackward"
            if compiled and not own and all(getattr(a, "grad_fn", None) is not node for a in args):
                own.append(type(node))
            if own and type(node) is own[0]:
                node.set_materialize_grads(False)
                break
        return outputs

    return run_alone


def by_gradients(compile_backward: Callable[..., Any]) -> Callable[..., Any]:
    """A compiler of backward graphs, of each one for every set of gradients it is given."""

    def compiled(graph: fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        names = [node.name for node in graph.graph.nodes if node.op == "placeholder"]
        made: dict[tuple[int, ...], Callable[..., Any]] = {}

        def run(args: list[Any]) -> Any:
            missing = tuple(n for n, a in enumerate(args) if a is None and "tangents" in names[n])
            if missing not in made and len(made) >= _MOST:
                for n, like in ((n, inputs[n]) for n in missing):
                    given = {"dtype": like.dtype, "device": like.device}
                    args[n] = torch.empty_strided(like.shape, like.stride(), **given).zero_()
                missing = ()
            if missing not in made:
                there = [value for n, value in enumerate(inputs) if n not in missing]
                made[missing] = compile_backward(_without(graph, missing), there)
            args[:] = [arg for n, arg in enumerate(args) if n not in missing]
            return made[missing](args)

        run._boxed_call = True  # type: ignore[attr-defined]
        return run

    return compiled


def fixed(joint: fx.GraphModule) -> bool:
    """Whether the sizes of all gradients are known."""
    kinds = [n.meta["val"] for n in joint.graph.nodes if "tangents" in str(n.target)]
    return all(isinstance(size, int) for kind in kinds for size in (*kind.shape, *kind.stride()))


def _without(gm: fx.GraphModule, missing: Sequence[int]) -> fx.GraphModule:
    """A copy of ``gm`` in which the placeholders ``missing`` are zero."""
    gm = copy.deepcopy(gm)
    placeholders = [node for node in gm.graph.nodes if node.op == "placeholder"]
    zeros: set[fx.Node] = set()
    for node in (placeholders[n] for n in missing):
        kind = node.meta["val"]
        with gm.graph.inserting_before(node):
            given = {"dtype": kind.dtype, "device": kind.device}
            zero = gm.graph.call_function(_aten.full.default, (list(kind.shape), 0), given)
        zero.meta = dict(node.meta)
        node.replace_all_uses_with(zero)
        gm.graph.erase_node(node)
        zeros.add(zero)
    for node in list(gm.graph.nodes) if zeros else ():
        if node.target in _ZERO_OF_ZERO and not zeros.isdisjoint(node.all_input_nodes):
            zeros.add(node)
        elif node.target is _aten.add.Tensor and not node.kwargs:
            a, b = node.args
            other = b if a in zeros else a
            if {a, b} & zeros and isinstance(other, fx.Node) and _alike(other, node):
                node.replace_all_uses_with(other)
                gm.graph.erase_node(node)
    return gm


def _alike(a: fx.Node, b: fx.Node) -> bool:
    x, y = a.meta["val"], b.meta["val"]
    return (x.shape, x.dtype, x.stride()) == (y.shape, y.dtype, y.stride())
