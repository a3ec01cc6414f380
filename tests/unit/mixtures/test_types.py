"""Numbers of every type are the same numbers, to models with and without responses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dyntree
from dyntree import mixtures
from tests.helpers import model_bytes, same_bytes

RNG = np.random.default_rng(0)
ROWS = np.round(10.0 * RNG.random((60, 3)), 2)
COUNTS = RNG.poisson(3.0, (30, 6)).astype(np.float64)
Y = ROWS[:, 0]
FORMS: dict[str, Callable[[Any], Any]] = {
    "big-endian": lambda a: a.astype(">f8"),
    "little-endian": lambda a: a.astype("<f8"),
    "objects": lambda a: a.astype(object),
    "long": lambda a: a.astype(np.longdouble),
    "by column": np.asfortranarray,
    "lists": lambda a: a.tolist(),
    "frame of objects": lambda a: pd.DataFrame(a).astype(object),
    "frame of big-endian": lambda a: pd.DataFrame(a.astype(">f8")),
    "nullable frame": lambda a: pd.DataFrame(a).convert_dtypes(),
}
OF_COUNTS = FORMS | {
    "big-endian ints": lambda a: a.astype(">i4"),
    "unsigned": lambda a: a.astype(">u2"),
    "half": lambda a: a.astype(np.float16),
    "ints as objects": lambda a: a.astype(int).astype(object),
    "truth values": lambda a: a > 2.0,
}
MAKES: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "clusters": (ROWS, lambda a: mixtures.OnlineDPGMM(lambda_=5.0).update(a)),
    "subspaces": (
        ROWS, lambda a: mixtures.OnlineDPMPPCA(lambda_=5.0, noise=1.0).update(a)
    ),
    "states": (
        ROWS, lambda a: mixtures.OnlineHDPHSMM(5.0, noise=1.0, seed=1).update(a)
    ),
    "phase": (ROWS, lambda a: mixtures.DependentDPMixture(
        mixtures.GaussianUnknown(), seed=1).update(a)),
    "phase of counts": (COUNTS, lambda a: mixtures.DependentDPMixture(
        mixtures.Multinomial(), seed=1).update(a)),
    "canopy": (ROWS, lambda a: mixtures.Canopy(3, seed=1).fit(a)),
    "canopy of counts": (
        COUNTS, lambda a: mixtures.Canopy(3, family="multinomial", seed=1).fit(a)
    ),
    "topics of rows": (ROWS, lambda a: mixtures.MemoryBoundedHDP(
        "diag", seed=1).fit(a, groups=np.arange(60) // 20)),
    "topics of words": (
        COUNTS, lambda a: mixtures.MemoryBoundedHDP("multinomial", seed=1).fit(a)
    ),
    "tree": (ROWS, lambda a: dyntree.DynamicTree(n_particles=5, seed=1).update(a, Y)),
    "random trees": (
        ROWS, lambda a: dyntree.RandomTreesStream("constant", seed=1).update(a, Y)
    ),
}  # fmt: skip


def answer(model: Any, given: Any) -> Any:
    """What a model says of rows, as arrays."""
    found = model.predict(given)
    if isinstance(found, np.ndarray):
        return found
    return (
        getattr(found, "proportions", None) if hasattr(found, "labels") else found.mean
    )


@pytest.mark.filterwarnings("ignore::UserWarning")  # of so few rows
@pytest.mark.parametrize(
    ("name", "form"),
    [
        (name, form)
        for name in MAKES
        for form in (OF_COUNTS if name.endswith(("counts", "words")) else FORMS)
        if (name, form) != ("topics of words", "lists")  # which are of word ids
    ],
)  # fmt: skip
def test_numbers_of_every_type_are_learned(name: str, form: str) -> None:
    table, make = MAKES[name]
    given = OF_COUNTS[form](table)
    plain = np.array(np.asarray(given, dtype=np.float64))
    model, expected = make(given), make(plain)
    if "frame" not in form:  # which have names of columns, that a model stores
        assert model_bytes(model) == model_bytes(expected)
    if "topics of rows" in name:
        np.testing.assert_array_equal(model.transform(given), expected.transform(plain))
        return
    np.testing.assert_array_equal(answer(model, given), answer(expected, plain))


def test_responses_of_every_type_are_learned() -> None:
    for model in ("constant", "linear", "poisson", "class"):
        y = np.round(Y)
        plain = dyntree.DynamicTree(model, n_particles=5, seed=1).update(ROWS, y)
        for form in ("big-endian", "objects", "lists"):
            own = dyntree.DynamicTree(model, n_particles=5, seed=1)
            own.update(ROWS, FORMS[form](y), FORMS[form](np.ones(60)))
            assert own.log_evidence == plain.log_evidence, form


EMPTY: dict[str, Any] = {
    "list": [], "tuple": (), "matrix": np.empty((0, 6)),
    "frame": pd.DataFrame(np.empty((0, 6))),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("family", ["full", "diag", "multinomial"])
@pytest.mark.parametrize("form", EMPTY)
def test_a_query_of_no_documents_has_an_empty_answer(family: str, form: str) -> None:
    of_words = family == "multinomial"
    if form in ("matrix", "frame") and not of_words:
        pytest.skip("one table of rows is one document")
    documents = COUNTS if of_words else [ROWS[:20], ROWS[20:]]
    model = mixtures.MemoryBoundedHDP(family, seed=1).fit(documents)
    nothing, n_topics = EMPTY[form], model.n_topics_
    with same_bytes(model):
        assert model.transform(nothing).shape == (0, n_topics)
        assert model.predict_proba(nothing).shape == (0, n_topics)
        assert model.score_samples(nothing).shape == (0,)
        assert model.score_documents(nothing).shape == (0,)
        found = model.predict(nothing)
        assert len(found.labels) == 0
        assert found.proportions.shape == (0, n_topics)
        assert len(model.retrieve(nothing).ids) == 0
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match="at least one document"):
            learn(nothing)


def test_word_ids_of_every_type_are_read() -> None:
    model = mixtures.MemoryBoundedHDP("multinomial", seed=1).fit(COUNTS)
    ids = np.array([0, 1, 1, 5])
    expected = model.transform([ids])
    for form in (">i8", ">u2", object, np.uint8):
        np.testing.assert_array_equal(model.transform([ids.astype(form)]), expected)
        proba = model.topic_proba(ids.astype(form))
        np.testing.assert_array_equal(proba, model.topic_proba(ids))
    for bad in (np.array([0.5], dtype=object), np.array(["a"], dtype=object)):
        with pytest.raises(ValueError, match="must be a 1-D array of word ids"):
            model.transform([bad])
    bad = COUNTS.astype(object)
    bad[2, 1] = "many"
    with pytest.raises(ValueError, match=r"count matrix must hold .* 'many' in row 2"):
        model.transform(bad)
