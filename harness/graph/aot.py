"""The one place that touches torch's private tracing machinery.

AOTAutograd, fake tensors and the partitioner have no public names. Everything the
harness needs from them is reached through this file, which is tried on every
supported version of torch (2.11 to 2.13).
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from functorch.compile import aot_function
from torch import fx
from torch._functorch.partitioners import (
    _extract_fwd_bwd_modules,
    min_cut_rematerialization_partition,
)
from torch._subclasses.fake_tensor import FakeTensorMode

from harness.errors import CaptureFailed
from harness.graph.decompositions import decompositions
from harness.graph.fx import Conversion, Naming, convert, graph_from_fx, source_of

__all__ = [
    "Conversion",
    "Exported",
    "Naming",
    "Traced",
    "convert",
    "export",
    "fake_mode",
    "graph_from_fx",
    "trace",
]

_aten = torch.ops.aten


@dataclass
class Traced:
    """What tracing gave: functional ATen graphs before conversion.

    ``forward`` is the whole graph of an inference capture, ``backward`` is ``None``
    then. ``joint_names`` are the fx names of all nodes before the partitioner cut
    them apart, in execution order, with the operator's short name; both halves keep
    these names. ``placeholders`` are the fx names of the inputs, in the order they were
    given, followed by those of the output gradients.
    """

    forward: fx.GraphModule | None = None
    backward: fx.GraphModule | None = None
    joint_names: list[tuple[str, str]] = field(default_factory=list)
    placeholders: list[str] = field(default_factory=list)


@dataclass
class Exported:
    """An exported module: its state by name, and a way to run it on flat arguments.

    ``run(state, leaves)`` runs the exported program on other tensors and hands each
    operator's source line on to whatever traces it.
    """

    parameters: list[tuple[str, torch.Tensor]]
    buffers: list[tuple[str, torch.Tensor]]
    run: Callable[[dict[str, torch.Tensor], Sequence[Any]], Any]


class _Interpreted(torch.nn.Module):
    """Runs a graph module node by node, so that traces keep the source lines."""

    def __init__(self, gm: fx.GraphModule) -> None:
        super().__init__()
        self.gm = gm

    def forward(self, *leaves: Any) -> Any:
        return fx.Interpreter(self.gm).run(*leaves, enable_io_processing=False)


def export(
    module: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    mode: Any,
    training: bool,
) -> Exported:
    """Export ``module`` on fake tensors, which finds the model's source lines."""
    with torch.set_grad_enabled(training), mode:
        program = torch.export.export(module, args, kwargs, strict=False)
        gm = _unguarded(program)
    for node in list(gm.graph.nodes):
        if node.target in (_aten._assert_tensor_metadata.default, _aten._assert_scalar.default):
            gm.graph.erase_node(node)
    gm.recompile()
    runner = _Interpreted(gm)

    def run(state: dict[str, torch.Tensor], leaves: Sequence[Any]) -> Any:
        named = {f"gm.{name}": value for name, value in state.items()}
        return torch.func.functional_call(runner, named, tuple(leaves))

    return Exported(list(gm.named_parameters()), list(gm.named_buffers()), run)


def _unguarded(program: torch.export.ExportedProgram) -> fx.GraphModule:
    """The program as a module; newer versions add checks of the inputs unless told not to."""
    takes_guards = "check_guards" in inspect.signature(program.module).parameters
    module = program.module(check_guards=False) if takes_guards else program.module()
    assert isinstance(module, fx.GraphModule)
    return module


@contextmanager
def fake_mode() -> Iterator[Any]:
    """A context in which tensors have sizes and types but no memory."""
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        yield mode


