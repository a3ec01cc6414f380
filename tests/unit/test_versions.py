"""CI tries the lowest versions that the project says it takes."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest

from tests.unit.conftest import TREE

LOWEST = TREE / ".ci" / "lowest.txt"
FACES = ("r", "sklearn", "river", "xarray", "distributed", "formula", "zstd", "spark")
REQUIREMENT = re.compile(r"([\w.-]+)(?:\[.*\])?(?:>=([\d.]+))?(?:;.*)?")


def project() -> dict[str, Any]:
    return tomllib.loads((TREE / "pyproject.toml").read_text())


def bounds(requirements: list[str]) -> dict[str, str | None]:
    """The lower bound of each requirement; None where it has none."""
    found = {}
    for one in requirements:
        match = REQUIREMENT.fullmatch(one.replace(" ", ""))
        assert match is not None, one
        found[match[1]] = match[2]
    return found


def numbers(version: str) -> tuple[int, ...]:
    """A version to compare: 1.26 is 1.26.0."""
    parts = tuple(map(int, version.split(".")))
    return parts + (0,) * (3 - len(parts))


def test_the_lowest_versions_are_the_bounds() -> None:
    if not LOWEST.exists():
        pytest.skip("CI is not part of this copy")
    lines = [line for line in LOWEST.read_text().splitlines() if line[:1] != "#"]
    lowest = dict(line.split("==") for line in lines)
    told = project()["project"]
    extras = told["optional-dependencies"]
    asked = bounds(told["dependencies"])
    for name in FACES:
        asked |= bounds(extras[name])
    assert None not in asked.values(), "what is imported has a lower bound"
    tests = [one for one in extras["test"] if not one.startswith("dyntree[")]
    asked |= {name: least for name, least in bounds(tests).items() if least}
    for name, least in asked.items():
        assert least is not None
        assert numbers(lowest[name]) == numbers(least), name
    others = {*lowest} - {*asked}
    assert others == {"pyparsing"}  # what those need


def test_every_extra_is_among_them() -> None:
    extras = {*project()["project"]["optional-dependencies"]}
    assert extras - {*FACES} == {"test", "bench", "docs", "dev"}


def test_the_build_asks_for_the_same_scipy() -> None:
    told = project()
    (build,) = (one for one in told["build-system"]["requires"] if "scipy" in one)
    assert build in told["project"]["dependencies"]
