"""Backward graphs of the gradients that there are.

A model that returns its logits beside its loss is asked for the loss's gradient alone. Autograd
then makes zeros for the other (as large as the logits), which the backward graph adds to what there
is. Here a backward graph is compiled at its first call, for the gradients that it is given.
"""

from __future__ import annotations

import copy
import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

from harness.graph.model import DIFFERENTIABLE

_aten = torch.ops.aten
_OF_ZERO = "view _unsafe_view reshape permute t expand unsqueeze clone _to_copy neg mm".split()
_OTHERS = {_aten.mul.Tensor, torch.ops.prims.convert_element_type.default}
_ZERO_OF_ZERO = {getattr(_aten, name).default for name in _OF_ZERO} | _OTHERS
_GRADIENTS = "gradients"
"""In the ``meta`` of a tangent: a bit for each gradient of an input that its output depends on."""
_MOST = 8
"""Sets of gradients that a backward graph is compiled for; with others it is given zeros."""


def given_alone(run: Callable[..., Any], fixed: Callable[[], bool]) -> Callable[..., Any]:
    """``run``, which AOTAutograd made, such that its backward graph gets None for gradients that do
    not exist, if all sizes are ``fixed`` (known once ``run`` was called)."""
    own: list[Any] = []  # the type of its nodes

    def run_alone(*args: Any) -> Any:
        outputs = run(*args)
        nodes: list[Any] = [getattr(output, "grad_fn", None) for output in outputs if fixed()]
        for node in nodes:
            # but for the node of another graph, whose output this one was given and returns
            is_new = not own and type(node).__name__ == "CompiledFunctionBackward"
            if is_new and all(getattr(arg, "grad_fn", None) is not node for arg in args):
                own.append(type(node))
                function = type(node)._forward_cls
                function.backward = staticmethod(_unless_nothing(function.backward))
            if own and type(node) is own[0]:
                node.set_materialize_grads(False)
                break
        return outputs

    return run_alone


def _unless_nothing(backward: Callable[..., Any]) -> Callable[..., Any]:
    """The ``backward`` of a node, which without any gradient does not look at what it saved: that
    may have been changed, at which torch raises."""

    def run(node: Any, *args: Any) -> Any:
        given = args[0] if isinstance(args[0], list) else args
        nothing = all(gradient is None for gradient in given)
        return (None,) * len(node.needs_input_grad) if nothing else backward(node, *args)

    return run


def note_gradients(joint: fx.GraphModule, kept: int) -> list[bool]:
    """Note ``_GRADIENTS`` at the tangents of ``joint``, which returns ``kept`` outputs, and then
    gradients. Answers which of the outputs have a tangent."""
    returned: Any = joint.graph.output_node()
    described, reads = returned.meta["desc"], dict[Any, int]()
    bits = {getattr(one, "grad_of", None): 1 << n for n, one in enumerate(described[kept:])}
    for node in joint.graph.nodes:
        own = bits.get(node.meta["desc"], 0) if node.op == "placeholder" else 0
        reads[node] = functools.reduce(operator.or_, map(reads.get, node.all_input_nodes), own)
    outputs = dict(zip(described[:kept], returned.args[0], strict=False))
    given = joint.graph.find_nodes(op="placeholder")
    tangents = {getattr(node.meta["desc"], "output", None): node for node in given}
    for output, node in tangents.items():
        node.meta[_GRADIENTS] = reads.get(outputs.get(output), 0)
    return [output in tangents for output in described[:kept]]


def by_gradients(compile_backward: Callable[..., Any]) -> Callable[..., Any]:
    """A compiler of backward graphs, of each one for every set of gradients that it is given."""

    def compiled(graph: fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        if not fixed(graph):
            return compile_backward(graph, inputs)
        nodes = (node for node in graph.graph.nodes if node.op == "placeholder")
        tangents = [n for n, node in enumerate(nodes) if "tangents" in node.name]
        made: dict[tuple[int, ...], Callable[..., Any]] = {}

        def run(args: list[Any]) -> Any:
            missing = tuple(n for n in tangents if args[n] is None)
            if missing not in made and len(made) >= _MOST:
                for n, like in ((n, inputs[n]) for n in missing):
                    given = {"dtype": like.dtype, "device": like.device}
                    args[n] = torch.empty_strided(like.shape, like.stride(), **given).zero_()
                missing = ()
            if missing not in made:
                there = [value for n, value in enumerate(inputs) if n not in missing]
                made[missing] = compile_backward(_without(graph, missing), there)
            if missing:
                args[:] = [arg for n, arg in enumerate(args) if n not in missing]
            return made[missing](args)

        return boxed(run)

    return compiled


def boxed(run: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    """``run`` as AOTAutograd calls what a compiler makes: with a list, which it may empty."""
    run._boxed_call = True  # type: ignore[attr-defined]
    return run


def fixed(joint: fx.GraphModule) -> bool:
    """Whether the sizes of all gradients are known."""
    kinds = [n.meta["val"] for n in joint.graph.nodes if "tangents" in str(n.target)]
    return all(isinstance(size, int) for kind in kinds for size in (*kind.shape, *kind.stride()))


def differentiable(gm: fx.GraphModule, found: Sequence[bool]) -> tuple[tuple[str, str], ...]:
    """Which of the first outputs of a forward graph have gradients (``found``), for its ``facts``;
    nothing if all floats have."""
    outputs: Any = gm.graph.output_node().args[0]
    values = [getattr(node, "meta", {}).get("val") for node in outputs[: len(found)]]
    floats = [isinstance(v, torch.Tensor) and v.is_floating_point() for v in values]
    if not any(f and not d for f, d in zip(floats, found, strict=True)):
        return ()
    return ((DIFFERENTIABLE, " ".join(str(n) for n, has in enumerate(found) if has)),)


def _without(gm: fx.GraphModule, missing: Sequence[int]) -> fx.GraphModule:
    """A copy of ``gm`` in which the placeholders ``missing`` are zero, and are not added, and no
    gradient is made that eager mode does not have without them."""
    gm = copy.deepcopy(gm)
    placeholders = [node for node in gm.graph.nodes if node.op == "placeholder"]
    tangents = {n: node.meta.get(_GRADIENTS, 0) for n, node in enumerate(placeholders)}
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
    for node in list(gm.graph.nodes):
        others = [a for a in node.all_input_nodes if a not in zeros]
        if len(others) == len(node.all_input_nodes):
            continue
        if node.target in _ZERO_OF_ZERO:
            zeros.add(node)
        elif node.target is _aten.add.Tensor and not node.kwargs and len(node.all_input_nodes) == 2:
            sums = [(n.meta["val"].shape, n.meta["val"].dtype) for n in (node, *others)]
            if len(set(sums)) == 1 and others:
                node.replace_all_uses_with(others[0])
    gone = functools.reduce(operator.or_, (tangents.pop(n) for n in missing), 0)
    gone &= ~functools.reduce(operator.or_, tangents.values(), 0)
    output: Any = gm.graph.output_node()
    made = enumerate(output.args[0])
    output.args = ([None if gone >> number & 1 else gradient for number, gradient in made],)
    return gm
