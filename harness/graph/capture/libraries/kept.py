"""What a backward graph is given and what it computes again: of values that it does not read, or
not all of; of random numbers; of what is compared with its own largest element."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import fx
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import CheckpointPolicy

from harness.graph.capture.libraries.calls import called, is_view
from harness.ir.reach import reached

_aten = torch.ops.aten
_JUMPING = "eq floor_divide fmod ge gt le lt ne remainder".split()
"""Packets whose result jumps where both operands are equal."""
_CHOOSING = "cat maximum minimum where".split()
"""Packets that hand on elements of several operands."""
_OF_SIZES = (
    "_adaptive_avg_pool2d _adaptive_avg_pool3d avg_pool2d avg_pool3d convolution "
    "fractional_max_pool2d fractional_max_pool3d max_pool2d_with_indices max_pool3d_with_indices "
    "replication_pad1d replication_pad2d replication_pad3d"
).split()
_UNREAD: dict[Any, int] = {getattr(_aten, f"{name}_backward").default: 1 for name in _OF_SIZES}
_UNREAD[_aten.full_like.default] = 0
"""By operator the position of an operand of which it reads sizes and strides alone."""


def keep_little(joint: fx.GraphModule) -> None:
    """Have a backward graph be given less, in place; not where sizes are unknown.

    Of an operand whose sizes alone are read nothing is kept: memory that nobody has written stands
    for it, which kernels do without and only a library call has allocated. Places of maxima that
    nobody else reads are kept in as few bits as one in a plane needs, not 64."""
    for node in list(joint.graph.nodes):
        args: Any = node.args
        filters = node.target is _aten.convolution_backward.default and args[-1][1]
        if node.target not in _UNREAD or filters:  # their gradient reads the operand
            continue
        value = args[_UNREAD[node.target]].meta["val"]
        layout = [*value.shape], [*value.stride()]
        if not all(type(n) is int for n in (*layout[0], *layout[1])):
            continue
        options = {"dtype": value.dtype, "device": value.device}
        with joint.graph.inserting_before(node):
            made = joint.graph.call_function(_aten.empty_strided.default, layout, options)
            made.meta = {**node.meta, "val": value}
            node.update_arg(_UNREAD[node.target], made)
            name = str(node.target)
            if "with_indices" not in name or len(args[-1].users) > 1:
                continue
            few = math.prod(value.shape[-3 if "3d" in name else -2 :]) <= 1 << 15
            dtype = torch.int16 if few else torch.int32
            kept = called(joint.graph, args[-1], _aten._to_copy.default, args[-1], dtype=dtype)
            wide = called(joint.graph, node, torch.ops.harness.wide.default, kept)
            node.update_arg(len(args) - 1, wide)


def recompute_random(joint: fx.GraphModule) -> None:
    """Have a backward graph draw again what its forward graph drew: of random numbers the
    seeds are kept. (The partitioner recomputes only what it knows to be cheap, and in a part of
    a model that is recomputed as a whole it would draw seeds again, under a restored state.)"""
    own = torch.ops.harness
    for node in joint.graph.nodes:
        if node.target is own.random_bits.default:
            node.meta["recompute"] = CheckpointPolicy.MUST_RECOMPUTE
        elif node.target is own.seeds.default:
            for kept in (node, *node.users):
                kept.meta["recompute"] = CheckpointPolicy.MUST_SAVE


def keep_compared(joint: fx.GraphModule, outputs: int) -> None:
    """Have a backward graph, which gives all but the first ``outputs`` results, not compute again
    what it compares with elements or reductions of the same values (the gradient of ``amax`` looks
    for what equals it): those were kept, and another kernel's last bits are others. What was
    compared is kept then, or what came of it, whichever the partitioner finds smaller."""
    results: Any = joint.graph.output_node().args[0]
    gradients = [one for one in results[outputs:] if isinstance(one, fx.Node)]
    for node in reached(gradients, lambda one: one.all_input_nodes):
        operands = _floats(node)
        if _packet(node) not in _JUMPING or len(operands) != 2:
            continue
        one, other = (reached([operand], _handed_on).keys() for operand in operands)
        apart = one ^ other
        if not any(map(_reduces, apart)):
            continue  # both are computed again, or neither
        for kept in one & other:
            ends = kept in operands or not apart.isdisjoint(kept.users)
            while ends and is_view(kept):
                kept = kept.all_input_nodes[0]
            if ends and kept.op == "call_function":
                kept.meta.setdefault("recompute", CheckpointPolicy.MUST_SAVE)


def _floats(node: fx.Node) -> list[fx.Node]:
    """The operands that hold floating-point numbers, each once."""

    def holds(leaf: Any) -> bool:
        return isinstance(leaf, torch.Tensor) and leaf.is_floating_point()

    operands = node.all_input_nodes
    return [one for one in operands if any(map(holds, tree_leaves(one.meta.get("val"))))]


def _handed_on(node: fx.Node) -> list[fx.Node]:
    """The operands that alone decide the floating-point numbers of ``node``."""
    floats = _floats(node)
    return floats if len(floats) == 1 or _packet(node) in _CHOOSING else []


def _reduces(node: fx.Node) -> bool:
    """Whether the partitioner may keep a result of an operator and compute its operand again."""
    elementwise = torch.Tag.pointwise in getattr(node.target, "tags", ())
    return bool(_packet(node)) and not (elementwise or is_view(node) or _packet(node) == "_to_copy")


def _packet(node: fx.Node) -> str:
    """The name of an operator of torch's, whatever its overload."""
    op = node.target
    return op._overloadpacket.__name__ if isinstance(op, torch._ops.OpOverload) else ""
