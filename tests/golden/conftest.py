"""One test per recording in the folder given by --golden-dir."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .replay import recordings

_MOST_WORK = 38_000  # of which the oracle takes minutes


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "recording" not in metafunc.fixturenames:
        return
    paths = recordings(metafunc.config.getoption("--golden-dir"))
    by_oracle = "oracle_engine" in metafunc.fixturenames
    metafunc.parametrize(
        "recording",
        [
            pytest.param(
                path,
                id=path.stem,
                marks=pytest.mark.release
                if by_oracle and _work(path) > _MOST_WORK
                else (),
            )
            for path in paths
        ],
    )


def _work(path: Path) -> int:
    """Return the particle steps of a recording, in constant leaves, roughly."""
    case = json.loads(path.read_text())
    sizes = {key: len(value) for key, value in case.get("data", {}).items()}
    return sum(_fit_work(step, sizes) for step in case["steps"])


def _fit_work(step: dict[str, Any], sizes: dict[str, int]) -> int:
    args = step.get("args") or {}
    fits = {"dynaTree": 1, "dynaTrees": args.get("R", 1)}.get(step["op"], 0)
    if step["op"] == "mc":
        fits, args = len(args["seeds"]), args["call"]
    cost = 4 if args.get("model") == "linear" else 1
    return int(fits * args.get("N", 1000) * sizes.get("y", 0) * cost)
