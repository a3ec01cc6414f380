"""Every recording of CRAN dynaTree, through the mirror, by the rule of README.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from .replay import replay


def test_core_meets_recording(recording: Path) -> None:
    _, wrong = replay(recording)
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.usefixtures("oracle_engine")
def test_oracle_meets_recording(recording: Path) -> None:
    _, wrong = replay(recording)
    assert not wrong, "\n".join(wrong[:20])
