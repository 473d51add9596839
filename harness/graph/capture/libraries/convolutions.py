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
* Rows over groups, with long filters, go through products: windows that the filters see, side by
  side in memory, make it a product a group, and its gradients too, the input's being a convolution
  of the result's with the filters reversed. On an H200, HuBERT's 16 groups of 48 channels with 128
  taps take cuDNN 1.4 to 12.9 ms and products 0.3 to 1.3 (docs/measurements/limit.md), gradients of
  one row 1.9 to 9.4 and 0.5 to 1.0; gradients of 8 rows and more, and groups of 64 channels, are
  the library's, which is faster at them. So is what nobody has measured: short filters, strides,
  little work, and float32, whose products are not TF32 by default.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, fx
from torch.utils import _pytree as pytree

from harness.graph.capture.libraries.calls import called, traced, value
from harness.graph.own_operators import ALIGNED_BYTES

_aten = torch.ops.aten
_FORWARD, _BACKWARD = _aten.convolution.default, _aten.convolution_backward.default
_OPERANDS: dict[Any, tuple[int, ...]] = {_FORWARD: (0, 1), _BACKWARD: (0, 1, 2)}
"""Positions of the tensors that the library wants channels last."""
_GROUPS: dict[Any, int] = {_FORWARD: 8, _BACKWARD: 9}
_OWN = ("aten", "prims", "harness")
"""Namespaces of operators that compute the same whatever the layout of their operands."""
_BY_STRIDE = (
    "as_strided as_strided_scatter as_strided_copy copy_strided resize _weight_norm_interface "
    "_weight_norm_interface_backward _pdist_forward _pdist_backward _cudnn_rnn_backward"
).split()
"""Operators that read memory, not values: CUDA kernels of the last ones take what they are given
for contiguous, which autograd makes it, so a trace has no copy (torch 2.13)."""
_UNKNOWN = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
_EARLY, _EARLY_EACH = 4 << 20, 1 << 20
"""Bytes of weights, and of one of them, that are laid out before everything else, in few launches
(larger ones share none: ``combos.choosing``). They wait for their use, so what is beyond is laid
out where it is used."""
_SIXTEEN_BIT = (torch.bfloat16, torch.float16)
_CHANNELS, _TAPS, _OPERATIONS = range(16, 64), 64, 7 * 10**8
"""Channels that a group has and makes, the least taps, and operations for which products gain."""
_ROWS = 8
"""From so many rows on the library is faster at gradients."""
_Call = Callable[..., fx.Node]


def without_biases(gm: fx.GraphModule) -> None:
    """Take biases out of convolutions, in place: a sum behind the call, and a sum over the output's
    gradient for the bias's own. One of another type stays: the library rejects it."""
    for node in list(gm.graph.nodes):
        bias = node.args[2] if node.target is _FORWARD else None
        if bias is not None and value(bias).dtype is value(node).dtype:
            _bias_behind(gm, node)
        elif node.target is _BACKWARD and node.args[10][2]:
            _bias_gradient_apart(gm, node)


def _bias_behind(gm: fx.GraphModule, node: fx.Node) -> None:
    result, bias = value(node), node.args[2]
    node.update_arg(2, None)
    with gm.graph.inserting_after(node):
        wide = called(gm.graph, node, _aten.view.default, bias, [-1, *[1] * (result.dim() - 2)])
    with gm.graph.inserting_after(wide):
        added = called(gm.graph, node, _aten.add.Tensor, node, wide)
    node.replace_all_uses_with(added, functools.partial(operator.is_not, added))


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


def over_groups(gm: fx.GraphModule) -> None:
    """Have convolutions over groups that gain from it be products, in place."""
    for node in list(gm.graph.nodes):
        if not _gains(node):
            continue
        call = functools.partial(called, gm.graph, node)
        with gm.graph.inserting_before(node):
            if node.target is _FORWARD:
                arguments: Any = node.args
                x, w, _, _, (margin,), *_, groups = arguments
                node.replace_all_uses_with(_product(call, x, _filters(call, w, groups), margin))
            for part in list(node.users) if node.target is _BACKWARD else ():
                part.replace_all_uses_with(_gradient(call, node.args, part.args[1]))
                gm.graph.erase_node(part)
        gm.graph.erase_node(node)


