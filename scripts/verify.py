"""Say what the fresh environment lacks; exit 1 if the harness cannot start."""

from __future__ import annotations

import importlib.util
import sys

NEEDED = (
    *("torch", "triton", "numpy", "scipy", "sympy", "pandas", "pyarrow"),
    *("jinja2", "msgspec", "rich", "threadpoolctl", "typer", "harness"),
)
FOR_TESTS = ("pytest", "hypothesis")
FOR_CHECKS = ("ruff", "mypy", "importlinter")
FOR_TRACKING = ("asv", "pytest_benchmark")
FOR_DRAWING = ("plotly",)
FOR_CAPTURE = ("transformers", "diffusers")


def missing(names: tuple[str, ...]) -> list[str]:
    """Those of ``names`` that cannot be found."""
    return [name for name in names if importlib.util.find_spec(name) is None]


def main() -> int:
    """Print one line per purpose that lacks something."""
    for purpose, names in (
        ("make test", FOR_TESTS),
        ("make check", FOR_CHECKS),
        ("tracking (asv, pytest --benchmark-only)", FOR_TRACKING),
        ("harness report", FOR_DRAWING),
        ("capturing from model libraries", FOR_CAPTURE),
    ):
        if lacking := missing(names):
            print(f"setup: {purpose} will lack {', '.join(lacking)}")
    if lacking := missing(NEEDED):
        print(
            f"setup: the harness cannot start without {', '.join(lacking)}\n"
            f"what to do: {sys.executable} -m pip install -c constraints.txt {' '.join(lacking)}, "
            "or HARNESS_SETUP=download make",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
