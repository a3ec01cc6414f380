"""Data sets that come with the package (see data/README.md), and images as points."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dyntree.params import as_array, count, short

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


def image_points(rgb: Any) -> NDArray[np.float64]:
    """Pixels of a colour image as points: CIELAB colour and centred place.

    Parameters
    ----------
    rgb : array_like of shape (height, width, 3)
        Colours of sRGB, uint8 or floats in [0, 1]; further channels are left out.

    Returns
    -------
    ndarray of shape (height * width, 5)
        L*, a*, b*, x, y by rows of the image; L* in [0, 100], x and y in pixels from
        the middle.

    Raises
    ------
    ValueError
        For what is no colour image.

    Notes
    -----
    IEC 61966-2-1 (sRGB) and CIE 15:2004 (L*a*b*, white of D65).

    Examples
    --------
    >>> import numpy as np
    >>> image_points(np.full((1, 2, 3), 255, dtype=np.uint8)).round(2).tolist()
    [[100.0, 0.0, 0.0, -0.5, 0.0], [100.0, 0.0, 0.0, 0.5, 0.0]]
    """
    image = _image("rgb", rgb)
    if image.ndim != 3 or image.shape[2] < 3:
        raise ValueError(
            "rgb must be of shape (height, width, 3); got shape "
            f"{image.shape}. Stack a grey image three times."
        )
    colour = image[..., :3]
    linear = np.where(
        colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4
    )
    to_xyz = np.array(
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
         [0.0193339, 0.1191920, 0.9503041]]
    )  # fmt: skip
    white = to_xyz.sum(1)
    t = linear @ to_xyz.T / white
    f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    lab = np.stack(
        [116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]),
         200 * (f[..., 1] - f[..., 2])], axis=-1
    )  # fmt: skip
    height, width = image.shape[:2]
    y, x = np.mgrid[:height, :width].astype(np.float64)
    place = np.stack([x - (width - 1) / 2, y - (height - 1) / 2], axis=-1)
    out: NDArray[np.float64] = np.concatenate([lab, place], axis=-1).reshape(-1, 5)
    return out


def patch_points(image: Any, size: int, step: int) -> NDArray[np.float64]:
    """Square patches of a grey image, and where they lie.

    Parameters
    ----------
    image : array_like of shape (height, width)
        Of uint8, or of floats.
    size, step : int
        Side of a patch, and pixels between two of them.

    Returns
    -------
    ndarray of shape (n_patches, size * size + 2)
        Pixels by rows, then x and y of the middle, in pixels from that of the image.

    Raises
    ------
    ValueError
        Where no patch fits.

    Examples
    --------
    >>> import numpy as np
    >>> patch_points(np.eye(8), 4, 2).shape
    (9, 18)
    """
    pixels = _image("image", image)
    side, by = count("size", size, 1), count("step", step, 1)
    if pixels.ndim != 2 or min(pixels.shape) < side:
        raise ValueError(
            f"image must be of shape (height, width), both >= size={side}; got shape "
            f"{pixels.shape}."
        )
    cut = np.lib.stride_tricks.sliding_window_view(pixels, (side, side))[::by, ::by]
    rows, columns = cut.shape[:2]
    y, x = np.mgrid[:rows, :columns] * float(by) + (side - 1) / 2
    place = np.stack(
        [x - (pixels.shape[1] - 1) / 2, y - (pixels.shape[0] - 1) / 2], axis=-1
    )
    flat = cut.reshape(rows * columns, side * side)
    return np.concatenate([flat, place.reshape(-1, 2)], axis=1)


def _image(name: str, image: Any) -> NDArray[np.float64]:
    """An image as floats; whole numbers are shares of 255."""
    pixels = as_array(name, image)
    if pixels.dtype.kind not in "uif" or not np.isfinite(pixels).all():
        raise ValueError(f"{name} must hold finite numbers; got {short(image)}.")
    out: NDArray[np.float64] = pixels.astype(np.float64)
    return out / 255.0 if pixels.dtype.kind in "ui" else out