def trace(
    function: Callable[..., Any],
    flat_args: Sequence[torch.Tensor],
    training: bool,
    saved: Sequence[str] | None = None,
    rename: Callable[[Traced], dict[str, str]] | None = None,
) -> Traced:
    """Trace ``function`` on fake tensors into functional ATen graphs.

    With ``training``, the joint graph is cut by the min-cut partitioner; ``saved``
    (names after ``rename``) fixes which values the forward graph keeps for the
    backward one instead, so that two captures of one model at different sizes are
    cut at the same places.
    """
    traced = Traced()

    def take_forward(gm: fx.GraphModule, _inputs: Sequence[Any]) -> Callable[..., Any]:
        if not traced.joint_names:
            _normalise(gm)
            _record(gm, traced)
        traced.forward = gm
        return _runner(gm)

    def take_backward(gm: fx.GraphModule, _inputs: Sequence[Any]) -> Callable[..., Any]:
        traced.backward = gm
        return _runner(gm)

    def partition(
        joint: fx.GraphModule, inputs: Sequence[Any], *, num_fwd_outputs: int, **options: Any
    ) -> tuple[fx.GraphModule, fx.GraphModule]:
        _normalise(joint)
        _record(joint, traced)
        if saved is None or rename is None:
            return min_cut_rematerialization_partition(
                joint, inputs, num_fwd_outputs=num_fwd_outputs, **options
            )
        return _cut_at(joint, saved, rename(traced), num_fwd_outputs)

    compiled = aot_function(
        function,
        fw_compiler=take_forward,
        bw_compiler=take_backward,
        partition_fn=partition,
        decompositions=decompositions(),
        keep_inference_input_mutations=True,
    )
    with torch.set_grad_enabled(training):
        result = compiled(*flat_args)
    if training and traced.backward is None:
        _run_backward(result)
    return traced


def _run_backward(result: Any) -> None:
    """Provoke the backward compilation where it is put off until it is needed."""
    outputs = [t for t in torch.utils._pytree.tree_leaves(result) if isinstance(t, torch.Tensor)]
    outputs = [t for t in outputs if t.requires_grad]
    if not outputs:
        raise CaptureFailed(
            "nothing to train: no output depends on a parameter",
            expected="an output that requires a gradient",
            remedy="capture in inference mode, or return the loss",
        )
    torch.autograd.backward(outputs, [torch.ones_like(t) for t in outputs])


def _runner(gm: fx.GraphModule) -> Callable[..., Any]:
    def run(args: list[Any]) -> Any:
        return gm(*args)

    run._boxed_call = True  # type: ignore[attr-defined]
    return run


def _record(gm: fx.GraphModule, traced: Traced) -> None:
    for node in gm.graph.nodes:
        if node.op in ("call_function", "get_attr"):
            traced.joint_names.append((node.name, _short(node)))
        elif node.op == "placeholder":
            traced.placeholders.append(node.name)


def _short(node: fx.Node) -> str:
    if isinstance(node.target, torch._ops.OpOverload):
        return str(node.target._schema.name).split("::")[-1].strip("_")
    return "getitem" if node.target is operator.getitem else "constant"


def _cut_at(
    joint: fx.GraphModule, saved: Sequence[str], names: dict[str, str], num_fwd_outputs: int
) -> tuple[fx.GraphModule, fx.GraphModule]:
    by_name = {names.get(n.name, n.name): n for n in joint.graph.nodes}
    missing = [name for name in saved if name not in by_name]
    if missing:
        raise CaptureFailed(
            "the value to be kept for the backward graph does not exist in this capture",
            got=", ".join(missing[:5]),
            expected="the same structure at both sizes",
            remedy="choose small sizes that leave the model's control flow as it is",
        )
    forward, backward = _extract_fwd_bwd_modules(
        joint, [by_name[n] for n in saved], [], num_fwd_outputs=num_fwd_outputs
    )
    return forward, backward


def _normalise(gm: fx.GraphModule) -> None:
    """Spell operators one way, and attention as a GPU would run it."""
    for node in list(gm.graph.nodes):
        if node.target is torch.ops.prims.convert_element_type.default:
            node.target = _aten._to_copy.default
            node.kwargs = {"dtype": node.args[1]}
            node.args = node.args[:1]
        elif node.target in (_aten.alias.default, _aten.detach.default):
            node.replace_all_uses_with(node.args[0])
            gm.graph.erase_node(node)
    _normalise_attention(gm)
    gm.graph.eliminate_dead_code(_is_impure)
    gm.graph.lint()
    gm.recompile()


def _is_impure(node: fx.Node) -> bool:
    return node.op in ("placeholder", "output") or node.target is _aten.copy_.default


