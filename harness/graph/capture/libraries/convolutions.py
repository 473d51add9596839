"""Convolutions as a GPU's library runs them best.

* The library adds a bias in a launch of its own, and sums its gradient in another; taken out, they
  are kernels like others, which fuse with what stands beside them.
* cuDNN's tensor-core kernels want channels last (cuDNN's developer guide, "Tensor layouts"); given
  anything else it copies operands and results around every call. So a graph is traced again with
  operands of convolutions laid out so, and what is made from them follows; what the caller gets
  keeps its strides. (On an H200 16 of 21 sizes were faster forward and 17 backward in bfloat16, in
  the median by 1.3 and 1.7 times. Convolutions over groups are left alone in float32, which goes
  through TF32 and can be twice as slow, and, but for those over single channels, where they are
  trained, whose gradients are slower by half: docs/measurements/limit.md.)
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, fx
from torch.utils import _pytree as pytree

from harness.graph.capture.libraries.calls import called, traced, value

_aten = torch.ops.aten
_FORWARD, _BACKWARD = _aten.convolution.default, _aten.convolution_backward.default
_OPERANDS: dict[Any, tuple[int, ...]] = {_FORWARD: (0, 1), _BACKWARD: (0, 1, 2)}
"""Positions of the tensors that the library wants channels last."""
_GROUPS: dict[Any, int] = {_FORWARD: 8, _BACKWARD: 9}
_OWN = ("aten", "prims", "harness")
"""Namespaces of operators that compute the same whatever the layout of their operands."""
_BY_STRIDE = ("as_strided", "as_strided_scatter", "as_strided_copy", "copy_strided", "resize")
"""Operators that read memory, not values."""
_UNKNOWN = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
_EARLY, _EARLY_EACH = 4 << 20, 1 << 20
"""Bytes of weights, and of one of them, that are laid out before everything else, in few launches
(larger ones share none: ``combos.choosing``). They wait for their use, so what is beyond is laid
out where it is used."""
_SIXTEEN_BIT = (torch.bfloat16, torch.float16)


def without_biases(gm: fx.GraphModule) -> None:
    """Take biases out of convolutions, in place: a sum behind the call, and a sum over the output's
    gradient for the bias's own."""
    for node in list(gm.graph.nodes):
        if node.target is _FORWARD and node.args[2] is not None:
            _bias_behind(gm, node)
        elif node.target is _BACKWARD and node.args[10][2]:
            _bias_gradient_apart(gm, node)


def _bias_behind(gm: fx.GraphModule, node: fx.Node) -> None:
    result, bias = value(node), node.args[2]
    users = list(node.users)
    node.update_arg(2, None)
    with gm.graph.inserting_after(node):
        shape = [-1, *[1] * (result.dim() - 2)]
        wide = called(gm.graph, node, _aten.view.default, bias, shape)
    with gm.graph.inserting_after(wide):
        added = called(gm.graph, node, _aten.add.Tensor, node, wide)
    for user in users:
        user.replace_input_with(node, added)


def _bias_gradient_apart(gm: fx.GraphModule, node: fx.Node) -> None:
    gradient: Any = node.args[0]
    found = [user for user in node.users if user.args[1] == 2]
    wanted: Any = node.args[10]
    node.update_arg(10, [*wanted[:2], False])
    node.meta["val"] = (*node.meta["val"][:2], None)
    if found:
        axes = [axis for axis in range(value(gradient).dim()) if axis != 1]
        with gm.graph.inserting_before(node):
            summed = called(gm.graph, node, _aten.sum.dim_IntList, gradient, axes)
        for user in found:
            user.replace_all_uses_with(summed)
            gm.graph.erase_node(user)


def as_images(gm: fx.GraphModule) -> None:
    """Spell convolutions over rows as convolutions over images of one row, in place, as torch does
    inside the call; so rows too can lie channels last."""
    for node in list(gm.graph.nodes):
        if _wants(node, rank=3):
            _as_image(gm.graph, node)


def _as_image(graph: fx.Graph, node: fx.Node) -> None:
    first = 3 if node.target is _FORWARD else 4
    with graph.inserting_before(node):
        for place in _OPERANDS[node.target]:
            wide = called(graph, node, _aten.unsqueeze.default, node.args[place], 2)
            node.update_arg(place, wide)
        for place, along in ((0, 1), (1, 0), (2, 1), (4, 0)):  # stride, padding, dilation, output's
            sizes: Any = node.args[first + place]
            node.update_arg(first + place, [along, *sizes])
    node.meta["val"] = traced(node)
    results = [node] if node.target is _FORWARD else [u for u in node.users if u.args[1] != 2]
    for result in results:
        users = list(result.users)
        result.meta["val"] = traced(result)
        with graph.inserting_after(result):
            flat = called(graph, node, _aten.squeeze.dim, result, 2)
        for user in users:
            user.replace_input_with(result, flat)


