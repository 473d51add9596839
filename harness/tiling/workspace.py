"""Memory through which the programs of one row tell each other what they found."""

from __future__ import annotations

from dataclasses import dataclass

from harness.heuristics.limits import cdiv

WINDOW = 256
"""Blocks of a scanned row that wait for each other directly: a lane for each of them."""

_HEAD = 2


@dataclass(frozen=True, slots=True)
class Workspace:
    """The workspace of ``scans`` scans of ``rows`` rows of at most ``blocks`` blocks, in words of
    64 bits. A row has a counter, the number of programs that have finished, and for each scan
    ``arrays`` (a flag and components) for its blocks, as many for groups of ``WINDOW`` of them."""

    rows: int
    blocks: int
    scans: int
    arrays: int = 3

    @property
    def groups(self) -> int:
        """Groups of a row."""
        return cdiv(self.blocks, WINDOW)

    def flags(self, scan: int) -> int:
        """Where the block flags of a scan start in its row; the components follow."""
        return _HEAD + scan * self.arrays * (self.blocks + self.groups)

    def group_flags(self, scan: int) -> int:
        """Where its group flags start."""
        return self.flags(scan) + self.arrays * self.blocks

    @property
    def row(self) -> int:
        """Words of a row."""
        return self.flags(self.scans)

    @property
    def words(self) -> int:
        """Words of all rows."""
        return self.rows * self.row


_MOST_PROGRAMS = 16 * 160
"""Programs that share rows at most: 16 on every multiprocessor of today's devices."""


_MOST_RESULTS = 1 << 16
"""Results of chunks at most where programs share columns: columns, times chunks."""


@dataclass(frozen=True, slots=True)
class SharedRows:
    """The workspace of programs that share rows: each has ``each`` words, and the programs of a row
    together one more, for how many of them are done. Of ``columns``, each program has a chunk of
    the rows, and ``each`` words for every column of its block."""

    each: int
    columns: bool = False

    @property
    def words(self) -> int:
        """Words for as many programs as there may be."""
        return (_MOST_RESULTS if self.columns else _MOST_PROGRAMS) * (self.each + 1)
