"""Data that come with the package (data/README.md), or by a seed; images as points."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dyntree import params
from dyntree.errors import ArgumentError, Message, shown

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    import pandas as pd


__all__ = [
    "EvolvingRows",
    "evolving_flows",
    "evolving_gaussians",
    "evolving_topics",
    "image_points",
    "load_elec2",
    "load_esoph",
    "load_fashion_mnist",
    "load_mcycle",
    "load_quine",
    "load_spambase",
    "load_warpbreaks",
    "patch_points",
    "task_strokes",
]

ESOPH_LEVELS = {
    "agegp": ["25-34", "35-44", "45-54", "55-64", "65-74", "75+"],
    "alcgp": ["0-39g/day", "40-79", "80-119", "120+"],
    "tobgp": ["0-9g/day", "10-19", "20-29", "30+"],
}


def _file(name: str) -> Traversable:
    """A data file, from an installed package or from a source tree."""
    try:
        return files("dyntree.data") / name
    except ModuleNotFoundError:
        return Path(__file__).parent.parent / "data" / name


def _read(name: str) -> pd.DataFrame:
    import pandas as pd

    with _file(name).open("rb") as stream:
        if name.endswith(".gz"):
            return pd.read_csv(stream, compression="gzip")
        return pd.read_csv(stream)


def load_esoph() -> pd.DataFrame:
    """Cancer of the oesophagus: 88 groups of people by age, alcohol and tobacco.

    Returns
    -------
    DataFrame
        ``agegp``, ``alcgp`` and ``tobgp``, ordered categories; ``ncases`` and
        ``ncontrols``, people.

    Notes
    -----
    N. E. Breslow and N. E. Day (1980), Statistical Methods in Cancer Research 1.

    Examples
    --------
    >>> load_esoph()["alcgp"].cat.categories.tolist()
    ['0-39g/day', '40-79', '80-119', '120+']
    """
    import pandas as pd

    data = _read("esoph.csv")
    for name, levels in ESOPH_LEVELS.items():
        data[name] = pd.Categorical(data[name], levels, ordered=True)
    return data


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


def load_quine() -> pd.DataFrame:
    """Days absent from school of 146 children.

    Returns
    -------
    DataFrame
        ``Eth``, ``Sex``, ``Age`` and ``Lrn``, text; ``Days``, counts.

    Notes
    -----
    M. Aitkin (1978), JRSS A 141, 195-223.

    Examples
    --------
    >>> load_quine().shape
    (146, 5)
    """
    return _read("quine.csv")


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


def load_warpbreaks() -> pd.DataFrame:
    """Breaks of warp yarn in a loom: 54 lengths of two wools at three tensions.

    Returns
    -------
    DataFrame
        ``breaks``, counts; ``wool`` and ``tension``, the latter ordered categories.

    Notes
    -----
    L. H. C. Tippett (1950), Technological Applications of Statistics, page 106.

    Examples
    --------
    >>> load_warpbreaks().groupby("wool")["breaks"].mean().round(1).to_dict()
    {'A': 31.0, 'B': 25.3}
    """
    import pandas as pd

    data = _read("warpbreaks.csv")
    data["tension"] = pd.Categorical(data["tension"], ["L", "M", "H"], ordered=True)
    return data


def load_elec2(path: str | Path) -> pd.DataFrame:
    """Electricity market of New South Wales: 27 552 rows in time order, from a file.

    The data are not part of this package. This call in R writes the file:
    ``write.csv(dynaTree::elec2, "elec2.csv", row.names = FALSE)``.

    Parameters
    ----------
    path : str or Path
        A CSV file, which may be compressed, with the columns x1, ..., x4 and y.

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
        raise ArgumentError(
            "path",
            "must be a CSV file with the columns {columns}",
            list(frame.columns),
            columns=columns,
        )
    return frame


FASHION = Path("/usr/share/datasets/fashion-mnist")  # Debian: dataset-fashion-mnist


