"""Suggestions: names that users of other packages try, and what they are here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, isfunction, signature
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

Kind = TypeVar("Kind", bound=type)
QUICK = {"learn_row", "learn_encoded", "mean_at", "proba_at"}  # of every row, and ours
FEW = 8  # names that a message lists
ALIKE = 0.75  # share of letters in common, from which one name may be meant by another
ARGUMENTS = {  # of other packages, and here; of several names that which a class has
    "random_state": ("seed",), "rng": ("seed",), "random_seed": ("seed",),
    "seed": ("random_state",), "threads": ("n_jobs",), "n_jobs": ("threads",),
    "n_threads": ("threads", "n_jobs"), "num_threads": ("threads", "n_jobs"),
    "n_trees": ("n_particles", "n_trees"), "n_estimators": ("n_particles", "n_trees"),
    "trees": ("n_particles", "n_trees"),
    "n_models": ("n_clouds", "n_particles"), "N": ("n_particles",),
    "num_particles": ("n_particles",), "particles": ("n_particles",),
    "minp": ("min_leaf",), "min_samples_leaf": ("min_leaf",),
    "min_samples_split": ("min_split",), "grace_period": ("min_split", "min_leaf"),
    "ab": ("tree_prior",), "icept": ("intercept",), "fit_intercept": ("intercept",),
    "nu0s20": ("variance_prior",), "rprop": ("proposal",), "nstart": ("n_start",),
    "leaf": ("model",), "leaf_model": ("model",), "family": ("model", "family"),
    "window_size": ("window", "members"), "window": ("members",),
    "memory": ("window", "memory_limit"),
    "max_rows": ("window",), "fading_factor": ("forget",), "decay": ("forget",),
    "alpha": ("concentration",), "level": ("alpha",), "conf_level": ("alpha",),
    "newdata": ("exog", "data", "X"), "weights": ("sample_weight", "weights"),
    "verbose": ("progress",), "x": ("X", "exog"),
    "lambda": ("lambda_",), "lam": ("lambda_",),
    "n_clusters": ("n_components", "max_clusters"), "k": ("n_components", "n_folds"),
    "folds": ("n_folds",), "cv": ("n_folds",),
    "n_topics": ("max_topics", "init_topics"), "max_iters": ("max_iter",),
    "n_iter": ("max_iter", "n_sweeps"), "covariance_type": ("covariance", "family"),
    "rate": ("false_alarm_rate",), "delta": ("false_alarm_rate",),
    "warmup": ("warm_up",), "T_Q": ("max_absence",), "k_tau": ("reach",),
    "labels": ("classes",), "levels": ("categories",),
    "with_interval": ("with_dist",), "return_std": ("with_dist",),
    "return_dist": ("with_dist",), "sample_weight": ("w",),
    "w": ("sample_weight", "weights"),
}  # fmt: skip
ONE_WINDOW = "dyntree.StreamingTree has it. AveragedStream averages several windows."
ELSEWHERE = {  # of trees, and where it is
    "window": ONE_WINDOW,
    "drift": "dyntree.StreamingTree has it. AveragedStream adapts by its windows.",
}
WEIGHTS = {"w", "sample_weight", "sample_weights", "weight", "weights", "freq_weights"}
METHODS = {  # likewise
    **dict.fromkeys(
        ("fit", "partial_fit", "learn", "learn_many", "train", "update", "learn_one"),
        ("update", "learn_one", "append"),
    ),
    "predict_one": ("predict",), "predict": ("predict_one",),
    "predict_proba": ("predict(X).proba", "predict_proba_one"),
    "predict_log_proba": ("predict(X).proba", "predict_proba_one"),
    "score": ("predict(X).log_density",), "alc": ("acquisition",),
    "alm": ("acquisition",),
    "predict_interval": ("predict(X).quantile", "predict_interval_one"),
    "predict_quantiles": ("predict(X).quantile", "predict_interval_one"),
    "sample_y": ("posterior_draws",), "summary": ("facts",),
    "feature_importances_": ("importance",), "feature_importances": ("importance",),
    "get_params": ("options",), "loglik": ("log_evidence",), "n_trees": ("options",),
    "get_margeff": ("avg_comparisons",), "marginal_effects": ("avg_comparisons",),
    "margins": ("avg_comparisons",), "slopes": ("avg_comparisons",),
    "avg_slopes": ("avg_comparisons",), "pvalues": ("conf_int",),
    "tvalues": ("conf_int",), "aic": ("llf",), "bic": ("llf",),
    "plot": ("plot_partial",), "dump": ("save",), "to_file": ("save",),
    "mean": ("predicted_mean", "mu"), "std": ("se_obs", "sigma", "sd"),
}  # fmt: skip
FUNCTIONS = {  # of the package, where others have methods
    "save": "dyntree.save(model, path)", "to_file": "dyntree.save(model, path)",
    "dump": "dyntree.save(model, path)",
}  # fmt: skip


def suggested(name: str, names: tuple[str, ...]) -> str | None:
    """The name that a wrong one may stand for, or None.

    Examples
    --------
    >>> suggested("random_state", ("window", "seed"))
    'seed'
    >>> suggested("windw", ("window", "seed"))
    'window'
    """
    known = next((word for word in ARGUMENTS.get(name, ()) if word in names), None)
    return known or next(iter(get_close_matches(name, names, 1, ALIKE)), None)


def check_accepted(owner: str, passed: Iterable[str], names: tuple[str, ...]) -> None:
    """Refuse an argument that a class or a function does not have.

    Raises
    ------
    TypeError
        If one of the names that were passed is not among those of `owner`.
    """
    for name in passed:
        if name not in names:
            remedy = _remedy(owner, name, names)
            raise TypeError(f"{owner}() got an unexpected argument {name!r}.{remedy}")


def _remedy(owner: str, name: str, names: tuple[str, ...]) -> str:
    """What to do about an argument that `owner` does not have."""
    if name in ELSEWHERE and "n_particles" in names and "key" not in names:
        return f" {ELSEWHERE[name]}"
    meant = suggested(name, names)
    if meant:
        return f" Did you mean {meant}?"
    lacks = name in WEIGHTS and WEIGHTS.isdisjoint(names)
    remedy = " It has no weights of rows." if lacks else ""
    listed = len(names) <= FEW
    return remedy + (
        f" Its arguments are {', '.join(names)}." if listed
        else f" help({owner}) lists its arguments."
    )  # fmt: skip


def suggesting_module(
    module: str, names: Iterable[str], hints: Mapping[str, str]
) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module, which suggests a name for a wrong one.

    Parameters
    ----------
    module : str
    names : iterable of str
        The public names of the module.
    hints : mapping of str to str
        Names that users try, and what to do here.
    """

    def refuse(name: str) -> Any:
        meant = None if name.startswith("_") else suggested(name, tuple(names))
        hint = hints.get(name) or (f"Did you mean {meant}?" if meant else "")
        said = f"module {module!r} has no attribute {name!r}. {hint}".rstrip()
        raise AttributeError(said, name=name)

    return refuse


