"""Write small models of the present format's version, and their answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import dyntree
from dyntree import checkpoint
from dyntree.api.formula import DynamicTreeModel
from tests import mutants

from .answers import answer

FOLDER = Path(__file__).parent / f"v{checkpoint.VERSION}"


def by_columns() -> Any:
    """Results of a model of named columns, text and dates among them."""
    days = np.datetime64("2024-01-01", "D") + np.arange(40).astype("timedelta64[D]")
    columns = {"a": np.linspace(0, 1, 40), "site": ["u", "v"] * 20, "day": days}
    y = np.sin(6 * columns["a"])
    return DynamicTreeModel(y, columns, n_particles=12, window=20, seed=1).fit()


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    told = {}
    for kind, model in mutants.models().items():
        name = kind.replace(" ", "-")
        dyntree.save(model, FOLDER / f"{name}.dyn")
        told[name] = answer(model)
    fit = by_columns()
    fit.save(FOLDER / "columns-and-terms.dyn")
    told["columns-and-terms"] = answer(fit)
    text = json.dumps({"dyntree": dyntree.__version__, "answers": told}, indent=0)
    (FOLDER / "answers.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
