"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

Graphs: TypeAlias = Annotated[
    list[str] | None,
    "Graphs by name or pattern (see `harness list`), graph files, folders of them. "
    "Default: the whole suite.",
    typer.Argument(metavar="GRAPH"),
]
GraphName: TypeAlias = Annotated[
    str, "A graph by name (see `harness list`) or its file.", typer.Argument(metavar="GRAPH")
]
Suite: TypeAlias = Annotated[str, "Which suite the names are from."]
Where: TypeAlias = Annotated[
    str | None,
    "Only patterns of a corpus that match: 'model=llama* kind=reduction bytes>1MB'.",
    typer.Option(metavar="QUERY"),
]
Sample: TypeAlias = Annotated[
    int | None,
    "N patterns of a corpus at random, spread over kinds, sizes and families.",
    typer.Option(min=1, metavar="N"),
]
Seed: TypeAlias = Annotated[int, "Which sample.", typer.Option(min=0)]

Minutes: TypeAlias = Annotated[
    float | None,
    "The most informative patterns of a corpus for that time: by weight and by how long ago "
    "they were last measured.",
    typer.Option(min=0.01, metavar="M"),
]
Resume: TypeAlias = Annotated[
    bool,
    "Leave out patterns of a corpus that an earlier run has, compared with the same compilers on "
    "such a machine, if their kernels are generated now as they were.",
    typer.Option("--resume"),
]


def queried(
    suite: str, where: str | None, sample: int | None, seed: int, names: Sequence[str] = ()
) -> str:
    """The suite with what is asked of it: ``corpus:kind=reduction sample=20 seed=1``."""
    terms = [suite.partition(":")[2], where or "", f"name={','.join(names)}" if names else ""]
    terms += [] if sample is None else [f"sample={sample} seed={seed}"]
    query = " ".join(term for term in terms if term)
    return f"{suite.partition(':')[0]}:{query}" if query else suite


TargetName: TypeAlias = Annotated[
    str | None,
    "Device kind to compile for (sm_80, sm_90, sm_100, a100, h100, …). "
    "Default: the GPU here, else $HARNESS_TARGET or sm_90.",
]
Jobs: TypeAlias = Annotated[
    int | None, "Worker processes. Default: the cores.", typer.Option("--jobs", "-j", min=1)
]
Processes: TypeAlias = Annotated[
    int | None,
    "Fresh processes to time every kernel in, one after the other: they show noise that "
    "repeats within one process do not. Only the first one tunes. Default: 3, with --resume 1.",
    typer.Option(min=1, max=64),
]
KernelSeconds: TypeAlias = Annotated[
    float,
    "Give up a kernel whose check or timing, tuning included, takes longer: it hangs.",
    typer.Option(min=1.0, metavar="SECONDS"),
]
Devices: TypeAlias = Annotated[
    str,
    "Spread over these GPUs of the machine, a graph always on the same one. "
    "Default: the current GPU.",
    typer.Option(metavar="all|N,N"),
]
Workers: TypeAlias = Annotated[
    str,
    "Spread over the GPUs of a dask scheduler's workers: tcp://HOST:8786.",
    typer.Option(metavar="ADDRESS"),
]
Timing: TypeAlias = Annotated[
    bool | None,
    "Require a GPU and time on it, or leave it alone. Default: use it if there is one.",
    typer.Option("--timing/--no-timing"),
]

Commit: TypeAlias = Annotated[
    str | None,
    "Record under this commit (SHA-dirty: a tree that differs from it) "
    "where there is no checkout to ask. HARNESS_COMMIT means the same.",
    typer.Option(metavar="SHA"),
]
Everything: TypeAlias = Annotated[
    bool, "Print rows that are SAME; time kernels that are equal, too.", typer.Option("--all")
]
Alpha: TypeAlias = Annotated[
    float, "Chance of any false SLOWER or FASTER in the table.", typer.Option(min=1e-6, max=0.5)
]
Margin: TypeAlias = Annotated[
    float, "Relative change that SAME stays within.", typer.Option(min=1e-4, max=1.0)
]
AckFile: TypeAlias = Annotated[
    Path | None, "The file of waived changes. Default: acknowledged.txt in the results folder."
]
Order: TypeAlias = Annotated[
    Literal["history", "time"], "history: first parents of HEAD; time: when the runs began."
]
Repository: TypeAlias = Annotated[
    Path | None,
    "Whose history. Default: that of the working directory.",
    typer.Option(exists=True, file_okay=False),
]
