"""What files hold of a mixture, and of a fit that is under way."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dyntree import checkpoint, params
from dyntree.encoding.feature_map import FeatureMap
from dyntree.encoding.values import Matrix
from dyntree.errors import CheckpointError
from dyntree.mixtures.canopy.components import Components, Moments
from dyntree.mixtures.canopy.families import FAMILY_OF
from dyntree.mixtures.canopy.fitting import CanopySweep, Fit, history_of
from dyntree.mixtures.canopy.given import is_positive
from dyntree.mixtures.canopy.options import (
    CanopyOptions,
    MixtureOptions,
    MixturePrior,
)
from dyntree.mixtures.canopy.parts import LocalShards, Parts
from dyntree.mixtures.canopy.scaling import Scaling

if TYPE_CHECKING:
    from dyntree.mixtures.canopy.model import Canopy

Header = dict[str, Any]
Arrays = dict[str, NDArray[Any]]
KEPT = tuple(  # of the history: how long a sweep took is not what a model is
    field.name for field in fields(CanopySweep) if field.name != "seconds"
)
SCALES = ("centre", "scale", "variance", "counts")


def notes_of(parts: Parts, out: Matrix | None) -> dict[str, Any]:
    """What tells rows apart: shapes, a hash of the first and last 64, and of `out`."""
    digest = hashlib.sha256()
    n = parts.n_rows
    ends = np.unique(
        np.concatenate([np.arange(min(64, n)), np.arange(max(0, n - 64), n)])
    )
    digest.update(np.ascontiguousarray(parts.take(ends)).tobytes())
    if parts.weight is not None:
        digest.update(parts.weight.tobytes())
    if out is not None:
        digest.update(np.ascontiguousarray(out).tobytes())
    return {
        "rows": [len(rows) for rows in parts.arrays],
        "columns": parts.features.n_features,
        "hash": digest.hexdigest(),
    }


def no_rows(known: Components) -> Moments:
    """Sums over no rows, for components of that shape."""
    m, d = known.mean.shape
    second = np.zeros(known.spread.shape if len(known.spread) else (m, 0))
    return Moments(np.zeros(m), np.zeros((m, d)), second)


# ---------------------------------------------------------------- models
def described(model: Canopy) -> tuple[Header, Arrays]:
    """Header and arrays of a model."""
    options = asdict(model.options)
    prior = options.pop("prior")
    arrays: Arrays = {"waiting": model._waiting.copy()}
    for name in ("mean", "variance"):
        if prior[name] is not None:
            arrays[f"prior_{name}"] = prior.pop(name)
    if not isinstance(options["init"], str):
        arrays["init"] = np.asarray(options.pop("init"), float)
    header: Header = {
        "kind": "Canopy",
        "options": options,
        "prior": {k: v for k, v in prior.items() if v is not None},
        "batch_size": model.batch_size,
        "seed": model.seed,
        "features": None if model._features is None else model._features.to_header(),
        "n_learned": model._n_learned,
        "n_batches": model._n_batches,
        "converged": model.converged,
        "is_ready": model.is_ready,
    }
    for field in KEPT:
        arrays[f"history_{field}"] = np.ascontiguousarray(model.history[field])
    if model._scaling is not None:
        header["power"] = model._scaling.power
        arrays |= {f"scaling_{name}": getattr(model._scaling, name) for name in SCALES}
    for name, record in (("known", model._known), ("moments", model._moments)):
        if record is not None:
            arrays |= {f"{name}_{k}": v.copy() for k, v in vars(record).items()}
    return header, arrays


def fill(model: Canopy, header: Header, arrays: Arrays) -> None:
    """Become what `described` told, checked."""
    given = dict(header["options"])
    prior = dict(header["prior"])
    for name in ("mean", "variance"):
        if f"prior_{name}" in arrays:
            prior[name] = arrays[f"prior_{name}"]
    if "init" in arrays:
        given["init"] = arrays["init"]
    sweeps = CanopyOptions(**given.pop("sweeps"))
    options = MixtureOptions(prior=MixturePrior(**prior), sweeps=sweeps, **given)
    batch = params.count("batch_size", header["batch_size"], 2)
    model._begin(options, batch, header["seed"])
    if header["features"] is not None:
        model._features = FeatureMap.from_header(header["features"])
    model._n_learned = params.count("n_learned", header["n_learned"], 0)
    model._n_batches = params.count("n_batches", header["n_batches"], 0, 2**62)
    model.converged = params.flag("converged", header["converged"])
    model._waiting = checked(arrays, "waiting", np.float64, None)
    if len(model._waiting) >= batch or (
        len(model._waiting) and model._waiting.shape[1] != width_of(model)
    ):
        raise ValueError("waiting must have fewer rows than a batch, of all columns.")
    model.history = history_read(arrays)
    if params.flag("is_ready", header["is_ready"]):
        d = width_of(model)
        model._scaling = Scaling(
            power=params.positive("power", header["power"]),
            **{
                name: checked(arrays, f"scaling_{name}", np.float64, (d,))
                for name in SCALES
            },
        )
        if not (model._scaling.scale > 0).all():
            raise ValueError("scaling_scale must be > 0.")
        model._known = components_read(options, arrays, d)
        model._moments = moments_read(model._known, arrays)


def width_of(model: Canopy) -> int:
    """Columns of a model; an error where it has none."""
    if model._features is None:
        raise ValueError("features must be known where there are rows.")
    return model._features.n_features


def checked(
    arrays: Arrays, name: str, dtype: Any, shape: tuple[int, ...] | None
) -> NDArray[Any]:
    """An array of that kind and shape, of finite numbers."""
    array = arrays[name]
    if array.dtype != dtype or (shape is not None and array.shape != shape):
        raise ValueError(f"{name} must be {np.dtype(dtype)} of shape {shape}.")
    if shape is None and array.ndim != 2:
        raise ValueError(f"{name} must have two dimensions.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite.")
    return array.copy()


def components_read(options: MixtureOptions, arrays: Arrays, d: int) -> Components:
    """Components of a file, checked."""
    m = options.n_components
    family = FAMILY_OF[options.family]
    shape: tuple[int, ...] = {"diag": (m, d), "full": (m, d, d)}.get(family.name, (m,))
    if family.is_count:
        shape = (0,)
    known = Components(
        checked(arrays, "known_weight", np.float64, (m,)),
        checked(arrays, "known_mean", np.float64, (m, d)),
        checked(arrays, "known_spread", np.float64, shape),
    )
    if (known.weight < 0).any() or not known.weight.any():
        raise ValueError("known_weight must be >= 0 and not all 0.")
    if family.is_count and not (known.mean > 0).all():
        raise ValueError("known_mean must be > 0.")
    if not all(is_positive(one) for one in known.spread):
        raise ValueError("known_spread must be positive.")
    return known


def moments_read(known: Components, arrays: Arrays) -> Moments:
    """Sums of a file, checked."""
    like = no_rows(known)
    weight, first, second = (
        checked(arrays, f"moments_{name}", np.float64, getattr(like, name).shape)
        for name in ("weight", "first", "second")
    )
    if (weight < 0.0).any() or (len(second) and second.ndim < 3 and (second < 0).any()):
        raise ValueError("moments must be those of rows, weights >= 0.")
    return Moments(weight, first, second)


def history_read(arrays: Arrays) -> np.recarray[Any, Any]:
    """Reports of a file."""
    empty = history_of([])
    columns = [arrays[f"history_{name}"] for name in KEPT]
    if len({column.shape for column in columns}) != 1 or columns[0].ndim != 1:
        raise ValueError("history must have one number a sweep in every column.")
    out = np.empty(len(columns[0]), dtype=empty.dtype)
    out["seconds"] = np.nan
    for name, column in zip(KEPT, columns, strict=True):
        out[name] = column
    return out.view(np.recarray)


# ---------------------------------------------------------------- fits under way
@checkpoint.savable
class Running:
    """A fit under way, as a checkpoint holds it.

    Parameters
    ----------
    model : Canopy
        As the fit has come to.
    fit : Fit
    shards : LocalShards
    """

    def __init__(self, model: Canopy, fit: Fit, shards: LocalShards) -> None:
        self.model, self.pace, self.begun = model, fit.pace, fit.begun
        self.arrays = shards.state()

    def to_arrays(self) -> tuple[Header, Arrays]:
        """Header and arrays: the model's, the pace, labels and lists."""
        header, arrays = described(self.model)
        arrays = {f"model_{name}": array for name, array in arrays.items()}
        return {"kind": "Running", "model": header, "pace": self.pace}, (
            arrays | self.arrays | {"begun": self.begun}
        )

    @classmethod
    def from_arrays(cls, header: Header, arrays: Arrays) -> Running:
        """Return what `to_arrays` described."""
        from dyntree.mixtures.canopy.model import Canopy

        again = cls.__new__(cls)
        own = {
            name.removeprefix("model_"): array
            for name, array in arrays.items()
            if name.startswith("model_")
        }
        again.model = Canopy.from_arrays(header["model"], own)
        again.pace = params.positive("pace", header["pace"])
        again.begun = checked(arrays, "begun", np.float64, None)
        again.arrays = {k: v for k, v in arrays.items() if k.startswith("shard")}
        return again

    def restore(self, fit: Fit, shards: LocalShards) -> None:
        """Bring a new fit and its shards to where they were."""
        assert self.model._known is not None
        fit.known, fit.moments, fit.pace = (
            self.model._known,
            self.model._moments,
            self.pace,
        )
        if self.begun.shape[1] != fit.known.mean.shape[1]:
            raise CheckpointError("begun must have the columns of these rows.")
        fit.begun = self.begun
        fit.reports = [CanopySweep(*row.tolist()) for row in self.model.history]
        fit.converged = self.model.converged
        m = len(fit.known.weight)
        most = min(m, fit.options.sweeps.list_max)
        if not 1.0 <= self.pace <= fit.options.sweeps.refresh_max:
            raise CheckpointError("pace must be within refresh_max.")
        check_lists(self.arrays, shards, m, most)
        shards.resume(self.arrays, len(fit.known.weight))


