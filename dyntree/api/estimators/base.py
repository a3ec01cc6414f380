"""What all estimators have in common: errors in words that their users can follow."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from inspect import isfunction, signature
from itertools import chain, repeat
from typing import Any, ClassVar

from dyntree.encoding.row_alignment import warn_of_order
from dyntree.encoding.values import DECLARED, NAMED
from dyntree.errors import PhraseWords, Speaking, Words
from dyntree.params.names import SuggestingAttributes, suggested, suggesting

TEMPLATES = dict.fromkeys(
    (NAMED, DECLARED),
    "a categorical column of a frame (astype('category') before rows are split)",
)
PASSED = {  # how levels are named is in TEMPLATES
    "name them: ": "pass ",
    "name the levels to use: ": "pass ",
    "name all levels at the start: ": "pass ",
    "Give a frame or dicts.": "Give a frame.",
}
SAVING = "joblib.dump(estimator, path), or dyntree.save(estimator.model_, path)"
METHODS = {  # of models and of other packages, and what estimators have
    "update": ("partial_fit",), "learn": ("partial_fit",), "train": ("fit",),
    "learn_many": ("partial_fit",), "learn_one": ("partial_fit",),
    "predict_interval": ("predict_quantiles", "predict_proba"),
    "predict_quantile": ("predict_quantiles", "predict_proba"),
    "quantile": ("predict_quantiles",), "predict_dist": ("predict_quantiles",),
    "predict_one": ("predict",), "options": ("get_params",),
    "importance": ("feature_importances_",), "log_evidence": ("log_evidence_",),
    "classes": ("classes_",), "n_components_": ("n_clusters_", "n_topics_"),
}  # fmt: skip
OF_ROWS = {"sample_weight", "exposure"}  # beside X and y
FUNCTIONS = {"save": SAVING, "to_file": SAVING, "dump": SAVING}


def words_for(classifier: str, regressor: str) -> PhraseWords:
    """Words of estimators around trees, which name those for other responses.

    Examples
    --------
    >>> words_for("A", "B").literal("Labels need model='class'.")
    'Labels need A.'
    """
    return PhraseWords(
        TEMPLATES,
        PASSED
        | {
            "Labels need model='class'": f"Labels need {classifier}",
            "or pass model='class' if": f"or use {classifier} if",
            "see trees with model='constant' or 'linear'": f"see {regressor}",
        },
    )


class Estimator(Speaking, SuggestingAttributes):
    """An estimator with words of its own, which suggests a name for a wrong one."""

    _words: ClassVar[Words] = PhraseWords(TEMPLATES, PASSED)

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        suggesting(cls)
        for name, method in list(vars(cls).items()):
            if not name.startswith("_") and isfunction(method):
                setattr(cls, name, _paired(method))

    def _meant(self, name: str) -> str | None:
        """What a wrong name may stand for, of this estimator or of its model."""
        if name in FUNCTIONS:
            return FUNCTIONS[name]
        for meant in METHODS.get(name, ()):
            if hasattr(type(self), meant):
                return meant
        if hasattr(type(vars(self).get("model_")), name):
            return f"model_.{name}"
        names = {*vars(self), *dir(type(self))}  # dir(self) would ask each property
        public = sorted(one for one in names if not one.startswith("_"))
        return suggested(name, tuple(public))


def _paired(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that pairs values with X by position, and warns of another order."""
    names = [*signature(method).parameters][1:]
    if names[:1] != ["X"]:
        return method

    @wraps(method)
    def paired(self: Estimator, *arguments: Any, **more: Any) -> Any:
        X = arguments[0] if arguments else more.get("X")
        if hasattr(X, "iloc"):
            by_place = zip(names, arguments, strict=False)
            for name, values in (*by_place, *more.items()):
                warn_of_order(X, values, name)
            placed = partial(_placed, X)
            arguments = tuple(map(placed, chain(names, repeat("")), arguments))
            more = {name: placed(name, values) for name, values in more.items()}
        return method(self, *arguments, **more)

    return paired


def _placed(X: Any, name: str, values: Any) -> Any:
    """Weights and exposures with the index of X, which a model asks for."""
    if name not in OF_ROWS or not hasattr(values, "iloc") or len(values) != len(X):
        return values
    return values.set_axis(X.index)
