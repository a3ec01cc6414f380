"""Rows that lack a value and are learned next need no warning of missing inputs."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dyntree.cli import main
from dyntree.errors import MissingInputWarning


def rows() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"size": rng.random(60), "other": rng.random(60)})
    data["y"] = data["size"] + 0.1 * rng.standard_normal(60)
    data.loc[30::7, "size"] = np.nan
    return data


def test_rows_of_a_formula_one_step_ahead() -> None:
    pytest.importorskip("formulaic", reason="needs formulaic: dyntree[formula]")
    import dyntree.formula.api as dtf

    fit = dtf.dynamic_tree("y ~ size + other", rows(), n_particles=5, seed=1).fit()
    with warnings.catch_warnings():
        warnings.simplefilter("error", MissingInputWarning)
        assert np.isfinite(fit.resid[10:]).all()


def stream(data: pd.DataFrame, folder: Path, *more: str) -> None:
    """Let a shell learn rows one by one; its warnings are on standard error."""
    data.to_csv(folder / "rows.csv", index=False)
    call = ["stream", str(folder / "rows.csv"), "--formula", "y ~ size + other"]
    call += ["--particles", "5", *more, "--out", str(folder / "out.csv")]
    with warnings.catch_warnings():
        warnings.simplefilter("always", MissingInputWarning)
        assert main(call) == 0


@pytest.mark.parametrize("has_response", [True, False])
def test_rows_of_a_stream_in_a_shell(
    has_response: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those without a response are predicted alone, and warned of."""
    data = rows()
    if not has_response:
        data.loc[30:, "y"] = np.nan
    stream(data, tmp_path, "--window", "30")
    assert ("no value in column 'size'" in capsys.readouterr().err) != has_response


def test_rows_of_no_weight_are_not_learned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row of weight 0 is predicted alone, as one without a response."""
    data = rows().assign(w=1.0)
    data.loc[data["size"].isna(), "w"] = 0.0
    stream(data, tmp_path, "--weights", "w")
    assert "no value in column 'size'" in capsys.readouterr().err