def _gains(node: fx.Node) -> bool:
    """Whether products are known to be the faster way; a bias that is left is to be rejected."""
    if node.target not in _OPERANDS or (node.target is _FORWARD and node.args[2] is not None):
        return False
    *given, x, w = (value(node.args[place]) for place in _OPERANDS[node.target])
    result = given[0] if given else value(node)
    if x.dim() != 3 or not all(type(n) is int and n > 0 for n in (*x.shape, *w.shape)):
        return False
    arguments: Any = node.args[len(given) + 3 :]
    stride, (margin,), dilation, transposed, _, groups, *_ = arguments
    (outer, inner, taps), step = w.shape, ALIGNED_BYTES // x.itemsize
    channels = (inner, outer // groups)
    plain = stride == dilation == [1] and not transposed and groups > 1 and 0 <= margin < taps
    fast = x.dtype in _SIXTEEN_BIT and not any(n % step for n in channels)
    fast &= all(n in _CHANNELS for n in channels) and not (given and x.shape[0] >= _ROWS)
    work = 2 * result.numel() * inner * taps
    return bool(plain and fast and taps >= _TAPS and work >= _OPERATIONS)


def _gradient(call: _Call, arguments: Any, place: Any) -> fx.Node:
    """Of the input (``place`` 0) or of the filters."""
    given, x, w, _, _, (margin,), *_, groups, _ = arguments
    outer, inner, taps = value(w).shape
    if place == 0:
        turned = call(_aten.flip.default, _filters(call, w, groups), [3])
        turned = call(_aten.permute.default, turned, [0, 2, 1, 3])
        return _product(call, given, turned, taps - 1 - margin)
    rows, seen = _rows(call, given, groups, 0), _rows(call, x, groups, margin)
    rows = call(_aten.view.default, rows, [groups, -1, outer // groups])
    made = call(torch.ops.harness.windows_mm.default, seen, rows, taps, True)
    made = call(_aten.view.default, made, [groups, outer // groups, taps, inner])
    return call(_aten.view.default, _dense(call, made, [0, 1, 3, 2]), [outer, inner, taps])


def _product(call: _Call, x: fx.Node, filters: fx.Node, margin: int) -> fx.Node:
    """``x``, with ``margin`` zeros at both ends, convolved with the ``filters`` of each group."""
    groups, outer, inner, taps = value(filters).shape
    table = _dense(call, filters, [0, 1, 3, 2])
    table = call(_aten.view.default, table, [groups, outer, taps * inner])
    rows, n = _rows(call, x, groups, margin), value(x).shape[0]
    made = call(torch.ops.harness.windows_mm.default, rows, table, taps, False)
    made = call(_aten.view.default, made, [groups, n, -1, outer])
    return call(_aten.view.default, _dense(call, made, [1, 0, 3, 2]), [n, groups * outer, -1])


def _filters(call: _Call, w: fx.Node, groups: Any) -> fx.Node:
    """By group: results, channels and taps of each."""
    return call(_aten.view.default, w, [groups, -1, *value(w).shape[1:]])


def _rows(call: _Call, x: fx.Node, groups: int, margin: int) -> fx.Node:
    """Rows by group, with zeros at both ends, each place's channels side by side."""
    n, _, length = value(x).shape
    x = call(_aten.constant_pad_nd.default, x, [margin, margin]) if margin else x
    apart = call(_aten.view.default, x, [n, groups, -1, length + 2 * margin])
    return _dense(call, apart, [1, 0, 3, 2])


def _dense(call: _Call, x: fx.Node, order: list[int]) -> fx.Node:
    """``x`` in memory in that order of its dimensions."""
    turned = call(_aten.permute.default, x, order)
    return call(_aten.clone.default, turned, memory_format=torch.contiguous_format)


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
        result.meta["val"] = traced(result)
        with graph.inserting_after(result):
            flat = called(graph, node, _aten.squeeze.dim, result, 2)
        result.replace_all_uses_with(flat, functools.partial(operator.is_not, flat))


def channels_last(gm: fx.GraphModule) -> None:
    """Lay the operands of convolutions over images out channels last, in place, and trace
    what follows from it again; results keep the strides they had. Left alone where a result, or
    memory that is read as such, has gaps."""
    if not any(_wants(node) for node in gm.graph.nodes):
        return
    graph = copy.deepcopy(gm.graph)
    with contextlib.suppress(_Gaps):
        _Relaid(graph).run()
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


def _one_channel(node: fx.Node) -> bool:
    """Whether it reads rows of one channel in 16 bits. They lie both ways, and the library goes by
    their strides: channels last pays if neighbours lie so (docs/measurements/memory.md). Images of
    one channel and float32, which nobody has measured, are left alone."""
    x = value(node.args[_OPERANDS[node.target][-2]])
    return x.dtype in _SIXTEEN_BIT and x.shape[1] == x.shape[2] == 1


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
        self.among_others = any(_wants(node) and not _one_channel(node) for node in graph.nodes)

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
            operand = self._copy(node, operand, (h * w * c, 1, w * c, c))
        if self.among_others and _one_channel(node) and value(operand).shape[1] == 1:
            with self.graph.inserting_before(node):  # the same memory, with strides that say so
                apart = called(self.graph, node, _aten.squeeze.dim, operand, 1)
                apart = called(self.graph, node, _aten.unsqueeze.default, apart, 3)
                operand = called(self.graph, node, _aten.permute.default, apart, [0, 3, 1, 2])
        node.update_arg(place, operand)

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
            early = nbytes <= min(_EARLY_EACH, _EARLY - self.early) and node.op == "placeholder"
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
