"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

Graphs: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="GRAPH",
        help="Graphs by name or pattern (see `harness list`), graph files, folders of them. "
        "Default: the whole suite.",
    ),
]
GraphName: TypeAlias = Annotated[
    str, typer.Argument(metavar="GRAPH", help="A graph by name (see `harness list`) or its file.")
]
Suite: TypeAlias = Annotated[str, "Which suite the names are from."]
Where: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="QUERY",
        help="Of a corpus the patterns like this: 'model=llama* kind=reduction bytes>1MB'.",
    ),
]
Sample: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Of a corpus N patterns at random, spread over kinds, sizes and families.",
    ),
]
Seed: TypeAlias = Annotated[int, typer.Option(min=0, help="Which sample.")]

Minutes: TypeAlias = Annotated[
    float | None,
    typer.Option(
        min=0.01,
        metavar="M",
        help="Of a corpus the patterns that tell most in that time: by weight and by how long ago "
        "they were last measured.",
    ),
]


def queried(suite: str, where: str | None, sample: int | None, seed: int) -> str:
    """The suite with what is asked of it: ``corpus:kind=reduction sample=20 seed=1``."""
    terms = [suite.partition(":")[2], where or ""]
    terms += [] if sample is None else [f"sample={sample} seed={seed}"]
    query = " ".join(term for term in terms if term)
    return f"{suite.partition(':')[0]}:{query}" if query else suite


TargetName: TypeAlias = Annotated[
    str | None,
    "Device kind to compile for (sm_80, sm_90, sm_100, a100, h100, …). "
    "Default: the GPU here, else $HARNESS_TARGET or sm_90.",
]
Jobs: TypeAlias = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, help="Worker processes. Default: the cores.")
]
Processes: TypeAlias = Annotated[
    int,
    typer.Option(
        min=1,
        max=64,
        help="Fresh processes to time every kernel in, one after the other; what differs between "
        "them no repeat within one shows. The later ones do not tune.",
    ),
]
KernelSeconds: TypeAlias = Annotated[
    float,
    typer.Option(
        min=1.0,
        metavar="SECONDS",
        help="Give up a kernel whose check or timing, tuning included, takes longer: it hangs.",
    ),
]
Devices: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="all|N,N",
        help="Spread over these GPUs of the machine, a graph always on the same one. "
        "Default: the current GPU.",
    ),
]
Workers: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS",
        help="Spread over the GPUs of a dask scheduler's workers: tcp://HOST:8786.",
    ),
]
Timing: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--timing/--no-timing",
        help="Demand a GPU and time on it, or leave it alone. Default: use it if there is one.",
    ),
]

Commit: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="SHA",
        help="Record under this commit (SHA-dirty: a tree that differs from it) "
        "where there is no checkout to ask. HARNESS_COMMIT means the same.",
    ),
]
Everything: TypeAlias = Annotated[
    bool, typer.Option("--all", help="Print rows that are SAME; time kernels that are equal, too.")
]
Alpha: TypeAlias = Annotated[
    float,
    typer.Option(min=1e-6, max=0.5, help="Chance of any false SLOWER or FASTER in the table."),
]
Margin: TypeAlias = Annotated[
    float, typer.Option(min=1e-4, max=1.0, help="Relative change that SAME stays within.")
]
AckFile: TypeAlias = Annotated[
    Path | None, "The file of waived changes. Default: acknowledged.txt in the results folder."
]
Order: TypeAlias = Annotated[
    Literal["history", "time"], "history: first parents of HEAD; time: when the runs began."
]
Repository: TypeAlias = Annotated[
    Path | None, "Whose history. Default: that of the working directory."
]