def check_lists(arrays: Arrays, shards: LocalShards, m: int, longest: int) -> None:
    """Raise CheckpointError for labels and lists that are none of these shards."""
    for name, like in shards.state().items():
        array = arrays.get(name)
        ok = array is not None and array.dtype == like.dtype and array.ndim == 1
        if ok and array is not None and not name.endswith("lists"):
            ok = array.shape == like.shape
        if ok and array is not None and len(array) and not name.endswith("turn"):
            least = 0 if name.endswith(("lists", "lengths")) else -1
            most = longest + 1 if name.endswith("lengths") else m
            ok = bool(array.min() >= least and array.max() < most)
        if not ok:
            raise CheckpointError(f"{name} is missing, or none of these rows.")
    for name, array in arrays.items():
        if name.endswith("_lengths"):
            lists = arrays[name.replace("_lengths", "_lists")]
            if int(array.sum()) != len(lists):
                raise CheckpointError(
                    f"{name} does not sum to the length of its lists."
                )
            inner = np.ones(len(lists), dtype=bool)  # not the first of its list
            inner[np.cumsum(array)[array > 0] - array[array > 0]] = False
            if (np.diff(lists)[inner[1:]] <= 0).any():
                raise CheckpointError(f"{name}: lists must ascend.")
        if name.endswith("_turn") and not 0 <= int(array[0]) < max(
            1, len(arrays[name.replace("_turn", "_lengths")])
        ):
            raise CheckpointError(f"{name} must be the number of a group.")
