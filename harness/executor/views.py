"""Views between steps: chains of them as one, and those that nobody needs left out. What a chain of
views does to a tensor whose layout is known is found by making it of a tensor without memory; the
host function then makes the last view of a chain directly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

import torch

from harness.errors import HarnessError
from harness.graph.model import HostCall, Node, Partition, Region, TensorType
from harness.graph.passes.cleanup import kept_names
from harness.graph.replay import META, call_node, stand_in
from harness.graph.views import VIEW_OPS
from harness.ir.reach import grouped


@dataclass(frozen=True, slots=True)
class Viewed:
    """A value as a view of ``root`` (in its recorded layout): sizes, strides, and the offset
    from the root's, in elements; ``is_all`` whether it lies just as its root. ``chain`` are
    the calls that make it."""

    root: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    is_all: bool
    chain: tuple[Node, ...]


class ViewPlan:
    """The views of a partition that can be made from their roots, by name; which of them
    something other than such a view reads (``needed``); and which values the caller gets
    together with another one in the same memory (``shared``)."""

    def __init__(self, partition: Partition) -> None:
        self.views, self.needed, self.shared = dict[str, Viewed](), set[str](), set[str]()
        graph, types = partition.graph, partition.graph.types()
        metas: dict[str, torch.Tensor] = {}
        for step in partition.steps:
            if isinstance(step, HostCall) and step.node.op in VIEW_OPS:
                self._follow(step.node, types, metas)
        self.needed.update(kept_names(graph))
        for step in partition.steps:
            if not self.is_collapsed(step):
                self.needed.update(_reads(step))
        roots = {name: view.root for name, view in self.views.items()}
        names = (*graph.given, *dict.fromkeys(graph.results))
        alike = grouped(names, lambda name: roots.get(name, name)).values()
        self.shared.update(n for same in alike if len(same) > 1 for n in same)

    def is_collapsed(self, step: Region | HostCall) -> TypeGuard[HostCall]:
        """Whether ``step`` is one of the views."""
        return isinstance(step, HostCall) and step.node.name in self.views

    def touched(self, step: Region | HostCall) -> tuple[str, ...]:
        """The values that the host function reads, then those that it makes, at ``step``."""
        if self.is_collapsed(step):
            name = step.node.name
            return (self.views[name].root, name) if name in self.needed else ()
        made = step.graph.results if isinstance(step, Region) else (step.node.name,)
        return (*_reads(step), *made)

    def _follow(self, node: Node, types: Mapping[str, Any], metas: dict[str, torch.Tensor]) -> None:
        base = next(node.refs())
        before = self.views.get(base)
        root = base if before is None else before.root
        kinds = (types[base], node.type)
        known = [kind.layout if isinstance(kind, TensorType) else None for kind in kinds]
        if known[0] is None or known[1] is None:
            return
        if node.packet == "as_strided" and node.argument(3, "storage_offset") is not None:
            return  # that counts from where the memory begins, which only a call tells
        if base not in metas:
            metas[base] = stand_in(types[base])
        try:
            made = call_node(node, {base: metas[base]}, META)
        except (RuntimeError, ValueError, HarnessError):
            return  # the recorded layout does not allow it: the operator decides when it runs
        found = (tuple(made.shape), tuple(made.stride()))
        lazily = made.is_conj() or made.is_neg()
        if lazily or found != known[1] or made.dtype != metas[base].dtype:
            return
        metas[node.name] = made
        chain = (node,) if before is None else (*before.chain, node)
        offset = int(made.storage_offset())
        self.views[node.name] = Viewed(root, *found, offset, found == types[root].layout, chain)


def _reads(step: Region | HostCall) -> Iterable[str]:
    return step.graph.given if isinstance(step, Region) else step.node.refs()
