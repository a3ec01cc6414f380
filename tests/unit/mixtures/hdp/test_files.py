"""Files that claim to be topic models: what does not fit together is refused."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

from dyntree import checkpoint
from dyntree.checkpoint import models
from dyntree.errors import CheckpointError
from dyntree.mixtures import HDPOptions, MemoryBoundedHDP
from dyntree.storage import archive
from tests.unit.mixtures.hdp.test_memory import documents_of

FAMILIES = ("full", "diag", "multinomial")
WRAPPED = (2**63 - 1, -(2**63), -1)  # steps between them overflow to what ascends


def learned(family: str) -> MemoryBoundedHDP:
    """A model with clumps, single points, names and an index."""
    documents = documents_of(family)
    options = HDPOptions(track_documents=True)
    model = MemoryBoundedHDP(family, max_items=40, max_groups=8, options=options)
    model.fit(documents).index(documents)
    assert model.n_clumps_ > 4
    assert model.n_singlets_ > 0
    return model


def filed(header: dict[str, Any], arrays: dict[str, Any], path: Any) -> Any:
    """Write a file of a model, with sums that are right, and load it."""
    whole = {"format": models.FORMAT, "version": models.VERSION}
    with path.open("wb") as file:
        archive.write(file, whole | {"model": header, "notes": {}}, arrays)
    return checkpoint.load(path)


def changed(array: Any, at: Any, value: Any) -> Any:
    """An array with another value somewhere."""
    out = array.copy()
    out[at] = value
    return out


def tampered(arrays: dict[str, Any]) -> dict[str, Any]:
    """Arrays of right types and shapes that fit the others no more, by name."""
    out: dict[str, Any] = {}
    for name, array in arrays.items():
        if array.dtype.kind == "f" and name != "history":
            for value in (np.inf, -np.inf, np.nan):
                out[f"{name} {value}"] = {name: changed(array, 0, value)}
    for name in ("singlet_x", "clump_mean", "means", "scatters", "clump_scatter"):
        if name in arrays:
            for value in (1e300, -1e300):
                out[f"{name} {value}"] = {name: changed(arrays[name], 0, value)}
    for name in ("clump_count", "clump_group_count", "clump_word_count", "counts"):
        if name in arrays:
            out[f"{name} doubled"] = {name: changed(arrays[name], 0, 2e3)}
    for name in ("clump_indptr", "clump_word_indptr"):
        if name in arrays:
            wrapped = changed(arrays[name], slice(1, 4), WRAPPED)
            wrapped[4:-1] = 0
            out[f"{name} wrapped"] = {name: wrapped}
            out[f"{name} empty row"] = {name: changed(arrays[name], 1, 0)}
    if "scale" in arrays:
        out["tiny scale"] = {"scale": np.full_like(arrays["scale"], 1e-300)}
    d = arrays["means"].shape[1] if "means" in arrays else 0
    if d and arrays["scatters"].shape[1] > d:  # covariances: here larger than variances
        indefinite = np.where(np.equal(*np.triu_indices(d)), 1.0, 2.0)
        for name in ("clump_scatter", "scatters"):
            out[f"{name} of no rows"] = {name: changed(arrays[name], 0, indefinite)}
    group = arrays["document_group"]
    out["floats as places"] = {"document_group": group.astype(np.float64)}
    out["columns of places"] = {"document_epoch": group[:, None]}
    out["tiny alpha"] = {"alpha": np.full_like(arrays["alpha"], 1e-300)}
    return out


@pytest.mark.parametrize("family", FAMILIES)
def test_arrays_that_do_not_fit_one_another(family: str, tmp_path: Any) -> None:
    header, arrays = learned(family).to_arrays()
    same = filed(header, arrays, tmp_path / "same.dyn")
    assert same.memory_used_ == sum(array.nbytes for array in arrays.values())
    loaded = []
    for what, bad in tampered(arrays).items():
        with contextlib.suppress(CheckpointError):
            filed(header, arrays | bad, tmp_path / "bad.dyn")
            loaded.append(what)
    assert not loaded


@pytest.mark.parametrize("name", ["n_epochs", "next_id", "n_documents"])
def test_counts_that_no_array_can_hold(name: str, tmp_path: Any) -> None:
    header, arrays = learned("diag").to_arrays()
    header["learned"][name] = 2**70
    with pytest.raises(CheckpointError, match=name):
        filed(header, arrays, tmp_path / "bad.dyn")


def test_widths_reserve_nothing_before_they_are_checked(tmp_path: Any) -> None:
    header, arrays = learned("full").to_arrays()
    d = 200_000  # whose scatters would take 160 GB
    header["learned"]["width"] = d
    wide = {"shift": np.zeros(d), "scale": np.ones(d)}
    with pytest.raises(CheckpointError, match="means has shape"):
        filed(header, arrays | wide, tmp_path / "bad.dyn")


@pytest.mark.parametrize("family", FAMILIES)
def test_arrays_may_be_of_any_order(family: str, tmp_path: Any) -> None:
    model = learned(family)
    header, arrays = model.to_arrays()
    other = {name: np.asfortranarray(array) for name, array in arrays.items()}
    again = filed(header, other, tmp_path / "m.dyn").compress(max_items=20)
    assert again.free_energy_ == model.compress(max_items=20).free_energy_
