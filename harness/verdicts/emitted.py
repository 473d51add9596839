"""What an emitted module says of itself, read from its text and never executed."""

from __future__ import annotations

import ast
from typing import Any


def constants(text: str) -> dict[str, Any]:
    """The literals that the names of an emitted module are bound to; nothing is executed."""
    found: dict[str, Any] = {}
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            try:
                found[statement.targets[0].id] = ast.literal_eval(statement.value)
            except ValueError:
                continue
    return found


def best_guess(module: str) -> dict[str, int] | None:
    """The first of the module's configurations; None where the text has none."""
    start = module.find("\nCONFIGS = [")
    first, last = module.find("{", start), module.find("}", start)
    if start < 0 or not start < first < last:
        return None
    try:
        found = ast.literal_eval(module[first : last + 1])
        return {str(name): int(value) for name, value in found.items()}
    except (ValueError, SyntaxError, TypeError, AttributeError):
        return None