class SuggestingAttributes:
    """Base class of objects whose errors suggest an attribute for a wrong one."""

    _hints: Mapping[str, str] = MappingProxyType({})  # names of others, what to do here
    _nested: tuple[str, ...] = ()  # attributes whose own attributes may be meant

    if not TYPE_CHECKING:  # which knows all attributes that there are

        def __getattr__(self, name: str) -> Any:
            """Say that there is no such attribute, and which one may be meant."""
            if hasattr(type(self), name):  # a property, whose own error this is
                return object.__getattribute__(self, name)
            said = f"{type(self).__name__!r} object has no attribute {name!r}"
            if name in self._hints:
                said += f". {self._hints[name]}"
            elif not name.startswith("_"):
                meant = self._meant(name)
                said += f". Did you mean {meant}?" if meant else ""
            raise AttributeError(said, name=name, obj=self)

    def _meant(self, name: str) -> str | None:
        """What is meant by an attribute that there is not, or None."""
        kind = type(self)
        if name in FUNCTIONS and hasattr(kind, "to_arrays"):  # which are saved
            return FUNCTIONS[name]
        for meant in METHODS.get(name, ()):
            if hasattr(kind, meant.split("(")[0]):
                return meant
        for part in self._nested:
            if hasattr(vars(self).get(part), name):
                return f"{part}.{name}"
        public = tuple(one for one in dir(self) if not one.startswith("_"))
        return suggested(name, public)


class Suggesting(SuggestingAttributes):
    """Base class of models whose errors suggest a name for a wrong one."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        suggesting(cls)


def suggesting(kind: Kind) -> Kind:
    """Let constructor and methods of a class suggest a name for a wrong argument.

    The class is one of `SuggestingAttributes`, whose `_hints` may say what to do about
    an argument of a method: ``{"fit(seed)": "Pass it to the model."}``.
    """
    for name, method in list(vars(kind).items()):
        is_public = name == "__init__" or not name.startswith("_")
        if is_public and isfunction(method) and name not in QUICK:
            setattr(kind, name, _checked(method))
    return kind


def _checked(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that suggests a name for an argument that it does not have."""
    parameters = signature(method).parameters
    names = tuple(parameters)[1:]
    plain = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
    if not names or any(one.kind not in plain for one in parameters.values()):
        return method

    @wraps(method)
    def checked(self: Any, *args: Any, **given: Any) -> Any:
        for name in given:  # of every call, so nothing more where all is well
            if name not in parameters:
                what = "" if method.__name__ == "__init__" else f".{method.__name__}"
                owner = type(self).__name__ + what
                if hint := self._hints.get(f"{method.__name__}({name})"):
                    said = f"{owner}() got an unexpected argument {name!r}. {hint}"
                    raise TypeError(said)
                check_accepted(owner, given, names)
        return method(self, *args, **given)

    return checked
