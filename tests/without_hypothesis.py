"""Hypothesis draws the same examples in every run, however slowly; a stand-in for it where it is
not installed: its tests skip, the others run."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any
from unittest.mock import MagicMock

import pytest


def install() -> None:
    """Let ``import hypothesis`` succeed in any case."""
    try:
        found = importlib.util.find_spec("hypothesis")
    except ModuleNotFoundError:
        found = None
    if found is not None:
        from hypothesis import HealthCheck, settings

        slow = [HealthCheck.too_slow]
        how = {"derandomize": True, "deadline": None, "suppress_health_check": slow}
        settings.register_profile("suite", **how)
        settings.load_profile("suite")
        return
    fake: Any = MagicMock(name="hypothesis")
    fake.given = lambda *_, **__: pytest.mark.skip(reason="hypothesis is not installed")
    fake.settings = lambda *_, **__: lambda function: function
    sys.modules["hypothesis"] = fake
    sys.modules["hypothesis.strategies"] = fake.strategies
