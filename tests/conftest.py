"""Options, markers and the two engines every mirror test may run on."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--golden-dir",
        type=Path,
        default=GOLDEN,
        help="folder of recordings to replay (default: tests/golden)",
    )


def pytest_configure(config: pytest.Config) -> None:
    # shells let what they start in the background ignore SIGINT; tests need it
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "slow: takes more than ten seconds")
    config.addinivalue_line("markers", "cran: needs R, and CRAN dynaTree in it")


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
