"""Attention as the call a GPU makes.

Tracing happens on CPU tensors, where torch picks a CPU kernel for attention. A graph
has no device and is meant for a GPU, so these calls are rewritten:

* where only the result is used, to the device-independent
  ``scaled_dot_product_attention``;
* where the backward pass needs the logarithm of the sums: to flash attention for 16-bit
  types without a mask (it also takes fewer key heads than query heads), otherwise to the
  memory-efficient kernel, which takes masks and float32. That is the order in which torch
  tries them on a GPU.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from harness.errors import CaptureFailed
from harness.graph.fx import source_of

_aten = torch.ops.aten
_HALF = (torch.float16, torch.bfloat16)


@dataclass(frozen=True)
class _Rewritten:
    """A forward call on the GPU; ``seeds`` are what its backward needs besides."""

    is_flash: bool
    seeds: tuple[fx.Node, ...]


def normalise_attention(gm: fx.GraphModule) -> None:
    """Rewrite the CPU's attention calls of ``gm``, forward and backward, in place.

    Raises ``CaptureFailed`` if a result would get another layout than what follows was
    traced with.
    """
    forward_op = _aten._scaled_dot_product_flash_attention_for_cpu.default
    backward_op = _aten._scaled_dot_product_flash_attention_for_cpu_backward.default
    known: dict[fx.Node, _Rewritten] = {}
    for node in list(gm.graph.nodes):
        if node.target is forward_op:
            results = {user.args[1]: user for user in node.users}
            if set(results) <= {0}:
                _to_plain(gm, node, results)
            elif _is_flash(node):
                known[results[0]] = _to_flash(gm, node)
            else:
                known[results[0]] = _to_efficient(gm, node)
        elif node.target is backward_op:
            call = known[_arguments(node)["out"]]
            if call.is_flash:
                _to_flash_backward(gm, node, call.seeds)
            else:
                _to_efficient_backward(gm, node, call.seeds)


def _arguments(node: fx.Node) -> dict[str, Any]:
    """The arguments of the CPU's attention by name, defaults filled in."""
    assert isinstance(node.target, torch._ops.OpOverload)
    found: dict[str, Any] = {}
    for position, argument in enumerate(node.target._schema.arguments):
        if position < len(node.args):
            found[argument.name] = node.args[position]
        else:
            found[argument.name] = node.kwargs.get(argument.name, argument.default_value)
    return found


def _is_flash(node: fx.Node) -> bool:
    a = _arguments(node)
    return a["attn_mask"] is None and a["query"].meta["val"].dtype in _HALF


def _insert(gm: fx.GraphModule, before: fx.Node, target: Any, *args: Any, **kwargs: Any) -> fx.Node:
    """Insert a call with its fake result and the source line of ``before``."""
    with gm.graph.inserting_before(before):
        node = gm.graph.call_function(target, args, kwargs)
    for key, value in before.meta.items():
        if key not in ("val", "tensor_meta"):
            node.meta[key] = value
    fake_args, fake_kwargs = fx.node.map_arg((args, kwargs), lambda n: n.meta["val"])
    mode = next(_fakes(gm)).fake_mode
    with mode, torch.no_grad():
        node.meta["val"] = target(*fake_args, **fake_kwargs)
    return node


def _fakes(gm: fx.GraphModule) -> Iterator[Any]:
    for node in gm.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and hasattr(value, "fake_mode"):
            yield value


def _to_plain(gm: fx.GraphModule, node: fx.Node, results: dict[Any, fx.Node]) -> None:
    a = _arguments(node)
    query, key = a["query"].meta["val"], a["key"].meta["val"]
    options: dict[str, Any] = {} if a["scale"] is None else {"scale": a["scale"]}
    if query.shape[1] != key.shape[1]:
        options["enable_gqa"] = True
    with gm.graph.inserting_before(node):
        plain = gm.graph.call_function(
            _aten.scaled_dot_product_attention.default,
            (a["query"], a["key"], a["value"], a["attn_mask"], a["dropout_p"], a["is_causal"]),
            options,
        )
    plain.meta = {k: v for k, v in node.meta.items() if k != "tensor_meta"}
    plain.meta["val"] = node.meta["val"][0]
    if 0 in results:
        results[0].replace_all_uses_with(plain)
        gm.graph.erase_node(results[0])
    gm.graph.erase_node(node)


