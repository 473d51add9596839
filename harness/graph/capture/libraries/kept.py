"""What a backward graph is given of values that it does not read, or not all of."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import fx

from harness.graph.capture.libraries.calls import called

_aten = torch.ops.aten
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
