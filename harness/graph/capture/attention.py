"""Attention as the call a GPU makes.

Tracing happens on CPU tensors, where torch picks a CPU kernel for attention. A graph
has no device and is meant for a GPU, so the CPU's kernel is traced as the GPU's:

* flash attention for 16-bit types without a mask (it also takes fewer key heads than
  query heads), otherwise the memory-efficient kernel, which takes masks and float32:
  the order in which torch tries them on a GPU;
* where only the result is used, the device-independent ``scaled_dot_product_attention``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, fx

from harness.graph.capture.fx import real_tensors
from harness.graph.capture.libraries.calls import called

_aten = torch.ops.aten
_FLASH = _aten._scaled_dot_product_flash_attention.default
_EFFICIENT = _aten._scaled_dot_product_efficient_attention.default
_FLASH_BACKWARD = _aten._scaled_dot_product_flash_attention_backward.default
_EFFICIENT_BACKWARD = _aten._scaled_dot_product_efficient_attention_backward.default

_FLASH_SEEDS = (6, 7)
_EFFICIENT_SEEDS = (2, 3)
"""Positions, among the forward call's results, of the random generator's state."""


def _is_flash(query: Tensor, attn_mask: Tensor | None) -> bool:
    return attn_mask is None and query.dtype in (torch.float16, torch.bfloat16)


def _forward(
    query: Tensor, key: Tensor, value: Tensor, *args: Any, attn_mask: Any = None, scale: Any = None
) -> tuple[Tensor, Tensor]:
    """``args`` are the probability of dropout and whether the mask is causal, as far as given."""
    if _is_flash(query, attn_mask):
        results = _FLASH(query, key, value, *args, scale=scale)
    else:
        results = _EFFICIENT(query, key, value, attn_mask, True, *args, scale=scale)
    return results[0], results[1]


def _backward(*given: Any, attn_mask: Any = None, scale: Any = None) -> tuple[Tensor, ...]:
    *operands, out, logsumexp, dropout_p, is_causal = given
    _, query, key, _ = operands
    state, saved = [torch.zeros((), dtype=torch.int64)] * 2, [out, logsumexp]
    if _is_flash(query, attn_mask):
        saved += [None, None, query.shape[2], key.shape[2], dropout_p, is_causal]
        results = _FLASH_BACKWARD(*operands, *saved, *state, scale=scale)
    else:
        rest = (dropout_p, [True, True, True, False], is_causal)
        results = _EFFICIENT_BACKWARD(*operands, attn_mask, *saved, *state, *rest, scale=scale)
    return results[0], results[1], results[2]


ATTENTION_RULES: dict[torch._ops.OperatorBase, Callable[..., Any]] = {
    _aten._scaled_dot_product_flash_attention_for_cpu.default: _forward,
    _aten._scaled_dot_product_flash_attention_for_cpu_backward.default: _backward,
}
"""Decompositions of the CPU's attention kernels into the GPU's. The backward calls get stand-ins
for the generator's state; ``link_attention`` puts the forward calls' results in their place."""


def link_attention(gm: fx.GraphModule) -> None:
    """Finish what ``ATTENTION_RULES`` began, in place. Backward calls take the generator's state
    from the forward call whose result they are given; forward calls of which only the result is
    used become ``scaled_dot_product_attention``."""
    for node in list(gm.graph.nodes):
        if node.target in (_FLASH, _EFFICIENT):
            if {user.args[1] for user in node.users} <= {0}:
                _to_plain(gm, node)
        elif node.target is _FLASH_BACKWARD:
            _link(gm, node, 4, _FLASH_SEEDS, 12)
        elif node.target is _EFFICIENT_BACKWARD:
            _link(gm, node, 5, _EFFICIENT_SEEDS, 7)


_OF_POSITIONS = (torch.arange, operator.add, operator.getitem, operator.ge, "expand")
_ATTENTION = torch.nn.functional.scaled_dot_product_attention


def _masks_nothing(mask: fx.Node) -> bool:
    """Whether ``mask`` is made of nothing but positions, and true everywhere."""
    needed = [mask]
    for node in needed:
        needed.extend(one for one in node.all_input_nodes if one not in needed)
        elsewhere = any(u not in needed and u.target is not _ATTENTION for u in node.users)
        if elsewhere or node.op == "placeholder" or node.target not in _OF_POSITIONS:
            return False
    alone, made = fx.Graph(), dict[fx.Node, fx.Node]()
    for node in (one for one in mask.graph.nodes if one in needed):
        made[node] = alone.node_copy(node, made.__getitem__)
    alone.output(made[mask])
    with real_tensors():
        found = fx.GraphModule({}, alone)()
    return found.dtype is torch.bool and bool(found.all())


def dense_masks(gm: fx.GraphModule) -> None:
    """Have attention in a module from ``torch.compile`` do without masks that mask nothing, and
    read others whose last dimension lies side by side. For a mask that is expanded along keys or
    transposed (the relative positions of T5) torch takes none of its attention kernels, but
    products in float32, which are several times slower."""
    for node in list(gm.graph.nodes):
        mask = node.kwargs.get("attn_mask", node.args[3] if len(node.args) > 3 else None)
        if node.target is not _ATTENTION or not isinstance(mask, fx.Node):
            continue
        value = mask.meta.get("example_value")
        if "attn_mask" in node.kwargs and _masks_nothing(mask):
            node.update_kwarg("attn_mask", None)
        elif isinstance(value, Tensor) and value.is_cuda and value.stride()[-1:] != (1,):
            with gm.graph.inserting_before(node):
                dense = gm.graph.call_method("contiguous", (mask,))
            node.replace_input_with(mask, dense)
    gm.recompile()


def _link(gm: fx.GraphModule, node: fx.Node, out: int, seeds: tuple[int, int], first: int) -> None:
    """Replace arguments ``first`` and ``first + 1`` of a backward call. Its argument ``out`` is the
    forward call's result."""
    result_of: Any = node.args[out]
    forward: fx.Node = result_of.args[0]
    after = next(iter(forward.users))
    for offset, result in enumerate(seeds):
        with gm.graph.inserting_after(after):
            seed = called(gm.graph, forward, operator.getitem, forward, result)
        node.update_arg(first + offset, seed)


def _to_plain(gm: fx.GraphModule, node: fx.Node) -> None:
    args: tuple[Any, ...] = node.args
    query, key, value = args[:3]
    mask, rest = (None, args[3:]) if node.target is _FLASH else (args[3], args[5:])
    dropout_p = rest[0] if rest else 0.0
    is_causal = rest[1] if len(rest) > 1 else False
    options: dict[str, Any] = {
        k: v for k, v in node.kwargs.items() if k == "scale" and v is not None
    }
    if query.meta["val"].shape[1] != key.meta["val"].shape[1]:
        options["enable_gqa"] = True
    with gm.graph.inserting_before(node):
        plain = gm.graph.call_function(
            _aten.scaled_dot_product_attention.default,
            (query, key, value, mask, dropout_p, is_causal),
            options,
        )
    plain.meta = {k: v for k, v in node.meta.items() if k != "tensor_meta"}
    plain.meta["val"] = node.meta["val"][0]
    for user in list(node.users):
        user.replace_all_uses_with(plain)
        gm.graph.erase_node(user)
    gm.graph.erase_node(node)
