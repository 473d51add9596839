"""Which kernels of a small capture do the work of a kernel at full size.

Both graphs have the same structure and the same node names, so a kernel is
known by the nodes it computes. Sizes can change what is fused and split; then
the kernels that together compute those nodes stand in for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.codegen.source import EmittedModule


def match_small(
    full: Sequence[EmittedModule], small: Sequence[EmittedModule]
) -> tuple[tuple[int, ...], ...]:
    """For each kernel of ``full`` the positions in ``small`` that cover its nodes.

    One position where a small kernel computes exactly the same nodes; several where
    the work is divided otherwise; none where some node is computed by no small kernel.
    """
    exact: dict[frozenset[str], int] = {}
    computes: dict[str, list[int]] = {}
    for position, module in enumerate(small):
        exact.setdefault(frozenset(module.origins), position)
        for node in module.origins:
            computes.setdefault(node, []).append(position)
    return tuple(_match(module, exact, computes) for module in full)


def _match(
    module: EmittedModule, exact: dict[frozenset[str], int], computes: dict[str, list[int]]
) -> tuple[int, ...]:
    position = exact.get(frozenset(module.origins))
    if position is not None:
        return (position,)
    if not all(node in computes for node in module.origins):
        return ()
    return tuple(sorted({p for node in module.origins for p in computes[node]}))
