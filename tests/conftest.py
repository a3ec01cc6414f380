"""Options, markers and the two engines every mirror test may run on."""

from __future__ import annotations

import secrets
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--golden-dir",
        type=Path,
        default=GOLDEN,
        help="folder of recordings to replay (default: tests/golden)",
    )
    parser.addoption(
        "--every",
        type=int,
        default=1,
        metavar="N",
        help="of each file run the first test and every N-th after it (default: all)",
    )


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Leave tests out where only some of each file are asked for."""
    every = config.getoption("--every")
    if every == 1:
        return
    met: Counter[Path] = Counter()
    kept, left = [], []
    for item in items:
        (left if met[item.path] % every else kept).append(item)
        met[item.path] += 1
    config.hook.pytest_deselected(items=left)
    items[:] = kept


def pytest_configure(config: pytest.Config) -> None:
    # shells let what they start in the background ignore SIGINT; tests need it
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line(
        "markers", "slow: takes seconds; CI runs it in a second call"
    )
    config.addinivalue_line("markers", "release: takes minutes; run before a release")
    config.addinivalue_line("markers", "cran: needs R, and CRAN dynaTree in it")


@pytest.fixture(scope="session", autouse=True)
def _seeds_that_nobody_passes_are_0() -> Iterator[None]:
    """Models without a seed are the same in every run; `drawn_seeds` undoes it."""
    with pytest.MonkeyPatch.context() as patch:
        zeros = SimpleNamespace(randbits=lambda n: 0)
        patch.setattr("dyntree.runtime.seeds.secrets", zeros)
        yield


@pytest.fixture
def drawn_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let models without a seed draw one from the system."""
    monkeypatch.setattr("dyntree.runtime.seeds.secrets", secrets)


@pytest.fixture
def oracle_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the slow oracle in the place of the compiled core under the mirror."""
    from dyntree.api.rmirror import engine
    from tests.oracle import cloud, criteria, query, sensitivity, stream

    monkeypatch.setattr(engine, "Cloud", cloud.Cloud)
    monkeypatch.setattr(engine, "RSource", stream.RSource)
    monkeypatch.setattr(engine, "query", query)
    monkeypatch.setattr(engine, "criteria", criteria)
    monkeypatch.setattr(engine, "sensitivity", sensitivity)
