"""Options of memory-bounded topic models, declared once and checked when made."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from dyntree import params
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures.shared.checks import not_negative
from dyntree.params.names import SuggestingAttributes, suggesting
from dyntree.params.table import check_options, checked

FAMILIES = ("auto", "full", "diag", "multinomial")
UNITS = {"": 1, "b": 1} | {
    prefix + middle + byte: base ** (k + 1)
    for middle, base in (("", 1000), ("i", 1024))
    for k, prefix in enumerate("kmgtp")
    for byte in ("", "b")
}
BYTES = r"\s*(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?|)\s*([a-z]*)\s*"
MOST = 2**53
SELECTIONS = ("auto", "always", "free_energy", "heldout")


def byte_count(name: str, value: Any) -> int:
    """Return a number of bytes: an int, or text such as "64MB" or "1.5 GiB".

    Texts are those that ``dask.utils.parse_bytes`` takes: "1e6", "5k", "2 TiB", "MB".
    """
    number: Any = None
    if isinstance(value, str):
        found = re.fullmatch(BYTES, value.lower())
        if found and found[2] in UNITS and (found[1] or found[2]):
            number = float(found[1] or 1) * UNITS[found[2]]
    elif isinstance(value, int | np.integer) and not isinstance(value, bool):
        number = value
    if number is None or not np.isfinite(number):
        raise ArgumentError(name, "must be an int of bytes or like '64MB'", value)
    if number < 1:
        raise ArgumentError(name, "must be >= 1 byte", value)
    return int(number)


def optional(check: Callable[..., Any], name: str, value: Any, *more: Any) -> Any:
    """Return None, or what a check makes of a value."""
    return None if value is None else check(name, value, *more)


def count_or(name: str, value: Any, word: str, *bounds: int) -> int | str:
    """Return a word, or an int within bounds."""
    return word if value == word else params.count(name, value, *bounds)


@suggesting
@dataclass(frozen=True, kw_only=True)
class HDPPrior(SuggestingAttributes):
    """Priors of a topic model, on the scale of the first epoch.

    Parameters
    ----------
    shape, rate : float, default 1.0 and 0.5
        Gamma prior of the weights alpha_k, with shape >= 1 and rate > 0.
    scale : float, default 0.1
        Expected variance of a topic along each column.
    mean : array_like of shape (n_features,), optional
        Prior mean of a topic, in units of the data; by default the mean of the first
        epoch.
    strength : float, default 0.01
        Number of points to which the prior mean is equivalent (kappa0).
    dof : float, optional
        Degrees of freedom nu0 of the Wishart prior, > n_features - 1; by default
        n_features + 2. With diagonal covariances it is the shape a0 > 1, by default 2.
    word : float, default 0.05
        Prior count of each word in a topic (lambda).
    standardize : bool, default True
        Whether columns are shifted and scaled by the first epoch, without values more
        than 30 times as far from the median as nine rows in ten.
    """

    shape: float = checked(1.0, params.real)
    rate: float = checked(0.5, params.positive)
    scale: float = checked(0.1, params.positive)
    mean: Any = None
    strength: float = checked(0.01, params.positive)
    dof: float | None = checked(None, params.real)
    word: float = checked(0.05, params.positive)
    standardize: bool = checked(True, params.flag)

    def __post_init__(self) -> None:
        check_options(self, "prior.")
        if self.shape < 1.0:
            raise ArgumentError(
                "prior.shape",
                "must be >= 1",
                self.shape,
                "Below 1 the best alpha need not be unique.",
            )
        if self.mean is not None:
            mean = params.as_array("prior.mean", self.mean, np.float64)
            if mean.ndim != 1 or not np.isfinite(mean).all():
                raise ArgumentError(
                    "prior.mean", "must be finite numbers, one a column", self.mean
                )
            object.__setattr__(self, "mean", tuple(mean.tolist()))

    def with_width(self, family: str, d: int) -> None:
        """Raise ValueError where the prior does not fit so many columns."""
        if self.mean is not None and len(self.mean) != d:
            raise ArgumentError(
                "prior.mean", f"must have one number a column, {d}", len(self.mean)
            )
        if self.dof is None:
            return
        if family == "full" and self.dof <= d - 1:
            raise ArgumentError(
                "prior.dof",
                f"must exceed d-1={d - 1}",
                Message("{dof:g}", dof=self.dof),
            )
        if family == "diag" and self.dof <= 1.0:
            raise ArgumentError(
                "prior.dof",
                "must exceed 1 for family='diag'",
                Message("{dof:g}", dof=self.dof),
            )


@suggesting
@dataclass(frozen=True, kw_only=True)
class HDPOptions(SuggestingAttributes):
    """Options of the search of a topic model; the defaults suit most data.

    Parameters
    ----------
    tol : float, default 1e-5
        Sweeps end when the free energy falls by less than tol max(abs(F), points).
    max_sweeps : int, default 100
        Largest number of successive sweeps.
    splits : int or "all", default "all"
        Number of topics for which a split is tried in a round, worst fit first.
    merges : int or "auto", default "auto"
        Number of pairs for which a merge is tried in a round, beginning with those that
        share the most points. "auto" is 10 for rows. For words it is the number of
        topics, beginning with those whose words are most alike.
    moves : {"disjoint", "one"}
        Whether a round makes all improving moves that share no topic, or only the best.
    alpha_update : {"newton", "minka"}
        The step of alpha: a Newton step on a bound, or the fixed point of the paper.
    group_merge : {"free_energy", "cosine"}
        Criterion by which groups of documents are joined.
    magnify_max : float, optional
        Largest magnification of the data while clumps are formed; 1 for none.
    n_birth : int or "auto"
        Number of topics that are proposed from random documents in each later epoch.
        "auto" is 40 for words, or the number of documents if that is smaller, and 0 for
        other data.
    select : {"auto", "always", "free_energy", "heldout"}
        Criterion by which new topics are accepted. "heldout" uses the score of a tenth
        of the epoch's points, for words of those that a document has once. "auto" is
        "free_energy", and for words either of the two suffices.
    swaps : bool, default True
        Whether a merge and a split may be combined when the largest number of topics is
        reached.
    cap_growth : {"sqrt", "fixed"}
        Whether the largest number of topics grows with the number of documents.
    start : {"auto", "kmeans", "one"}
        Start of the first epoch. "kmeans" is k-means++ for rows, and random topics for
        words; "one" is a single topic. "auto" is k-means++ for rows. For words it tries
        increasing numbers of random topics, and keeps the lowest free energy.
    working_limit : int or str, optional
        Largest number of bytes of temporary memory in an epoch. A larger epoch is
        divided.
    track_documents : bool, default False
        Whether the ids of documents are stored, with the group of each.
    compress_final : bool, default True
        Whether `fit` compresses after its last epoch.
    block : int, default 4096
        Largest number of items whose responsibilities are in memory together.
    allow_empty : bool, default False
        Whether documents without rows are allowed.
    n_words : int, optional
        Size of the vocabulary; by default that of the first epoch.
    """

    tol: float = checked(1e-5, params.positive)
    max_sweeps: int = checked(100, params.count, 1, MOST)
    splits: int | str = checked("all", count_or, "all", 0, MOST)
    merges: int | str = checked("auto", count_or, "auto", 0, MOST)
    moves: str = checked("disjoint", params.one_of, ("disjoint", "one"))
    alpha_update: str = checked("newton", params.one_of, ("newton", "minka"))
    group_merge: str = checked("free_energy", params.one_of, ("free_energy", "cosine"))
    magnify_max: float | None = checked(None, params.real)
    n_birth: int | str = checked("auto", count_or, "auto", 0, MOST)
    select: str = checked("auto", params.one_of, SELECTIONS)
    swaps: bool = checked(True, params.flag)
    cap_growth: str = checked("sqrt", params.one_of, ("sqrt", "fixed"))
    start: str = checked("auto", params.one_of, ("auto", "kmeans", "one"))
    working_limit: int | str | None = checked(None, byte_count)
    track_documents: bool = checked(False, params.flag)
    compress_final: bool = checked(True, params.flag)
    block: int = checked(4096, params.count, 1, MOST)
    allow_empty: bool = checked(False, params.flag)
    n_words: int | None = checked(None, params.count, 1, 2**31 - 1)

    def __post_init__(self) -> None:
        check_options(self, "options.")
        if self.magnify_max is not None and self.magnify_max < 1.0:
            raise ArgumentError(
                "options.magnify_max",
                "must be >= 1",
                Message("{magnify_max:g}", magnify_max=self.magnify_max),
            )


PAPER = HDPOptions(
    splits=10, merges=10, moves="one", alpha_update="minka", group_merge="cosine",
    swaps=False, cap_growth="fixed", start="one",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class HDPSettings:
    """All that a user may say about a model, but for its seed; see the model."""

    family: str = checked("auto", params.one_of, FAMILIES)
    memory_limit: int | None = checked(None, byte_count)
    max_items: int | None = checked(None, params.count, 1, MOST)
    max_groups: int | None = checked(None, params.count, 1, MOST)
    epoch_size: int | str = checked("auto", count_or, "auto", 1, MOST)
    expected_documents: int | None = checked(None, params.count, 1, MOST)
    expected_points: int | None = checked(None, params.count, 1, MOST)
    init_topics: int | str = checked("auto", count_or, "auto", 1, 10**6)
    max_topics: int | None = checked(None, params.count, 1, MOST)
    min_gain: float = checked(0.0, not_negative)
    prior: HDPPrior = HDPPrior()
    options: HDPOptions = HDPOptions()
    compat: str | None = checked(None, params.one_of, ("paper",))

    def __post_init__(self) -> None:
        check_options(self)
        for name, kind in (("prior", HDPPrior), ("options", HDPOptions)):
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise ArgumentError(
                    name, "must be {kind}(...) or None", value, kind=kind.__name__
                )

    @property
    def families(self) -> tuple[str, ...]:
        """Names of the families that the first documents choose from.

        Degrees of freedom have another meaning for each family; they are of "full".
        """
        if self.family != "auto":
            return (self.family,)
        if self.prior.dof is not None or self.compat is not None:
            return ("full",)
        return ("full", "diag")

    @property
    def follows_paper(self) -> bool:
        """Whether the search makes all choices of Gomes et al. (2008).

        Beside the options of `PAPER` these are: new documents start from alpha and not
        from the use of the topics, compression stops at the first clump that memory
        does not allow to split, and `tol` is relative to abs(F) alone.
        """
        return self.compat == "paper" and self.options == PAPER

    @classmethod
    def of_arguments(cls, **given: Any) -> HDPSettings:
        """The settings of a model's arguments, where None is the default."""
        compat = given.get("compat")
        paper = isinstance(compat, str) and compat == "paper"
        defaults = {"prior": HDPPrior(), "options": PAPER if paper else HDPOptions()}
        for name, default in defaults.items():
            if given.get(name) is None:
                given[name] = default
        return cls(**given)

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> HDPSettings:
        """The settings whose ``dataclasses.asdict`` a file holds."""
        known = {one.name for one in fields(cls)}
        if set(header) != known:
            raise ArgumentError(
                "settings", "must be {known}", sorted(header), known=sorted(known)
            )
        prior = dict(header["prior"])
        if prior["mean"] is not None:
            prior["mean"] = tuple(prior["mean"])
        options = HDPOptions(**header["options"])
        return cls(**(header | {"prior": HDPPrior(**prior), "options": options}))


# None is what `HDPSettings.of_arguments` takes for the default of a record.
HDP_SETTINGS = params.defaults_of(HDPSettings) | {"prior": None, "options": None}
