"""What a compilation decided, so that another one can do the same."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Decisions:
    """Decisions by names of graph nodes: fixed, to be replayed on the same graph at other sizes.

    ``regions``: the nodes that share a region with a node. ``chunks``: into how many parts a
    reduction or a scatter is split (0: a scatter has a row for each point); a node that is not
    listed is not split. ``kernels``: the kernel that computes a node; two nodes with equal values
    are computed by one kernel wherever that is legal, nodes with different ones by two. ``loops``:
    whether the kernel that reduces to a node loops over what it reduces; ``None`` where it is one
    of matrix products. What is ``None`` else, or a node that is not listed, leaves the decision to
    the compiler. ``library``: nodes that could be kernels, and are library calls. ``turned``: nodes
    and inputs that rows read from a copy, and the dimension that is innermost there.
    """

    regions: Mapping[str, frozenset[str]] | None = None
    chunks: Mapping[str, int] | None = None
    kernels: Mapping[str, Hashable] = field(default_factory=dict)
    loops: Mapping[str, bool | None] = field(default_factory=dict)
    library: frozenset[str] = frozenset()
    turned: Mapping[str, int | None] = field(default_factory=dict)

    def split(self, node: str, default: int) -> int:
        """The number of parts of ``node``, 1 for none, where ``default`` is the compiler's own."""
        return default if self.chunks is None else self.chunks.get(node, 1)

    def looped(self, nodes: Iterable[str]) -> bool | None:
        """Whether the kernel that reduces to ``nodes`` loops; ``None`` if that is not decided."""
        return next((self.loops[node] for node in nodes if node in self.loops), None)

    def multiplied(self, nodes: Iterable[str]) -> bool | None:
        """Whether the kernel is one of matrix products; ``None`` if that is not decided."""
        found = [self.loops[node] for node in nodes if node in self.loops]
        return None in found if found else None

    def about(self, nodes: Iterable[str]) -> Hashable:
        """What is decided of a region's ``nodes``, by position: equal for regions that are to be
        compiled alike."""
        nodes = tuple(nodes)
        places: dict[Hashable, int] = {}
        kernels = (self.kernels.get(node) for node in nodes)
        numbers = (None if k is None else places.setdefault(k, len(places)) for k in kernels)
        loops = tuple(self.loops.get(node, "") for node in nodes)
        return tuple(numbers), loops, tuple(self.turned.get(node) for node in nodes)


UNDECIDED = Decisions()
"""Everything is left to the compiler."""