def channels_last(gm: fx.GraphModule) -> None:
    """Lay the operands of convolutions over images out channels last, in place, and trace
    what follows from it again; results keep the strides they had. Left alone where a result, or
    memory that is read as such, has gaps."""
    if not any(_wants(node) for node in gm.graph.nodes):
        return
    graph = fx.Graph()
    graph.output(graph.graph_copy(gm.graph, {}))
    for old, new in zip(gm.graph.nodes, graph.nodes, strict=True):
        new.meta = dict(old.meta)
    try:
        _Relaid(graph).run()
    except _Gaps:
        return
    gm.graph = graph


def _wants(node: fx.Node, rank: int = 4) -> bool:
    if node.target not in _OPERANDS:
        return False
    operands = [value(node.args[place]) for place in _OPERANDS[node.target]]
    known = all(isinstance(n, int) for x in operands for n in (*x.shape, *x.stride()))
    images = known and all(x.dim() == rank and x.numel() > 0 for x in operands)
    groups = node.args[_GROUPS[node.target]]
    plain = operands[0].dtype is torch.float32 and groups == 1
    fast = operands[0].dtype in _SIXTEEN_BIT or (plain and torch.backends.cudnn.allow_tf32)
    slow_backward = groups != 1 and operands[-1].shape[1] > 1
    trained = node.graph.find_nodes(op="call_function", target=_BACKWARD)
    return bool(images and fast and not (slow_backward and trained))


class _Gaps(Exception):
    """A layout that a copy does not give back."""


class _Relaid:
    """One pass over a graph. ``old`` has the values of nodes whose strides have changed, as they
    were, and ``copies`` what has been laid out already."""

    def __init__(self, graph: fx.Graph) -> None:
        self.graph = graph
        self.old: dict[fx.Node, Any] = {}
        self.copies: dict[tuple[fx.Node, tuple[int, ...]], fx.Node] = {}
        self.first = next(node for node in graph.nodes if node.op != "placeholder")
        self.early = 0

    def run(self) -> None:
        """Rewrite the graph; raises ``_Gaps``."""
        for node in list(self.graph.nodes):
            if node.op == "output":
                self._restore(node)
            elif node.op == "call_function":
                wanted = _wants(node)
                for place in _OPERANDS[node.target] if wanted else ():
                    self._last(node, place)
                if wanted or self.old.keys() & set(node.all_input_nodes):
                    self._again(node)

    def _last(self, node: fx.Node, place: int) -> None:
        """Have ``node`` read its argument ``place`` channels last."""
        operand: Any = node.args[place]
        if not value(operand).is_contiguous(memory_format=torch.channels_last):
            _, c, h, w = value(operand).shape
            made = self._copy(node, operand, (h * w * c, 1, w * c, c))
            node.update_arg(place, made)

    def _again(self, node: fx.Node) -> None:
        """Trace ``node`` with operands as they lie now."""
        if node.target is not operator.getitem and not _by_value(node.target):
            self._restore(node)
        elif not _UNKNOWN & set(getattr(node.target, "tags", ())):
            try:
                self._replace(node, traced(node))
            except (RuntimeError, ValueError):  # a view that this layout does not allow
                self._restore(node)

    def _replace(self, node: fx.Node, made: Any) -> None:
        both = [pytree.tree_leaves(one) for one in (node.meta["val"], made)]
        pairs = [(a, b) for a, b in zip(*both, strict=True) if isinstance(a, Tensor)]
        if any(a.stride() != b.stride() for a, b in pairs):
            self.old[node] = node.meta["val"]
            node.meta["val"] = made
            node.meta.pop("tensor_meta", None)

    def _restore(self, node: fx.Node) -> None:
        """Have ``node`` read everything in the layout that it was traced with."""
        for operand in dict.fromkeys(node.all_input_nodes):
            if isinstance(self.old.get(operand), Tensor):
                made = self._copy(node, operand, self.old[operand].stride())
                if value(made).stride() != self.old[operand].stride():
                    raise _Gaps
                node.replace_input_with(operand, made)

    def _copy(self, before: fx.Node, node: fx.Node, stride: Sequence[int]) -> fx.Node:
        """``node`` in memory in which its dimensions come in the order of ``stride``."""
        key = (node, tuple(stride))
        if key not in self.copies:
            order = sorted(range(len(stride)), key=lambda d: -stride[d])
            nbytes = value(node).nbytes
            small = nbytes <= min(_EARLY_EACH, _EARLY - self.early)
            early = small and node.op == "placeholder"
            self.early += nbytes if early else 0
            with self.graph.inserting_before(self.first if early else before):
                made = self._view(node, node, order)
                dense = {"memory_format": torch.contiguous_format}
                made = called(self.graph, node, _aten.clone.default, made, **dense)
            with self.graph.inserting_before(before):
                self.copies[key] = self._view(
                    node, made, [order.index(d) for d in range(len(order))]
                )
        return self.copies[key]

    def _view(self, like: fx.Node, node: fx.Node, order: list[int]) -> fx.Node:
        if order == sorted(order):
            return node
        return called(self.graph, like, _aten.permute.default, node, order)


def _by_value(target: Any) -> bool:
    if not isinstance(target, torch._ops.OpOverload):
        return False
    space, name = target._schema.name.split("::")
    return space in _OWN and name not in _BY_STRIDE