def load_fashion_mnist(
    part: str = "train", folder: str | Path = FASHION
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Fashion-MNIST: images of clothes in ten classes (Xiao, Rasul and Vollgraf 2017).

    Parameters
    ----------
    part : {"train", "t10k"}, default "train"
        The training set of 60,000 images, or the test set of 10,000.
    folder : str or Path
        Folder of the four files; by default that of Debian's dataset-fashion-mnist.

    Returns
    -------
    images : ndarray of uint8 of shape (n_images, 28, 28)
    labels : ndarray of uint8 of shape (n_images,)

    Raises
    ------
    FileNotFoundError
        If the files are missing. The message names the package to install.
    ValueError
        If the files are not those of the distribution.

    Examples
    --------
    >>> images, labels = load_fashion_mnist("t10k")  # doctest: +SKIP
    >>> images.shape  # doctest: +SKIP
    (10000, 28, 28)
    """
    params.one_of("part", part, ("train", "t10k"))
    found = []
    for what, magic, head in (("images-idx3", 0x803, 16), ("labels-idx1", 0x801, 8)):
        path = Path(folder) / f"{part}-{what}-ubyte.gz"
        if not path.is_file():
            raise FileNotFoundError(
                f"{shown(path)} is not there. Install Debian's package "
                "dataset-fashion-mnist, "
                "or give the folder that holds the files of Fashion-MNIST."
            )
        with gzip.open(path) as file:
            data = file.read()
        if len(data) < head or int.from_bytes(data[:4], "big") != magic:
            raise ArgumentError(str(path), "is no file of Fashion-MNIST")
        found.append(np.frombuffer(data, np.uint8, offset=head))
    images, labels = found
    if images.size != 784 * labels.size:
        raise ArgumentError(str(folder), "holds images and labels that do not match")
    return images.reshape(-1, 28, 28), labels


@dataclass(frozen=True, eq=False)
class EvolvingRows:
    """Rows of several phases, with the clusters that generated them.

    Attributes
    ----------
    phases : tuple of ndarray of shape (n_rows, n_columns)
    labels : tuple of ndarray of int64 of shape (n_rows,)
        Number of the cluster of each row. A cluster keeps its number in all phases.
    ids : tuple of ndarray of int64 of shape (n_clusters,)
        Numbers of the clusters that exist in each phase.
    means : tuple of ndarray of shape (n_clusters, n_columns)
        Mean of the rows of each of these clusters.
    """

    phases: tuple[NDArray[np.float64], ...]
    labels: tuple[NDArray[np.int64], ...]
    ids: tuple[NDArray[np.int64], ...]
    means: tuple[NDArray[np.float64], ...]

    def __len__(self) -> int:
        return len(self.phases)


def _lives(
    n_phases: int, n_start: int, births: float, mean_life: float, rng: Generator
) -> list[NDArray[np.int64]]:
    """Clusters alive in each phase: Poisson births, geometric lives."""
    params.count("n_phases", n_phases, 1)
    params.count("n_start", n_start, 0)
    _not_negative(births=births)
    if params.real("mean_life", mean_life) < 1.0:
        raise ArgumentError("mean_life", "must be >= 1 phase", mean_life)
    alive, n_ever, phases = list(range(n_start)), n_start, []
    for phase in range(n_phases):
        if phase:
            alive = [one for one in alive if rng.random() >= 1.0 / mean_life]
            n_new = int(rng.poisson(births))
            alive += range(n_ever, n_ever + n_new)
            n_ever += n_new
        phases.append(np.array(alive, dtype=np.int64))
    return phases


def _not_negative(**given: float) -> None:
    """Raise ValueError for a number that is not >= 0."""
    for name, value in given.items():
        if params.real(name, value) < 0.0:
            raise ArgumentError(name, "must be >= 0", value)


def task_strokes(
    n_strokes: int = 8, *, noise: float = 0.01, seed: int = 0
) -> list[tuple[NDArray[np.float64], list[tuple[Any, Any]]]]:
    """Simulate strokes between two task frames that differ from one to the next.

    Parameters
    ----------
    n_strokes : int, default 8
    noise : float, default 0.01
        Standard deviation of positions around their curve.
    seed : int, default 0

    Returns
    -------
    list of (rows, frames)
        For each stroke 90 to 129 rows of x and y, and two pairs (A, b), the axes and
        the origin of the frame where it begins and of the one where it ends.

    Notes
    -----
    A stroke is a cubic Bezier curve that leaves along the first axis of one frame and
    arrives along that of the other, run through at minimum jerk (Flash and Hogan 1985).
    Ends differ by up to 1.2 in each coordinate, directions by up to 1.2 radians.

    Examples
    --------
    >>> rows, frames = task_strokes(1)[0]
    >>> rows.shape[1], len(frames)
    (2, 2)
    """
    rng = params.generator(seed)
    _not_negative(noise=noise)
    strokes = []
    for _ in range(params.count("n_strokes", n_strokes, 0)):
        goal = np.array([3.0, 1.0]) + rng.uniform(-1.2, 1.2, size=2)
        frames = [
            (_turn(rng.uniform(-0.6, 0.6)), rng.uniform(-0.3, 0.3, size=2)),
            (_turn(rng.uniform(-1.2, 1.2)), goal),
        ]
        (A, a), (B, b) = frames
        points = np.array([a, a + 1.2 * A[:, 0], b - 1.2 * B[:, 0], b])
        t = np.linspace(0.0, 1.0, int(rng.integers(90, 130)))
        s = 10.0 * t**3 - 15.0 * t**4 + 6.0 * t**5
        share = [(1 - s) ** 3, 3 * s * (1 - s) ** 2, 3 * s**2 * (1 - s), s**3]
        rows = np.stack(share, axis=1) @ points
        strokes.append((rows + noise * rng.normal(size=rows.shape), frames))
    return strokes


def _turn(angle: float) -> NDArray[np.float64]:
    """Axes turned by an angle."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])


def evolving_gaussians(
    n_phases: int = 80,
    n_rows: int = 100,
    *,
    n_start: int = 2,
    births: float = 0.05,
    mean_life: float = 40.0,
    base_variance: float = 49.0,
    step_variance: float = 0.1,
    variance: float = 1.0,
    n_columns: int = 2,
    seed: int = 0,
) -> EvolvingRows:
    """Simulate Gaussian clusters that appear, move and disappear.

    Parameters
    ----------
    n_phases, n_rows : int, default 80 and 100
        Number of phases, and of rows of each existing cluster in each phase.
    n_start : int, default 2
        Number of clusters in the first phase.
    births, mean_life : float, default 0.05 and 40
        Mean number of new clusters per phase (Poisson), and mean number of phases that
        a cluster exists (geometric).
    base_variance, step_variance, variance : float, default 49, 0.1 and 1
        Variance of new means, of their steps, and of rows, along each axis.
    n_columns : int, default 2
    seed : int, default 0

    Returns
    -------
    EvolvingRows
        Phases without a cluster have no rows.

    Notes
    -----
    This is the simulation of Lin, Grimson and Fisher (2010), section 4.1, which does
    not state the dimension, the base variance and the step variance.

    Examples
    --------
    >>> data = evolving_gaussians(n_phases=3, n_rows=10, seed=1)
    >>> data.phases[0].shape, data.labels[0].tolist()[::10]
    ((20, 2), [0, 1])
    """
    rng = params.generator(seed)
    params.count("n_rows", n_rows, 0)
    params.count("n_columns", n_columns, 1)
    _not_negative(
        base_variance=base_variance, step_variance=step_variance, variance=variance
    )
    lives = _lives(n_phases, n_start, births, mean_life, rng)
    where: dict[int, NDArray[np.float64]] = {}
    phases, labels, means = [], [], []
    for alive in lives:
        for one in alive.tolist():
            if one in where:
                step = np.sqrt(step_variance) * rng.normal(size=n_columns)
                where[one] = where[one] + step
            else:
                where[one] = np.sqrt(base_variance) * rng.normal(size=n_columns)
        mean = np.array([where[one] for one in alive.tolist()]).reshape(-1, n_columns)
        noise = rng.normal(size=(n_rows * len(alive), n_columns))
        phases.append(np.repeat(mean, n_rows, axis=0) + np.sqrt(variance) * noise)
        labels.append(np.repeat(alive, n_rows))
        means.append(mean)
    return EvolvingRows(tuple(phases), tuple(labels), tuple(lives), tuple(means))


def evolving_flows(
    n_phases: int = 16,
    n_rows: int = 500,
    *,
    n_start: int = 4,
    births: float = 0.35,
    mean_life: float = 12.0,
    noise: float = 0.1,
    seed: int = 0,
) -> EvolvingRows:
    """Simulate flows of people through a hall of 10 by 10: positions and velocities.

    Parameters
    ----------
    n_phases, n_rows : int, default 16 and 500
        Number of phases, and of rows in each phase.
    n_start : int, default 4
        Number of flows in the first phase.
    births, mean_life : float, default 0.35 and 12
        Mean number of new flows per phase (Poisson), and mean number of phases that a
        flow exists (geometric).
    noise : float, default 0.1
        Standard deviation of velocities around their field.
    seed : int, default 0

    Returns
    -------
    EvolvingRows
        The columns are x, y, and the velocities along them. The velocity at x is
        v = b + A (x - c) + noise, where each flow has its own b, A and c.

    Examples
    --------
    >>> data = evolving_flows(n_phases=2, n_rows=50, seed=1)
    >>> data.phases[1].shape
    (50, 4)
    """
    rng = params.generator(seed)
    params.count("n_rows", n_rows, 0)
    _not_negative(noise=noise)
    lives = _lives(n_phases, n_start, births, mean_life, rng)
    flows: dict[int, Any] = {}
    phases, labels, means = [], [], []
    for alive in lives:
        for one in alive.tolist():
            if one not in flows:
                flows[one] = (
                    rng.uniform(1.0, 9.0, size=2), rng.uniform(0.5, 1.2),
                    rng.normal(size=2), 0.3 * rng.normal(size=(2, 2)),
                )  # fmt: skip
        size = n_rows if len(alive) else 0
        owner = rng.choice(alive, size=size) if size else np.empty(0, dtype=np.int64)
        rows = np.empty((size, 4))
        for one in alive.tolist():
            centre, spread, level, slope = flows[one]
            at = np.flatnonzero(owner == one)
            step = spread * rng.normal(size=(len(at), 2))
            rows[at, :2] = centre + step
            rows[at, 2:] = (
                level + step @ slope.T + noise * rng.normal(size=(len(at), 2))
            )
        phases.append(rows)
        labels.append(owner.astype(np.int64))
        mean = [
            np.concatenate([flows[one][0], flows[one][2]]) for one in alive.tolist()
        ]
        means.append(np.array(mean).reshape(-1, 4))
    return EvolvingRows(tuple(phases), tuple(labels), tuple(lives), tuple(means))


def evolving_topics(
    n_phases: int = 12,
    n_rows: int = 60,
    *,
    n_words: int = 200,
    length: int = 60,
    n_start: int = 4,
    births: float = 0.5,
    mean_life: float = 8.0,
    drift: float = 0.1,
    seed: int = 0,
) -> EvolvingRows:
    """Simulate word counts of documents whose topics appear, drift and disappear.

    Parameters
    ----------
    n_phases, n_rows : int, default 12 and 60
        Number of phases, and of documents in each phase.
    n_words, length : int, default 200 and 60
        Size of the vocabulary, and number of words in a document.
    n_start, births, mean_life
        As in `evolving_flows`.
    drift : float in [0, 1], default 0.1
        Share of a topic that changes at random in each phase.
    seed : int, default 0

    Returns
    -------
    EvolvingRows
        Each document has one topic; `means` are probabilities of words.

    Examples
    --------
    >>> data = evolving_topics(n_phases=2, n_rows=5, seed=1)
    >>> data.phases[0].shape, int(data.phases[0].sum())
    ((5, 200), 300)
    """
    rng = params.generator(seed)
    params.count("n_rows", n_rows, 0)
    params.count("n_words", n_words, 1)
    params.count("length", length, 0)
    if not 0.0 <= params.real("drift", drift) <= 1.0:
        raise ArgumentError("drift", "must be in [0, 1]", drift)
    lives = _lives(n_phases, n_start, births, mean_life, rng)
    topics: dict[int, NDArray[np.float64]] = {}
    phases, labels, means = [], [], []
    for alive in lives:
        for one in alive.tolist():
            fresh = rng.dirichlet(np.full(n_words, 0.05))
            old = topics.get(one)
            topics[one] = fresh if old is None else (1 - drift) * old + drift * fresh
        size = n_rows if len(alive) else 0
        owner = rng.choice(alive, size=size) if size else np.empty(0, dtype=np.int64)
        rows = [rng.multinomial(length, topics[one]) for one in owner.tolist()]
        phases.append(np.array(rows, dtype=np.float64).reshape(size, n_words))
        labels.append(owner.astype(np.int64))
        means.append(
            np.array([topics[one] for one in alive.tolist()]).reshape(-1, n_words)
        )
    return EvolvingRows(tuple(phases), tuple(labels), tuple(lives), tuple(means))


def image_points(rgb: Any) -> NDArray[np.float64]:
    """Pixels of a colour image as points: CIELAB colour and centred place.

    Parameters
    ----------
    rgb : array_like of shape (height, width, 3)
        Colours in sRGB, as uint8 or as floats in [0, 1]. Further channels are ignored.

    Returns
    -------
    ndarray of shape (height * width, 5)
        L*, a*, b*, x and y of each pixel, by rows of the image. L* is in [0, 100], and
        x and y are in pixels from the middle.

    Raises
    ------
    ValueError
        If the array is not a colour image.

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
        raise ArgumentError(
            "rgb",
            "must be of shape (height, width, 3)",
            Message("shape {shape}", shape=image.shape),
            "Stack a grey image three times.",
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
    """Square patches of a grey image, and their positions.

    Parameters
    ----------
    image : array_like of shape (height, width)
    size, step : int
        Side of a patch, and distance between two patches, in pixels.

    Returns
    -------
    ndarray of shape (n_patches, size * size + 2)
        Pixels of each patch by rows, then x and y of its middle, in pixels from the
        middle of the image.

    Raises
    ------
    ValueError
        If no patch fits into the image.

    Examples
    --------
    >>> import numpy as np
    >>> patch_points(np.eye(8), 4, 2).shape
    (9, 18)
    """
    pixels = _image("image", image)
    side, by = params.count("size", size, 1), params.count("step", step, 1)
    if pixels.ndim != 2 or min(pixels.shape) < side:
        raise ArgumentError(
            "image",
            f"must be of shape (height, width), both >= size={side}",
            Message("shape {shape}", shape=pixels.shape),
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
    pixels = params.as_array(name, image)
    if pixels.dtype.kind not in "uif" or not np.isfinite(pixels).all():
        raise ArgumentError(name, "must hold finite numbers", image)
    out: NDArray[np.float64] = pixels.astype(np.float64)
    return out / 255.0 if pixels.dtype.kind in "ui" else out
