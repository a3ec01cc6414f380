"""Loaders for the data sets that come with the package; see data/README.md."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    import pandas as pd


def _file(name: str) -> Traversable:
    """A data file, from an installed package or from a source tree."""
    try:
        found = files("dyntree.data") / name
    except ModuleNotFoundError:
        found = Path(__file__).parent.parent / "data" / name
    return found


def _read(name: str) -> pd.DataFrame:
    import pandas as pd

    with _file(name).open("rb") as stream:
        if name.endswith(".gz"):
            return pd.read_csv(stream, compression="gzip")
        return pd.read_csv(stream)


def load_mcycle() -> pd.DataFrame:
    """Simulated motorcycle accident: 133 rows, head acceleration against time.

    Returns
    -------
    DataFrame
        ``times`` in milliseconds after impact, ``accel`` in g.

    Notes
    -----
    B. W. Silverman (1985), JRSS B 47, 1-52.

    Examples
    --------
    >>> load_mcycle().shape
    (133, 2)
    """
    return _read("mcycle.csv")


def load_spambase() -> pd.DataFrame:
    """E-mails labelled spam or nonspam: 4601 rows, 57 inputs, sorted by label.

    Returns
    -------
    DataFrame
        Word and character frequencies, runs of capitals, and ``type``.

    Notes
    -----
    UCI Repository of Machine Learning Databases (1999), donor G. Forman.

    Examples
    --------
    >>> load_spambase()["type"].value_counts().to_dict()
    {'nonspam': 2788, 'spam': 1813}
    """
    return _read("spambase.csv.gz")


def load_elec2(path: str | Path) -> pd.DataFrame:
    """Electricity market of New South Wales: 27 552 rows in time order, from a file.

    The data are not shipped. In R: ``write.csv(dynaTree::elec2, "elec2.csv",
    row.names = FALSE)``.

    Parameters
    ----------
    path : str or Path
        A CSV file, perhaps compressed, with the columns x1, ..., x4 and y.

    Returns
    -------
    DataFrame
        ``x1`` ... ``x4`` and the label ``y``, 1 or 2.

    Notes
    -----
    M. Harries (1999), Splice-2 comparative evaluation: electricity pricing.
    """
    import pandas as pd

    frame = pd.read_csv(path)
    columns = ["x1", "x2", "x3", "x4", "y"]
    if list(frame.columns) != columns:
        raise ValueError(
            f"path must be a CSV file with the columns {columns}; got "
            f"{list(frame.columns)}."
        )
    return frame