def _replace_forward(gm: fx.GraphModule, node: fx.Node, call: fx.Node) -> None:
    """Let the users of ``node`` use ``call``; both give result and logarithm first."""
    _require_same_layout(node, call, 0)
    for user in list(node.users):
        user.meta["val"] = call.meta["val"][user.args[1]]
    node.replace_all_uses_with(call)
    gm.graph.erase_node(node)


def _to_flash(gm: fx.GraphModule, node: fx.Node) -> _Rewritten:
    a = _arguments(node)
    call = _insert(
        gm,
        node,
        _aten._scaled_dot_product_flash_attention.default,
        a["query"],
        a["key"],
        a["value"],
        a["dropout_p"],
        a["is_causal"],
        scale=a["scale"],
    )
    seeds = tuple(_insert(gm, node, operator.getitem, call, k) for k in (6, 7))
    _replace_forward(gm, node, call)
    return _Rewritten(True, seeds)


def _to_efficient(gm: fx.GraphModule, node: fx.Node) -> _Rewritten:
    a = _arguments(node)
    call = _insert(
        gm,
        node,
        _aten._scaled_dot_product_efficient_attention.default,
        a["query"],
        a["key"],
        a["value"],
        a["attn_mask"],
        True,
        a["dropout_p"],
        a["is_causal"],
        scale=a["scale"],
    )
    seeds = tuple(_insert(gm, node, operator.getitem, call, k) for k in (2, 3))
    _replace_forward(gm, node, call)
    return _Rewritten(False, seeds)


def _to_flash_backward(gm: fx.GraphModule, node: fx.Node, seeds: tuple[fx.Node, ...]) -> None:
    a = _arguments(node)
    call = _insert(
        gm,
        node,
        _aten._scaled_dot_product_flash_attention_backward.default,
        a["grad_out"],
        a["query"],
        a["key"],
        a["value"],
        a["out"],
        a["logsumexp"],
        None,
        None,
        a["query"].meta["val"].shape[2],
        a["key"].meta["val"].shape[2],
        a["dropout_p"],
        a["is_causal"],
        *seeds,
        scale=a["scale"],
    )
    _replace_backward(gm, node, call)


def _to_efficient_backward(gm: fx.GraphModule, node: fx.Node, seeds: tuple[fx.Node, ...]) -> None:
    a = _arguments(node)
    call = _insert(
        gm,
        node,
        _aten._scaled_dot_product_efficient_attention_backward.default,
        a["grad_out"],
        a["query"],
        a["key"],
        a["value"],
        a["attn_mask"],
        a["out"],
        a["logsumexp"],
        *seeds,
        a["dropout_p"],
        [True, True, True, False],
        a["is_causal"],
        scale=a["scale"],
    )
    _replace_backward(gm, node, call)


def _replace_backward(gm: fx.GraphModule, node: fx.Node, call: fx.Node) -> None:
    for user in node.users:
        _require_same_layout(node, call, user.args[1])
    node.replace_all_uses_with(call)
    gm.graph.erase_node(node)


def _require_same_layout(node: fx.Node, call: fx.Node, result: Any) -> None:
    old, new = node.meta["val"][result], call.meta["val"][result]
    if old.shape != new.shape or old.stride() != new.stride():
        raise CaptureFailed(
            "attention has another layout on a GPU than where it was traced",
            where=source_of(node),
            got=f"{tuple(new.shape)} with strides {new.stride()}",
            expected=f"{tuple(old.shape)} with strides {old.stride()}",
        )
