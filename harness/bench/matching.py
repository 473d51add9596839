"""Which kernels of a small capture do the work of a kernel at full size.

Both graphs have the same structure and the same node names, so a launch is
known by the nodes it computes. Sizes can change what is fused and split; then
the kernels that together compute those nodes stand in for it.
"""

from __future__ import annotations

from collections.abc import Sequence

Origins = tuple[str, ...]
"""The graph nodes that one launch computes."""


def match_small(
    full: Sequence[Sequence[Origins]], small: Sequence[Sequence[Origins]]
) -> tuple[tuple[int, ...], ...]:
    """For each kernel of ``full`` the positions in ``small`` that cover its work.

    A kernel is given by the origins of its launches. One position where a small kernel
    is launched for exactly the same nodes; several where the work is divided
    otherwise; none where some node is computed by no small kernel.
    """
    exact: dict[frozenset[str], int] = {}
    computes: dict[str, list[int]] = {}
    for position, launches in enumerate(small):
        for origins in launches:
            exact.setdefault(frozenset(origins), position)
            for node in origins:
                computes.setdefault(node, []).append(position)
    return tuple(_match(launches, exact, computes) for launches in full)


def _match(
    launches: Sequence[Origins], exact: dict[frozenset[str], int], computes: dict[str, list[int]]
) -> tuple[int, ...]:
    """All launches run the same text, so any one of them tells what to check."""
    for origins in launches:
        position = exact.get(frozenset(origins))
        if position is not None:
            return (position,)
    for origins in launches:
        if all(node in computes for node in origins):
            return tuple(sorted({p for node in origins for p in computes[node]}))
    return ()
