"""Which kernels of a small capture do the work of a kernel at full size.

Both graphs have the same structure and the same node names, so a launch is
known by the nodes it computes. Sizes can change what is fused; then the
kernels that together compute those nodes stand in for it. Nodes that the
compiler made itself (views around split reductions) may exist at one size alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

Origins = tuple[str, ...]
"""The graph nodes that one launch computes."""


def match_small(
    full: Sequence[Sequence[Origins]],
    small: Sequence[Sequence[Origins]],
    captured: AbstractSet[str],
) -> tuple[tuple[int, ...], ...]:
    """For each kernel of ``full`` the positions in ``small`` that cover its work.

    A kernel is given by the origins of its launches; ``captured`` are the nodes of the
    graph as it was captured. One position where a small kernel is launched for exactly
    the same nodes; as few as possible where the work is divided otherwise; none where
    some captured node is computed by no small kernel.
    """
    pieces = [(position, frozenset(o)) for position, launches in enumerate(small) for o in launches]
    computed = frozenset(node for _, nodes in pieces for node in nodes)
    return tuple(_match(launches, pieces, computed, captured) for launches in full)


def _match(
    launches: Sequence[Origins],
    pieces: Sequence[tuple[int, frozenset[str]]],
    computed: AbstractSet[str],
    captured: AbstractSet[str],
) -> tuple[int, ...]:
    """All launches run the same text, so any one of them tells what to check."""
    found = [_cover(origins, pieces, computed, captured) for origins in launches]
    return min(filter(None, found), key=len, default=())


def _cover(
    origins: Origins,
    pieces: Sequence[tuple[int, frozenset[str]]],
    computed: AbstractSet[str],
    captured: AbstractSet[str],
) -> tuple[int, ...]:
    """Positions that together compute ``origins``, found greedily: most new nodes first,
    then the fewest others.
    """
    left = {node for node in origins if node in computed or node in captured}
    if not left <= computed:
        return ()
    chosen: list[int] = []
    while left:
        position, nodes = max(
            pieces, key=lambda piece: (len(left & piece[1]), -len(piece[1]), -piece[0])
        )
        chosen.append(position)
        left -= nodes
    return tuple(sorted(set(chosen)))