def _normalise_attention(gm: fx.GraphModule) -> None:
    """Attention as the call a GPU makes.

    Traced on a CPU, attention is ``_scaled_dot_product_flash_attention_for_cpu``.
    Where only its result is used it is written as the device-independent
    ``scaled_dot_product_attention``; where the backward pass needs the logarithm of
    the sums it becomes the memory-efficient kernel, whose backward takes every mask.
    """
    forward_op = _aten._scaled_dot_product_flash_attention_for_cpu.default
    backward_op = _aten._scaled_dot_product_flash_attention_for_cpu_backward.default
    seeds: dict[fx.Node, tuple[fx.Node, fx.Node]] = {}
    for node in list(gm.graph.nodes):
        if node.target is forward_op:
            results = {user.args[1]: user for user in node.users}
            if set(results) <= {0}:
                _to_plain_attention(gm, node, results)
            else:
                seeds[results[0]] = _to_efficient_attention(gm, node)
        elif node.target is backward_op:
            _to_efficient_backward(gm, node, seeds)


def _attention_arguments(node: fx.Node) -> dict[str, Any]:
    """The arguments of the CPU's attention by name, defaults filled in."""
    assert isinstance(node.target, torch._ops.OpOverload)
    found: dict[str, Any] = {}
    for position, argument in enumerate(node.target._schema.arguments):
        if position < len(node.args):
            found[argument.name] = node.args[position]
        else:
            found[argument.name] = node.kwargs.get(argument.name, argument.default_value)
    return found


def _insert(gm: fx.GraphModule, before: fx.Node, target: Any, *args: Any, **kwargs: Any) -> fx.Node:
    with gm.graph.inserting_before(before):
        node = gm.graph.call_function(target, args, kwargs)
    for key, value in before.meta.items():
        if key not in ("val", "tensor_meta"):
            node.meta[key] = value
    fake_args, fake_kwargs = fx.node.map_arg((args, kwargs), lambda n: n.meta["val"])
    mode = next(v.fake_mode for v in _fakes(gm))
    with mode, torch.no_grad():
        node.meta["val"] = target(*fake_args, **fake_kwargs)
    return node


def _fakes(gm: fx.GraphModule) -> Iterator[Any]:
    for node in gm.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and hasattr(value, "fake_mode"):
            yield value


def _to_plain_attention(
    gm: fx.GraphModule, node: fx.Node, results: dict[Any, fx.Node]
) -> None:
    a = _attention_arguments(node)
    options = {} if a["scale"] is None else {"scale": a["scale"]}
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


def _to_efficient_attention(gm: fx.GraphModule, node: fx.Node) -> tuple[fx.Node, fx.Node]:
    a = _attention_arguments(node)
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
    seed = _insert(gm, node, operator.getitem, call, 2)
    offset = _insert(gm, node, operator.getitem, call, 3)
    for user in list(node.users):
        _require_same_layout(user, call.meta["val"][user.args[1]], only=user.args[1] == 0)
        user.meta["val"] = call.meta["val"][user.args[1]]
    node.replace_all_uses_with(call)
    gm.graph.erase_node(node)
    return seed, offset


def _to_efficient_backward(
    gm: fx.GraphModule, node: fx.Node, seeds: dict[fx.Node, tuple[fx.Node, fx.Node]]
) -> None:
    a = _attention_arguments(node)
    seed, offset = seeds[a["out"]]
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
        seed,
        offset,
        a["dropout_p"],
        [True, True, True, False],
        a["is_causal"],
        scale=a["scale"],
    )
    for user in node.users:
        _require_same_layout(user, call.meta["val"][user.args[1]], only=True)
    node.replace_all_uses_with(call)
    gm.graph.erase_node(node)


def _require_same_layout(node: fx.Node, value: torch.Tensor, only: bool) -> None:
    old = node.meta["val"]
    if only and (old.shape != value.shape or old.stride() != value.stride()):
        raise CaptureFailed(
            "attention has another layout on a GPU than where it was traced",
            where=source_of(node),
            got=f"{tuple(value.shape)} with strides {value.stride()}",
            expected=f"{tuple(old.shape)} with strides {old.stride()}",
        )
