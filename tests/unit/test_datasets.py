"""The data that are shipped, and a loader for data that are not."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dyntree import datasets
from dyntree.datasets import FASHION, load_fashion_mnist
from dyntree.mixtures import Canopy
from tests.bench.canopy_scenes import purity
from tests.unit.conftest import ROOT
from tests.unit.models import refused


def test_fashion_mnist_is_read_and_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="dataset-fashion-mnist"):
        load_fashion_mnist(folder=tmp_path)
    for what in ("images-idx3", "labels-idx1"):
        with gzip.open(tmp_path / f"train-{what}-ubyte.gz", "wb") as file:
            file.write(bytes(30))
    with pytest.raises(ValueError, match="no file of Fashion-MNIST"):
        load_fashion_mnist(folder=tmp_path)
    with pytest.raises(ValueError, match="part must be one of"):
        load_fashion_mnist("test")


@pytest.mark.skipif(
    not FASHION.is_dir(), reason="Debian's dataset-fashion-mnist is not installed"
)
@pytest.mark.filterwarnings("ignore:2 of 100 components had no rows")  # by em
def test_mixtures_of_clothes_are_as_good_from_lists_as_from_exact_draws() -> None:
    """A corner of the benchmark: 10,000 images, 100 components."""
    images, labels = load_fashion_mnist("t10k")
    assert images.shape == (10_000, 28, 28)
    assert set(labels.tolist()) == set(range(10))
    X = images.reshape(10_000, -1)[:, ::7] / np.float32(255.0)
    fits = {
        how: Canopy(100, inference=how, max_iter=15, tol=0.0, seed=1).fit(X)
        for how in ("esca", "canopy2", "em")
    }
    scores = {how: fit.score(X) for how, fit in fits.items()}
    exact = min(scores["esca"], scores["em"])  # whose optima are .01 apart, too
    assert scores["canopy2"] > exact - 0.01 * abs(exact)
    pure = {how: purity(fit.predict(X), labels) for how, fit in fits.items()}
    assert pure["canopy2"] > pure["esca"] - 0.03


def test_mcycle_is_the_known_one() -> None:
    frame = datasets.load_mcycle()
    assert list(frame.columns) == ["times", "accel"]
    assert frame.shape == (133, 2)
    assert frame["times"].is_monotonic_increasing
    assert (frame["times"].min(), frame["times"].max()) == (2.4, 57.6)
    assert (frame["accel"].min(), frame["accel"].max()) == (-134.0, 75.0)


def test_spambase_is_the_known_one() -> None:
    frame = datasets.load_spambase()
    label = frame.pop("type")
    assert frame.shape == (4601, 57)
    assert set(frame.dtypes.map(lambda kind: kind.kind)) <= {"f", "i"}
    assert np.isfinite(frame.to_numpy(np.float64)).all()
    assert (label == "spam").sum() == 1813
    assert (label != label.shift()).sum() == 2  # sorted by label


def test_every_call_gives_a_frame_of_its_own() -> None:
    frame = datasets.load_mcycle()
    frame["accel"] = 0.0
    assert datasets.load_mcycle()["accel"].any()


def test_the_file_is_found_without_an_installed_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not (ROOT / "data").is_dir():
        pytest.skip("no source tree")

    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(datasets, "files", missing)
    assert datasets.load_mcycle().shape == (133, 2)


@pytest.mark.parametrize("name", ["elec2.csv", "elec2.csv.gz"])
def test_elec2_is_read_from_a_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    text = b"x1,x2,x3,x4,y\n0.1,0.2,0.3,0.4,1\n0.5,0.6,0.7,0.8,2\n"
    path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    frame = datasets.load_elec2(path)
    assert list(frame.columns) == ["x1", "x2", "x3", "x4", "y"]
    assert frame["y"].tolist() == [1, 2]
    assert datasets.load_elec2(str(path)).equals(frame)


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n")
    with refused("path", "['a', 'b']"):
        datasets.load_elec2(path)
    with pytest.raises(FileNotFoundError):
        datasets.load_elec2(tmp_path / "none.csv")


def test_counts_are_the_known_ones() -> None:
    quine, warp, esoph = (
        datasets.load_quine(),
        datasets.load_warpbreaks(),
        datasets.load_esoph(),
    )
    assert quine.shape == (146, 5)
    assert (quine["Days"].sum(), quine["Days"].max()) == (2403, 81)
    assert warp.shape == (54, 3)
    assert warp["breaks"].sum() == 1520
    assert (warp.groupby(["wool", "tension"], observed=True).size() == 9).all()
    assert esoph.shape == (88, 5)
    assert esoph["ncases"].sum() == 200
    assert esoph["agegp"].cat.ordered
    assert not esoph.isna().any().any()
