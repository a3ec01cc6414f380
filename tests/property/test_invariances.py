"""What must not change an answer: units, names, order, layout, cuts, threads.


Data stand on grids and constants are powers of two, so that changes of units are exact:
then the same particles move and the same rows meet, and answers differ by the rounding
of their last operation alone. Where a change reaches the draws, laws are compared over
seeds; such tests state their rate of false alarms.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dyntree import AveragedStream, AveragedTrees, DynamicTree, StreamingTree
from dyntree.errors import UnseenWordsWarning
from dyntree.evaluate import prequential
from dyntree.mixtures import (
    AffineFlow,
    DependentDPMixture,
    GaussianKnownVariance,
    GaussianUnknown,
    MemoryBoundedHDP,
)
from tests.contract import check_twins
from tests.helpers import model_bytes, same_bytes

from .subjects import (
    LABELS,
    MIXTURES,
    NAMES,
    SUBJECTS,
    TREES,
    Answers,
    Subject,
    arrays,
    asked,
    effects,
    labelled_rows,
    real_rows,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore::dyntree.errors.MixingWarning", "ignore::dyntree.errors.StaleWindowWarning",
    "ignore::dyntree.errors.ConvergenceWarning",
)  # fmt: skip

N, N_NEW = 90, 20
REAL_TREES = [
    name
    for name in TREES
    if not any(kind in name for kind in ("class", "logit", "counts"))
]
CLASS_TREES = [name for name in TREES if "class" in name]


def rows_of(subject: Subject, seed: int = 0) -> tuple[Any, Any, Any]:
    """Rows to learn, their responses, and rows to ask about."""
    X, y = subject.rows(np.random.default_rng(seed), N + N_NEW)
    return X[:N], None if y is None else y[:N], X[N:]


def answers(subject: Subject, X: Any, y: Any, new: Any) -> Answers:
    """All that a model says of `new` after it has learned X and y."""
    return asked(subject.learned(X, y), new, subject.questions)


@cache
def plain_answers(name: str) -> Answers:
    """What a subject says after the rows as they are: learned once for all tests."""
    subject = SUBJECTS[name]
    return answers(subject, *rows_of(subject))


def those_of(found: Answers, questions: Iterable[str]) -> Answers:
    """The answers to some of the questions."""
    kept = {*questions}
    return {key: value for key, value in found.items() if key.split(".")[0] in kept}


def same(one: Answers, other: Answers) -> None:
    """Two sets of answers have the same bits."""
    assert one.keys() == other.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)


def close(one: Answers, other: Answers, digits: float) -> None:
    """Two sets of answers agree to so many digits of the largest number in each."""
    assert one.keys() == other.keys()
    for name, value in one.items():
        size = np.abs(value[np.isfinite(value)]).max(initial=0.0)
        np.testing.assert_allclose(
            other[name], value, rtol=0.0, atol=size * 10.0**-digits, err_msg=name
        )


# ------------------------------------------------------------ units of the response
LOCATIONS = (
    "predict.mean", "predict.quantile", "predict.of_mean", "draws", "sensitivity.main",
)  # fmt: skip
SCALES = ("ei", "ieci")
VARIANCES = ("predict.var", "alm", "alc", "alc reference", "active alc", "relevance")


def in_units(found: Answers, shift: float, scale: float, n: int) -> Answers:
    """Answers about shift + scale y, brought back to y."""
    back = dict(found)
    for name in found:
        if name in LOCATIONS:
            back[name] = (found[name] - shift) / scale
        elif name in SCALES:
            back[name] = found[name] / scale
        elif name in VARIANCES:
            back[name] = found[name] / scale**2
        elif name == "coef":
            back[name] = found[name] / scale
            back[name][:, 0] -= shift / scale
        elif name == "evidence":
            back[name] = found[name] + n * np.log(scale)
    return back


@pytest.mark.parametrize(
    ("shift", "digits"), [(-32.0, 12), (2.0**20, 8), (2.0**30, 5), (-(2.0**30), 5)]
)
@pytest.mark.parametrize("name", REAL_TREES)
def test_a_constant_in_the_responses_is_one_in_the_answers(
    name: str, shift: float, digits: int
) -> None:
    """2^30 is 1e9 spreads, of which float64 keeps seven digits of one."""
    subject = TREES[name]
    X, y, new = rows_of(subject)
    moved = answers(subject, X, y + shift, new)
    close(plain_answers(name), in_units(moved, shift, 1.0, N), digits)


@pytest.mark.parametrize("scale", [2.0**-40, 2.0**-7, 2.0**33])
@pytest.mark.parametrize("name", REAL_TREES)
def test_units_of_the_responses_drop_out(name: str, scale: float) -> None:
    subject = TREES[name]
    X, y, new = rows_of(subject)
    other = answers(subject, X, scale * y, new)
    close(plain_answers(name), in_units(other, 0.0, scale, N), 9)


@pytest.mark.parametrize("scale", [2.0**-20, 2.0**10])
@pytest.mark.parametrize("n_equal", [10, 11, 35])
@pytest.mark.parametrize("name", REAL_TREES)
def test_units_drop_out_where_the_first_responses_are_equal(
    name: str, n_equal: int, scale: float
) -> None:
    """The unit is that of the first response that differs."""
    subject = TREES[name]
    X, y, new = rows_of(subject)
    y[:n_equal] = 0.0
    plain, other = answers(subject, X, y, new), answers(subject, X, scale * y, new)
    close(plain, in_units(other, 0.0, scale, N), 9)


@pytest.mark.parametrize("name", REAL_TREES)
def test_scores_of_a_stream_move_with_the_responses(name: str) -> None:
    subject = TREES[name]
    X, y, _ = rows_of(subject)
    plain = prequential(subject.fresh(), X, y, start=20)
    moved = prequential(subject.fresh(), X, 8.0 * y + 2.0**24, start=20)
    pairs = [(plain.scores, moved.scores), (plain.baseline, moved.baseline)]
    for one, other in pairs:
        assert other.rmse == pytest.approx(8.0 * one.rmse, rel=1e-6)
        assert other.interval_score == pytest.approx(8.0 * one.interval_score, rel=1e-6)
        density = other.log_density + np.log(8.0)
        assert density == pytest.approx(one.log_density, abs=1e-5)
        assert other.coverage == one.coverage


# ------------------------------------------------------------ units of the columns
@pytest.mark.parametrize("shift", [-3.0, 2.0**20])
@pytest.mark.parametrize("scale", [2.0**-20, 1.0, 2.0**12])
@pytest.mark.parametrize("name", list(TREES))
def test_units_of_the_columns_drop_out(name: str, scale: float, shift: float) -> None:
    """Of all of them or of one. Values to split at are rounded at 2^20: a row changes
    sides with a probability of 1e-7 a split."""
    subject = TREES[name]
    X, y, new = rows_of(subject)
    skipped = ("coef", "alc")  # which are in units of the columns, or of bounds
    questions = {k: q for k, q in subject.questions.items() if k not in skipped}
    plain = those_of(plain_answers(name), questions)
    for columns in (slice(None), slice(1, 2)):
        moved, asked_for = X.copy(), new.copy()
        for rows in (moved, asked_for):
            rows[:, columns] = scale * (rows[:, columns] + shift)
        close(plain, asked(subject.learned(moved, y), asked_for, questions), 6)


@pytest.mark.parametrize("scale", [2.0**-20, 2.0**12])
@pytest.mark.parametrize("n_equal", [10, 40])
@pytest.mark.parametrize("name", list(TREES))
def test_units_drop_out_where_the_first_values_are_equal(
    name: str, n_equal: int, scale: float
) -> None:
    subject = TREES[name]
    X, y, new = rows_of(subject)
    X[:n_equal, 1] = 0.0
    questions = {k: q for k, q in subject.questions.items() if k not in ("coef", "alc")}
    plain = asked(subject.learned(X, y), new, questions)
    other = asked(
        subject.learned(X * [1.0, scale, 1.0], y), new * [1.0, scale, 1.0], questions
    )
    close(plain, other, 9)


@pytest.mark.parametrize("n_useless", [1, 4])
@pytest.mark.parametrize("value", [3.0, 0.0, np.nan])
@pytest.mark.parametrize("name", list(TREES))
def test_columns_that_cannot_be_used_change_nothing(
    name: str, value: float, n_useless: int
) -> None:
    subject = TREES[name]
    X, y, new = rows_of(subject)
    wide, asked_for = (
        np.column_stack([rows, np.full((len(rows), n_useless), value)])
        for rows in (X, new)
    )
    kept = ("predict", "proba", "entropy", "evidence", "stats", "alm", "active alc")
    questions = {k: q for k, q in subject.questions.items() if k in kept}
    plain = those_of(plain_answers(name), questions)
    close(plain, asked(subject.learned(wide, y), asked_for, questions), 10)


# ------------------------------------------------------------ names and order
@pytest.mark.parametrize("name", list(SUBJECTS))
def test_named_columns_are_matched_by_name_in_every_question(name: str) -> None:
    """In another order they give the same bits; other names are an error."""
    subject = SUBJECTS[name]
    X, y, new = rows_of(subject)
    frame, ahead = pd.DataFrame(X, columns=NAMES), pd.DataFrame(new, columns=NAMES)
    model = subject.learned(frame, y)
    turned, renamed = ahead[["r", "p", "q"]], ahead.rename(columns={"q": "z"})
    for key, question in subject.questions.items():
        one = {key: question}
        same(asked(model, ahead, one), asked(model, turned, one))
        if _looks_at_rows(question, model):
            with pytest.raises((ValueError, TypeError)):
                question(model, renamed)


def test_named_words_are_matched_by_name_in_every_question() -> None:
    rng = np.random.default_rng(2)
    counts = rng.poisson(rng.gamma(0.4, 3.0, (40, 5))) + 1
    frame = pd.DataFrame(counts, columns=list("abcde"))
    turned, renamed = frame[list("ecbad")], frame.rename(columns={"a": "z"})
    model = MemoryBoundedHDP("multinomial", seed=1).fit(frame)
    questions = ("transform", "predict", "predict_proba", "score", "score_samples",
                 "free_energy", "index", "retrieve", "partial_fit")  # fmt: skip
    for name in questions:
        plain, other = (getattr(model.copy(), name)(rows) for rows in (frame, turned))
        if name in ("index", "partial_fit"):
            plain, other = plain.transform(frame), other.transform(frame)
        same(arrays(plain, name), arrays(other, name))
        with pytest.warns(UnseenWordsWarning, match="learned have no column, such as"):
            getattr(model.copy(), name)(renamed)
    with pytest.warns(UnseenWordsWarning, match="3 words that were learned"):
        known = model.transform(frame[["b", "a"]])
    nulled = frame.assign(c=0, d=0, e=0)
    np.testing.assert_array_equal(known, model.transform(nulled))


def test_named_locations_are_matched_by_name() -> None:
    X = np.random.default_rng(3).standard_normal((60, 4))
    frame = pd.DataFrame(X, columns=["x", "y", "u", "v"])
    flow = DependentDPMixture(AffineFlow(), n_sweeps=6, burn_in=2).update(frame)
    plain = flow.velocity(frame[["x", "y"]])[1]
    np.testing.assert_array_equal(flow.velocity(frame[["y", "x"]])[1], plain)
    np.testing.assert_array_equal(flow.velocity(X[:, :2])[1], plain)
    with pytest.raises(ValueError, match="points must have the columns"):
        flow.velocity(frame[["u", "v"]])


def _looks_at_rows(question: Any, model: Any) -> bool:
    """Whether a question raises for rows that are none."""
    try:
        question(model, "no rows")
    except Exception:
        return True
    return False


@pytest.mark.parametrize("name", list(TREES))
def test_columns_that_come_in_another_order_are_learned_by_name(name: str) -> None:
    subject = TREES[name]
    X, y, new = rows_of(subject)
    frame = pd.DataFrame(X, columns=NAMES)
    model = subject.fresh().update(frame[:40], y[:40])
    model.update(frame[40:][["q", "r", "p"]], y[40:])
    same(asked(model, new, subject.questions), answers(subject, frame, y, new))


@pytest.mark.parametrize("name", CLASS_TREES)
def test_labels_may_have_any_names(name: str) -> None:
    subject = TREES[name]
    X, y, new = rows_of(subject)
    plain = plain_answers(name)
    for names in (("z", "m", "b"), (30, 2, 1), (2.5, -1.0, 0.0)):
        given = dict(zip(LABELS, names, strict=True))
        fresh = subject.fresh()
        model = _with_classes(fresh, names).update(X, [given[label] for label in y])
        same(plain, asked(model, new, subject.questions))


@pytest.mark.parametrize("name", CLASS_TREES)
def test_the_order_of_the_classes_is_that_of_the_probabilities_alone(name: str) -> None:
    """Up to the rounding of sums over classes.

    Draws have the same law: which random number a class gets is a matter of its place.
    """
    subject = TREES[name]
    X, y, new = rows_of(subject)
    order = [2, 0, 1]
    names = tuple(LABELS[k] for k in order)
    model = _with_classes(subject.fresh(), names).update(X, y)
    questions = subject.questions | {
        "sensitivity": lambda model, X: effects(model, label=LABELS[0])
    }
    found = asked(model, new, questions)
    found["proba"] = found["proba"][:, np.argsort(order)]
    drawn = ("draws", "sensitivity.main")
    both = [
        {key: value for key, value in one.items() if key not in drawn}
        for one in (plain_answers(name), found)
    ]
    close(*both, 9)


def _with_classes(model: Any, classes: tuple[Any, ...]) -> Any:
    """A model like this one, without rows, that knows other labels."""
    shape: dict[type, dict[str, Any]] = {
        StreamingTree: {"window": 30},
        AveragedTrees: {"n_clouds": 2, "shuffle": False},
    }
    options = shape.get(type(model), {})
    return type(model)("class", n_particles=15, seed=1, classes=classes, **options)


@pytest.mark.parametrize("names", [("k", "m", "z"), ("1", "2", "3")])
@pytest.mark.parametrize("name", ["tree constant", "stream class entropy"])
def test_levels_may_have_any_names_of_one_order(
    name: str, names: tuple[str, ...]
) -> None:
    subject = TREES[name]
    X, y, new = rows_of(subject)

    def frame(rows: Any, levels: tuple[str, ...]) -> pd.DataFrame:
        found = pd.DataFrame(rows[:, :2], columns=["p", "q"])
        found["r"] = np.array(levels)[(3 * rows[:, 2]).astype(int)]
        return found

    kept = {k: q for k, q in subject.questions.items() if k != "alc"}
    plain = asked(subject.learned(frame(X, LABELS), y), frame(new, LABELS), kept)
    same(plain, asked(subject.learned(frame(X, names), y), frame(new, names), kept))


# ------------------------------------------------------------ layout, cuts, threads
LAYOUTS = {
    "Fortran": lambda X: np.asfortranarray(X),
    "strides": lambda X: np.repeat(X, 2, axis=0)[::2],
    "backwards": lambda X: np.ascontiguousarray(X[:, ::-1])[:, ::-1],
    "read-only": lambda X: _frozen(X),
    "float32": lambda X: X.astype(np.float32),  # the grid has few digits
    "other bytes": lambda X: X.astype(X.dtype.newbyteorder()),
    "lists": lambda X: X.tolist(),
    "objects": lambda X: X.astype(object),
    "frame": lambda X: pd.DataFrame(X),
}


def _frozen(X: Any) -> Any:
    X = X.copy()
    X.setflags(write=False)
    return X


@pytest.mark.parametrize("layout", list(LAYOUTS))
@pytest.mark.parametrize("name", list(SUBJECTS))
def test_layouts_and_types_in_memory_do_not_matter(name: str, layout: str) -> None:
    """Canopy computes with float32 where rows are."""
    subject, change = SUBJECTS[name], LAYOUTS[layout]
    X, y, new = rows_of(subject)
    if "hsmm" in name and layout == "lists":
        questions = {k: q for k, q in subject.questions.items() if k != "filter_one"}
    else:
        questions = subject.questions
    plain = those_of(plain_answers(name), questions)
    changed = asked(subject.learned(change(X), y), change(new), questions)
    if (name, layout) == ("canopy", "float32"):
        close(plain, changed, 4)
    else:
        same(plain, changed)


@pytest.mark.parametrize("name", [n for n, s in SUBJECTS.items() if s.by_rows])
def test_a_stream_may_be_cut_anywhere_and_asked_in_between(name: str) -> None:
    """Questions of every kind between the calls leave no trace."""
    subject = SUBJECTS[name]
    X, y, new = rows_of(subject)
    model = subject.fresh()
    for part in np.split(np.arange(N), [1, 7, 12, 50, 51]):
        model.update(X[part], None if y is None else y[part])
        if model.is_ready and len(part) > 30:
            asked(model, new, subject.questions)
    same(plain_answers(name), asked(model, new, subject.questions))


@pytest.mark.parametrize("name", list(SUBJECTS))
def test_questions_leave_no_trace_and_answer_alike_twice(name: str) -> None:
    subject = SUBJECTS[name]
    X, y, new = rows_of(subject)
    model, quiet = subject.learned(X, y), subject.learned(X, y)
    first = asked(model, new, subject.questions)
    same(first, asked(model, new, subject.questions))
    for one in (model, quiet):
        subject.learn(one, X[:30], None if y is None else y[:30])
    same(asked(model, new, subject.questions), asked(quiet, new, subject.questions))


@pytest.mark.parametrize("name", list(SUBJECTS))
def test_rows_are_answered_alike_together_and_alone(name: str) -> None:
    subject = SUBJECTS[name]
    X, y, new = rows_of(subject)
    model = subject.learned(X, y)
    questions = {k: q for k, q in subject.questions.items() if k in subject.alone}
    assert questions
    together = asked(model, new, questions)
    for k in (0, 7, N_NEW - 1):
        alone = asked(model, new[k : k + 1], questions)
        for key, value in alone.items():
            np.testing.assert_allclose(
                value[0], together[key][k], rtol=1e-13, atol=0.0, err_msg=key
            )


@pytest.mark.parametrize("name", list(SUBJECTS))
def test_threads_change_no_bit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = SUBJECTS[name]
    X, y, new = rows_of(subject)
    found = []
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("DYNTREE_NUM_THREADS", threads)
        found.append(answers(subject, X, y, new))
    same(found[0], found[1])
    same(found[0], found[2])


@pytest.mark.parametrize("name", list(SUBJECTS))
def test_pickles_and_copies_go_on_alike(name: str) -> None:
    subject = SUBJECTS[name]
    X, y, new = rows_of(subject)
    model = subject.learned(X[:60], None if y is None else y[:60])
    rest = X[60:], None if y is None else y[60:]
    twins = [pickle.loads(pickle.dumps(model)), model.copy()]
    check_twins(model, lambda twin: subject.learn(twin, *rest))
    expected = asked(model, new, subject.questions)
    for twin in twins:
        subject.learn(twin, *rest)
        same(asked(twin, new, subject.questions), expected)


# ------------------------------------------------------------ by seeds
SEEDS = range(40)
FALSE_ALARM = 1e-6


def evidences(X: Any, y: Any, model: str, **options: Any) -> np.ndarray:
    """Log evidence over seeds."""
    return np.array([
        DynamicTree(model, n_particles=15, seed=s, **options).update(X, y).log_evidence
        for s in SEEDS
    ])  # fmt: skip


@pytest.mark.parametrize("model", ["constant", "linear", "class"])
def test_the_order_and_the_number_of_equal_columns_do_not_matter_in_law(
    model: str,
) -> None:
    """Columns turned, and (leaves without slopes) each there twice, by a t test over 40
    seeds that fails once in a million; it sees shifts of 1.3 standard deviations."""
    rows = labelled_rows if model == "class" else real_rows
    X, y = rows(np.random.default_rng(5), N)
    plain = evidences(X, y, model)
    changed = [X[:, [2, 0, 1]]]
    if model != "linear":
        changed.append(np.hstack([X, X]))
    for other in changed:
        test = stats.ttest_ind(plain, evidences(other, y, model), equal_var=False)
        assert test.pvalue > FALSE_ALARM


@pytest.mark.parametrize("model", ["constant", "linear"])
def test_responses_may_be_turned_over(model: str) -> None:
    """y -> -y: the same trees, with quantiles from the other end."""
    X, y = real_rows(np.random.default_rng(6), N)
    one, other = (
        AveragedStream(model, n_particles=15, seed=1).update(X, s * y).predict(X[:9])
        for s in (1.0, -4.0)
    )
    np.testing.assert_allclose(other.mean, -4.0 * one.mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        other.quantile([0.1, 0.7]),
        -4.0 * one.quantile([0.9, 0.3]),
        rtol=1e-6,
        atol=1e-6,
    )


# ------------------------------------------------------------ units of mixtures
@pytest.mark.parametrize("shift", [0.0, -64.0, 2.0**14])
@pytest.mark.parametrize("scale", [2.0**-20, 1.0, 2.0**10])
@pytest.mark.parametrize(
    "name", ["gmm auto", "mppca auto", "ddp unknown", "canopy", "hdp"]
)
def test_units_of_rows_drop_out_of_mixtures(
    name: str, scale: float, shift: float
) -> None:
    """Where scales are found in the rows: the same labels and shares of them, and log
    densities that are those of the other unit."""
    subject = MIXTURES[name]
    X, y, new = rows_of(subject)
    free = {"predict": 0, "predict_proba": 6, "transform": 6, "topic_proba": 6}
    per_row = ("score_samples", "log_density", "log_predictive")
    keys = [k for k in subject.questions if k in free or k in per_row]
    keys = [k for k in keys if not (k == "transform" and name == "mppca auto")]
    questions = {k: subject.questions[k] for k in keys}
    plain = those_of(plain_answers(name), questions)
    moved, ahead = scale * (X + shift), scale * (new + shift)
    found = asked(subject.learned(moved, y), ahead, questions)
    for key in per_row:
        if key in found:
            found[key] = found[key] + X.shape[1] * np.log(scale)
    close(plain, found, 5)


@pytest.mark.parametrize("scale", [2.0**-20, 2.0**10])
@pytest.mark.parametrize("given", [None, 0.0, 3.0])
@pytest.mark.parametrize("family", ["unknown", "known", "flow"])
def test_units_drop_out_where_a_column_stands_in_the_first_phases(
    family: str, given: float | None, scale: float
) -> None:
    """In the first two phases the last column has one value, which may be the base's
    mean; the third fixes its unit. Copies and files in between know of it."""
    X, _, new = rows_of(MIXTURES["ddp known"])
    X, new = np.column_stack([X, X[:, 0]]), np.column_stack([new, new[:, 0]])
    X[:60, 3] = 0.0
    unit = np.array([1.0, 1.0, 1.0, scale])
    if family == "known":  # whose steps have one variance along all axes
        unit[:] = scale
    mean = None if given is None else np.array([0.0, 0.0, 0.0, given])
    found = []
    for by in (np.ones(4), unit):
        kinds = {
            "unknown": GaussianUnknown(None if mean is None else mean * by),
            "known": GaussianKnownVariance(by**2, None if mean is None else mean * by),
            "flow": AffineFlow(),
        }
        model = DependentDPMixture(kinds[family], n_sweeps=6, burn_in=2, seed=1)
        model.update(X[:30] * by).update(X[30:60] * by)
        twin = pickle.loads(pickle.dumps(model.copy()))
        for one in (model, twin):
            one.update(X[60:] * by)
        assert model_bytes(model) == model_bytes(twin)
        logs = model.score_samples(new * by) + np.log(by).sum()
        found.append({"p": model.predict_proba(new * by), "log": logs})
    close(found[0], found[1], 6)


# ------------------------------------------------------------ units that come late
@pytest.mark.filterwarnings("ignore::dyntree.errors.DistantInputsWarning")
@pytest.mark.parametrize("name", REAL_TREES)
def test_units_that_come_late_do_not_depend_on_the_cuts(name: str) -> None:
    """Columns of one value, or none, at first; then a small step and large ones."""
    subject = TREES[name]
    X, y, new = rows_of(subject)
    X[:35, 1], X[35, 1], X[40:, 1] = 0.0, 1e-9, 100.0 * X[40:, 1]
    X[:12, 2], X[12:20, 2] = np.nan, 5.0
    y[:15] = 2.0
    whole = subject.learned(X, y)
    if "clouds" in name:  # of which a call of several rows is all or nothing
        parts = subject.learned(X[:36], y[:36]).update(X[36:], y[36:])
    else:
        parts = subject.fresh()
        for k in range(N):
            parts.update(X[k : k + 1], y[k : k + 1])
    assert model_bytes(parts) == model_bytes(whole)
    same(asked(whole, new, subject.questions), asked(parts, new, subject.questions))


@pytest.mark.parametrize("column", ["x", "y"])
def test_what_a_late_unit_cannot_hold_is_refused_before_anything_is_learned(
    column: str,
) -> None:
    X, y = real_rows(np.random.default_rng(8), 40)
    (X[:, 1] if column == "x" else y)[:30] = 3.0
    tree = DynamicTree("linear", n_particles=10, seed=1).update(X[:30], y[:30])
    (X[:, 1] if column == "x" else y)[30:33] = 3.0, 3.0 + 1e-15, 1e140
    with (
        same_bytes(tree),
        pytest.raises(ValueError, match=r"must be at most 1e\+150 spreads"),
    ):
        tree.update(X[30:], y[30:])
