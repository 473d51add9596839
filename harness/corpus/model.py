"""The records of a corpus: captures of models, and the patterns that they have in common."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field

CORPUS = "corpus"
"""The folder, among the suites, of the corpus that comes with them."""


@dataclass(frozen=True, slots=True)
class Capture:
    """What became of one capture: ``reason`` says why there is nothing, ``bytes`` what its
    regions move (modelled), ``library_calls`` what is left to torch."""

    name: str
    model: str
    family: str
    target: str
    origin: str
    mode: str
    dtype: str
    size: str
    options: dict[str, str]
    versions: str = ""
    reason: str = ""
    regions: int = 0
    library_calls: int = 0
    bytes: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Use:
    """Where a pattern occurs: in ``capture`` (its name), at ``sizes`` (the distinct ones, in the
    order in which they come), ``calls`` times, moving ``bytes`` in all of them (modelled: every
    input read and every output written once)."""

    capture: str
    calls: int
    bytes: int
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Pattern:
    """A region that stands for all regions of its structure.

    ``text`` is the graph at the sizes that move most bytes, ``small`` the same structure for the
    interpreter (empty: ``without_small`` says why). ``bytes`` are those of one call of ``text``.
    ``weight`` is the mean over all captures of its share of the capture's modelled bytes.
    """

    name: str
    kind: str
    bytes: int
    nodes: int
    rank: int
    operators: tuple[str, ...]
    dtypes: tuple[str, ...]
    text: str
    small: str = ""
    without_small: str = ""
    weight: float = 0.0
    uses: tuple[Use, ...] = field(default=())


def is_pattern_name(name: str) -> bool:
    """Whether a graph is called as patterns are: after its operators and its structure."""
    return re.fullmatch(r"\w+_[0-9a-f]{10}", name) is not None


def digest(text: str) -> str:
    """Eight bytes that stand for ``text``."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
