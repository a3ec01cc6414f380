"""Bad input to dependent mixtures is named, and leaves a model as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from dyntree import checkpoint
from dyntree.errors import CheckpointError, MixingWarning
from dyntree.mixtures import (
    AffineFlow,
    DependentDPMixture,
    Discount,
    DynamicFiniteMixture,
    GaussianKnownVariance,
    GaussianUnknown,
    Multinomial,
    RandomWalk,
)
from tests.helpers import same_bytes

QUICK: dict[str, Any] = {"n_sweeps": 6, "burn_in": 2}
KNOWN = GaussianKnownVariance(1.0)


@pytest.fixture
def model() -> DependentDPMixture:
    frame = pd.DataFrame(
        np.random.default_rng(1).normal(size=(25, 2)), columns=["x", "v_x"]
    )
    return DependentDPMixture(KNOWN, **QUICK).update(frame)


def test_missing_values_are_named_by_row_and_column(model: DependentDPMixture) -> None:
    frame = pd.DataFrame({"x": np.ones(20), "v_x": np.ones(20)})
    frame.loc[17, "v_x"] = np.nan
    said = (
        "X must be finite; got nan in row 17, column 'v_x'. "
        "Drop or impute such rows first."
    )
    with same_bytes(model), pytest.raises(ValueError, match=said):
        model.update(frame)
    with same_bytes(model), pytest.raises(ValueError, match=said):
        model.predict(frame)
    fresh = DependentDPMixture(KNOWN)
    for given in (frame.to_numpy(), frame.to_numpy().tolist()):
        with pytest.raises(ValueError, match="got nan in row 17, column 1"):
            fresh.update(given)
    assert fresh.feature_names == ()
    rows = [{"x": 1.0, "v_x": 2.0}, {"x": None, "v_x": 2.0}]
    with same_bytes(model), pytest.raises(ValueError, match=r"row 1.*'x'|'x'.*row 1"):
        model.update(rows)


@pytest.mark.parametrize(
    "given",
    [
        [[1.0, np.inf]], [[1.0, 2.0], [3.0]], [[1.0, 1e200]], [[1.0]], [1.0, 2.0],
        [["a", "b"]], 3.0, None,
        pd.DataFrame({"x": [1.0], "other": [2.0]}), [[1.0 + 2.0j, 1.0]],
    ],
)  # fmt: skip
def test_what_are_no_rows_of_the_model_is_refused(
    model: DependentDPMixture, given: Any
) -> None:
    for ask in (model.update, model.predict, model.log_predictive, model.preview):
        with same_bytes(model), pytest.raises(ValueError, match=r"\bX\b|column"):
            ask(given)


OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"survival": 1.5}, r"survival must be in \[0, 1\]; got 1.5"),
    ({"survival": -0.1}, r"survival must be in \[0, 1\]"),
    ({"survival": "long"}, "survival must be a real number"),
    ({"survival": 1.0}, "survival=1 needs innovation"),
    ({"survival": lambda means: 0.5}, "innovation must be given"),
    ({"concentration": 0.0}, "concentration must be > 0; got 0.0"),
    ({"concentration": None}, "concentration must be a real number; got None"),
    ({"innovation": -1.0}, "innovation must be > 0"),
    ({"weights": "paper"}, "weights must be one of 'gamma', 'counts'"),
    ({"sampler": "block"}, "sampler must be one of 'collapsed', 'uncollapsed'"),
    ({"base": "still"}, "base must be one of"),
    ({"n_sweeps": 0}, "n_sweeps must be an int >= 1"),
    ({"n_sweeps": 10, "burn_in": 20}, "burn_in must be < n_sweeps, 10; got 20"),
    ({"burn_in": 60}, "burn_in must be < n_sweeps"),
    ({"burn_in": -1}, "burn_in must be an int >= 0"),
    ({"thin": 0}, "thin must be an int >= 1"),
    ({"weight_memory": 0.0}, r"weight_memory must be in \(0, 1\]"),
    ({"count_memory": 1.1}, r"count_memory must be in \(0, 1\]"),
    ({"history": 0}, "history must be an int >= 1"),
    ({"history_merge": 1}, "history_merge must be True or False"),
    ({"identity_move": None}, "identity_move must be True or False"),
    ({"prune": 1.0}, r"prune must be in \[0, 1\)"),
    ({"max_particles": 0}, "max_particles must be an int >= 1"),
    ({"n_chains": 0}, "n_chains must be an int >= 1"),
    ({"seed": -1}, "seed must be an int >= 0"),
    ({"seed": 2**32}, "seed must be at most"),
    ({"transition": Discount(0.9)}, "transition must be a RandomWalk for Gaussian"),
    ({"transition": 0.1}, "transition must be a RandomWalk"),
    ({"family": "gaussian"}, "family must be one of GaussianKnownVariance"),
    ({"family": GaussianKnownVariance}, "family must be one of"),
]


@pytest.mark.parametrize(("options", "said"), OPTIONS)
def test_options_are_checked(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        DependentDPMixture(**{"family": KNOWN} | options)


def test_one_is_a_survival_where_innovation_is_given() -> None:
    model = DependentDPMixture(KNOWN, survival=1.0, innovation=0.1, **QUICK)
    model.update([[0.0], [1.0]]).update([[0.0]])
    assert model.particles().alive.tolist() == [1.0] * len(model.particles())


FAMILIES: list[tuple[Callable[[], Any], str]] = [
    (lambda: GaussianKnownVariance(0.0), "variance must be finite and > 0"),
    (lambda: GaussianKnownVariance(None), "variance must be > 0; got None"),
    (lambda: GaussianKnownVariance(np.ones((2, 2))), "positive definite"),
    (lambda: GaussianKnownVariance(np.ones((2, 3))), "variance must be"),
    (lambda: GaussianKnownVariance("a"), "variance must be rectangular and of numbers"),
    (lambda: GaussianKnownVariance(1.0, base_variance=-1.0), "base_variance must be"),
    (lambda: GaussianUnknown(kappa=0.0), "kappa must be > 0"),
    (lambda: GaussianUnknown(df=-1.0), "df must be > 0"),
    (lambda: GaussianUnknown(scale=0.0), "scale must be finite and > 0"),
    (lambda: AffineFlow(location=KNOWN), "location must be a GaussianUnknown"),  # type: ignore[arg-type]
    (lambda: AffineFlow(slope_precision=0.0), "slope_precision must be > 0"),
    (lambda: AffineFlow(velocity_scale=-1.0), "velocity_scale must be"),
    (lambda: Multinomial(0.0), "beta must be finite and > 0"),
    (lambda: Multinomial([0.1, np.nan]), "beta must be finite and > 0"),
    (lambda: RandomWalk(-1.0), "variance must be >= 0"),
    (lambda: RandomWalk(1.0, 0.0), r"reversion must be in \(0, 1\]"),
    (lambda: Discount(0.0), r"delta must be in \(0, 1\]"),
    (lambda: Discount(0.9, -1.0), "walk must be >= 0"),
]


@pytest.mark.parametrize(("make", "said"), FAMILIES)
def test_families_and_transitions_are_checked(
    make: Callable[[], Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        make()


LATE: list[tuple[Any, Any, str]] = [
    (GaussianKnownVariance([1.0, 2.0, 3.0]), np.ones((3, 2)), "variance must be"),
    (GaussianKnownVariance([[2, 1], [1, 2]], base_variance=[1, 2]), np.ones((3, 2)),
     "base_variance must be one number"),
    (GaussianKnownVariance(1.0, base_mean=[0.0, 1.0, 2.0]), np.ones((3, 2)),
     "base_mean must be"),
    (GaussianUnknown(df=0.5), np.ones((3, 2)), "df must be > n_columns - 1"),
    (GaussianKnownVariance(1e-9), [[1.0, 1e149]], "X must be at most 1e.140 standard"),
    (AffineFlow(), np.ones((3, 3)), "X must have an even number of columns"),
    (Multinomial(), [[1.0, 0.5]], "X must hold whole numbers .* row 0, column 'x1'"),
    (Multinomial(), [[1.0, 2.0], [0.0, -1.0]], "got -1 in row 1, column 'x1'"),
    (Multinomial([0.1, 0.1]), [[1.0, 2.0, 3.0]], "beta must be"),
]  # fmt: skip


@pytest.mark.parametrize(("family", "rows", "said"), LATE)
def test_families_are_checked_against_the_first_rows(
    family: Any, rows: Any, said: str
) -> None:
    for model in (DependentDPMixture(family), DynamicFiniteMixture(2, family)):
        with pytest.raises(ValueError, match=said):
            model.update(rows)
        assert model.n_phases == 0
        assert not getattr(model, "n_seen", 0)
        assert model._encoded([])[0] is None  # no columns are known


def test_a_survival_that_is_no_probability_is_refused() -> None:
    answers: list[Any] = [1.0, 2.0]
    model = DependentDPMixture(
        KNOWN, survival=lambda means: answers[0] * np.ones(len(means)), innovation=0.1,
        **QUICK,
    )  # fmt: skip
    model.update([[0.0], [1.0]])
    answers[0] = 2.0
    n, ids = model.n_seen, model.particles().id
    with pytest.raises(
        ValueError, match=r"survival must give a probability in \[0, 1\]"
    ):
        model.update([[0.0]])
    answers[0] = np.array([[1.0]])
    with pytest.raises(ValueError, match="survival must give"):
        model.update([[0.0]])
    assert (model.n_seen, model.particles().id.tolist()) == (n, ids.tolist())


PHASES: list[tuple[Any, str]] = [
    ("month", "phases must name a column of X"),
    ([1, 2], "phases must hold a label for each of the 3 rows"),
    ([1, None, 2], "phases must not be missing; got None in row 1"),
    ([1.0, np.nan, 2.0], "phases must not be missing"),
    ([1, "a", 2], "phases must be labels that can be sorted"),
    (5, "phases must hold a label"),
]


@pytest.mark.parametrize(("phases", "said"), PHASES)
def test_phases_are_checked(model: DependentDPMixture, phases: Any, said: str) -> None:
    frame = pd.DataFrame(np.ones((3, 2)), columns=["x", "v_x"])
    with same_bytes(model), pytest.raises(ValueError, match=said):
        model.update(frame, phases=phases)
    with (
        same_bytes(model),
        pytest.raises(ValueError, match="phases must name a column"),
    ):
        model.update(np.ones((3, 2)), phases="x")


def test_a_column_tells_phases_apart(model: DependentDPMixture) -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(30, 2)), columns=["x", "v_x"])
    months = np.tile(["2024-02", "2024-01", "2024-03"], 10)
    whole = model.copy().update(frame.assign(month=months), phases="month")
    apart, of_labels = model.copy(), model.copy()
    for month in ("2024-01", "2024-02", "2024-03"):
        apart.update(frame[months == month].assign(month=month), phases="month")
        of_labels.update(frame[months == month])
    dates = pd.to_datetime(months)
    assert checkpoint.dumps(whole) == checkpoint.dumps(apart)
    assert checkpoint.dumps(model.copy().update(frame, phases=dates)) == (
        checkpoint.dumps(of_labels)
    )
    named = pd.Categorical(
        pd.Series(months).map({"2024-01": "Jan", "2024-02": "Feb", "2024-03": "Mar"}),
        categories=["Jan", "Feb", "Mar"], ordered=True,
    )  # fmt: skip
    in_order = model.copy().update(frame.assign(month=named), phases="month")
    assert checkpoint.dumps(in_order) == checkpoint.dumps(apart)
    encoded, _ = model.preview(frame)
    assert checkpoint.dumps(model.copy().update(encoded, phases=months)) == (
        checkpoint.dumps(of_labels)
    )
    one = {"x": 1.0, "v_x": 2.0, "month": "2024-04"}
    assert model.copy().update(one, phases="month").n_phases == model.n_phases + 1
    with pytest.raises(ValueError, match="phases must not be missing"):
        model.update(frame[:2], phases=pd.Categorical(["Jan", None]))
    rows = frame.assign(month=months).to_dict("records")
    assert checkpoint.dumps(model.copy().update(rows, phases="month")) == (
        checkpoint.dumps(apart)
    )


def test_a_category_between_two_is_a_phase_without_rows(
    model: DependentDPMixture,
) -> None:
    frame = pd.DataFrame(
        np.random.default_rng(3).normal(size=(12, 2)), columns=["x", "v_x"]
    )
    years = pd.Categorical(np.repeat([2021, 2023], 6), categories=range(2019, 2026))
    named = model.copy().update(frame.assign(year=years), phases="year")
    apart = model.copy().update(frame[:6].assign(year=2021), phases="year")
    apart.update(frame[:0])
    apart.update(frame[6:].assign(year=2023), phases="year")
    assert named.n_phases == model.n_phases + 3
    assert checkpoint.dumps(named) == checkpoint.dumps(apart)


QUESTIONS: list[tuple[Callable[[DependentDPMixture], Any], str]] = [
    (lambda m: m.labels(1), "phase must be one whose labels are stored, 0 to 0; got 1"),
    (lambda m: m.labels(-2), "phase must be one whose labels are stored"),
    (lambda m: m.labels("a"), "phase must be an int"),  # type: ignore[arg-type]
    (lambda m: m.labels(True), "phase must be an int"),
    (lambda m: m.trajectory(99), "id must be of a particle"),
    (lambda m: m.trajectory(-1), "id must be an int >= 0"),
    (lambda m: m.trajectory(0, smooth=3), "smooth must be True or False"),  # type: ignore[arg-type]
    (lambda m: m.sample(-1), "n_samples must be an int >= 0"),
    (lambda m: m.sample(1, seed="a"), "seed must be"),  # type: ignore[arg-type]
    (lambda m: m.forecast(0), "steps must be an int >= 1"),
    (lambda m: m.log_predictive([[0.0, 0.0]], ahead=-1), "ahead must be an int >= 0"),
    (
        lambda m: m.calibrate([np.ones((2, 2))], {"survival": [0.9]}),
        "phases must be two",
    ),
    (lambda m: m.calibrate([1, 2], {}), "grid must be a dict"),
    (lambda m: m.calibrate([1, 2], {"sweeps": [1]}), "grid must name options"),
    (lambda m: m.calibrate([1, 2], {"survival": [2.0]}), "survival must be in"),
    (lambda m: m.reseeded(1), "only before its first row"),
    (lambda m: m.update([[0.0, 1.0]], progress="x"), "progress must be"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("ask", "said"), QUESTIONS)
def test_questions_are_checked(
    model: DependentDPMixture, ask: Callable[[DependentDPMixture], Any], said: str
) -> None:
    with same_bytes(model), pytest.raises(ValueError, match=said):
        ask(model)


def test_more_particles_than_allowed_are_warned_of() -> None:
    X = 100.0 * np.random.default_rng(1).normal(size=(30, 2))
    model = DependentDPMixture(KNOWN, max_particles=4, concentration=5.0, **QUICK)
    with pytest.warns(MixingWarning, match="max_particles=4 prevented rows"):
        model.update(X)
    assert len(model.particles()) <= 4
    assert model.diagnostics().was_full


def test_votes_that_do_not_agree_are_warned_of() -> None:
    """A variance so large that rows tell nothing of where they belong."""
    X = np.random.default_rng(1).normal(size=(40, 2))
    family = GaussianKnownVariance(1e4, base_mean=0.0, base_variance=1.0)
    model = DependentDPMixture(family, concentration=50.0)
    with pytest.warns(MixingWarning, match="votes agree"):
        model.update(X)


@pytest.mark.filterwarnings("ignore:only .* of the votes agree")
def test_identities_that_change_at_will_are_warned_of() -> None:
    """Particles that are drawn anew each phase cannot be told from those before."""
    rng = np.random.default_rng(1)
    family = GaussianKnownVariance(1.0, base_mean=0.0, base_variance=1.0)
    model = DependentDPMixture(
        family, transition=RandomWalk(1.0, 1e-6), survival=0.5, concentration=0.3,
        weight_memory=0.02,
    )  # fmt: skip
    model.update(rng.normal(size=(25, 2)) + rng.normal(size=2))
    rows = rng.normal(size=(25, 2)) + rng.normal(size=2)
    with pytest.warns(MixingWarning, match="changes of identity were accepted"):
        model.update(rows)


@pytest.mark.filterwarnings("error::dyntree.errors.MixingWarning")
def test_a_warning_that_is_made_an_error_leaves_the_model_as_it_was() -> None:
    X = 100.0 * np.random.default_rng(1).normal(size=(30, 2))
    model = DependentDPMixture(KNOWN, max_particles=4, concentration=5.0, **QUICK)
    with same_bytes(model), pytest.raises(MixingWarning, match="max_particles=4"):
        model.update(X)


def test_sparse_rows_are_refused_by_name() -> None:
    X: Any = csr_array(np.ones((4, 3)))
    for model in (
        DependentDPMixture(Multinomial(), **QUICK),
        DynamicFiniteMixture(2, Multinomial(), **QUICK),
    ):
        for phases in (None, [1, 1, 2, 2]):
            with pytest.raises(ValueError, match=r"X must be dense.*X.toarray\(\)"):
                model.update(X, phases=phases)
        model.update(X.toarray())
        with pytest.raises(ValueError, match="X must be dense"):
            model.predict(X)


# ---------------------------------------------------------------- files
def broken(model: DependentDPMixture) -> list[tuple[str, Any]]:
    """Names of arrays or header entries, and values that do not fit."""
    header, arrays = model.to_arrays()
    return [
        ("particles_id", arrays["particles_id"][::-1] * 0),
        ("particles_m", -arrays["particles_m"]),
        ("particles_E", arrays["particles_E"] * np.nan),
        ("particles_alive", arrays["particles_alive"] + 1.0),
        ("particles_row", -arrays["particles_row"] - 1.0),
        ("particles_row", arrays["particles_row"][:, 1:]),
        ("particles_born", arrays["particles_born"] + 9),
        ("particles_gone", arrays["particles_gone"] + 2),
        ("history_owner", arrays["history_owner"] + 99),
        ("history_sums", arrays["history_sums"] * 0.0),
        ("mass", arrays["mass"] * 0.0),
        ("age", arrays["age"] - 1),
        ("u", arrays["u"] - 1e9),
        ("counts", arrays["counts"] + 99),
        ("aliases", np.array([[0, 0]])),
        ("n_labels", arrays["n_labels"] + 1),
        ("labels", arrays["labels"] + 99),
        ("n_rows", 3), ("n_phases", -1), ("next_id", 0), ("seed", -1),
        ("family", header["options"]["family"] | {"variance": -1.0}),
        ("family", {"family": "Multinomial", "beta": [0.1, 0.1]}),
        ("options", header["options"] | {"survival": 3.0}),
        ("options", {}), ("features", None), ("diagnostics", {}),
        ("n_phases", 2**40), ("n_phases", 2**70), ("next_id", 2**70), ("n_rows", 2**70),
        ("history_sums", arrays["history_sums"] * 1e300),
        ("history_phase", arrays["history_phase"][::-1].copy()),
        ("particles_seen", arrays["particles_seen"] * 0),
        ("particles_m", arrays["particles_m"] * 1e300),
        ("mass", arrays["mass"] * 1e300),
    ]  # fmt: skip


@pytest.mark.parametrize("number", range(36))
def test_arrays_that_are_no_model_are_refused(
    model: DependentDPMixture, number: int
) -> None:
    model.update(np.random.default_rng(2).normal(size=(9, 2)) + 9.0)
    name, value = broken(model)[number]
    header, arrays = model.to_arrays()
    if name in arrays:
        arrays[name] = value
    else:
        header[name] = value
    with pytest.raises((ValueError, LookupError, TypeError)):
        DependentDPMixture.from_arrays(header, arrays)


def test_a_cohort_older_than_any_can_be_is_refused() -> None:
    """With a base that moves, each of its phases would be a prior row."""
    model = DependentDPMixture(KNOWN, base="moved", **QUICK).update([[0.0], [1.0]])
    for _ in range(3):
        model.update(np.empty((0, 1)))
    header, arrays = model.to_arrays()
    assert DependentDPMixture.from_arrays(header, arrays).n_phases == 4
    header["n_phases"] = 2**40
    arrays["age"][0] = 2**40
    for name in ("particles_born", "particles_seen", "particles_first_phase"):
        arrays[name] += 2**40 - 4
    arrays["history_phase"] += 2**40 - 4
    arrays["n_labels"] = np.array([2] + 49 * [0])
    with pytest.raises(ValueError, match="age has values"):
        DependentDPMixture.from_arrays(header, arrays)


def test_a_cohort_may_outlive_all_those_after_it() -> None:
    """Of a mass so large that it takes longer to fade."""
    model = DependentDPMixture(
        KNOWN, concentration=1e300, innovation=1e-300, survival=0.1, **QUICK
    ).update([[0.0], [1.0]])
    for _ in range(500):
        model.update(np.empty((0, 1)))
    age = model.to_arrays()[1]["age"]
    assert age.max() > 50 * len(age)
    checkpoint.loads(checkpoint.dumps(model))


def test_a_broken_file_is_named(model: DependentDPMixture) -> None:
    data = checkpoint.dumps(model)
    with pytest.raises(CheckpointError):
        checkpoint.loads(data[: len(data) // 2])


def test_an_interrupt_leaves_complete_phases(model: DependentDPMixture) -> None:
    """As Ctrl-C would, where it comes in the midst of a phase."""
    before = checkpoint.dumps(model)
    calls = []

    def interrupt(done: int, total: int) -> None:
        calls.append(done)
        if done > 30:
            raise KeyboardInterrupt

    X = np.random.default_rng(3).normal(size=(60, 2))
    twin = checkpoint.loads(before)
    with pytest.raises(KeyboardInterrupt):
        model.update(X, phases=np.repeat([0, 1], 30), progress=interrupt)
    assert max(calls) < 60
    twin.update(X[:30])
    assert checkpoint.dumps(model) == checkpoint.dumps(twin)


@pytest.mark.parametrize("form", ["frame", "dicts", "one"])
def test_the_column_of_phases_is_no_column_of_the_model(form: str) -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(30, 2)), columns=["x", "z"])
    month = np.tile(["2024-02", "2024-01", "2024-03"], 10)
    model = DependentDPMixture(GaussianUnknown(), n_sweeps=9, burn_in=3)
    model.update(frame.assign(month=month), phases="month")
    bare = frame[["z", "x"]].head(1 if form == "one" else 30)
    full = bare.assign(month="2024-04")
    asked: dict[str, Any] = {
        "frame": full, "dicts": full.to_dict("records"),
        "one": full.to_dict("records")[0],
    }  # fmt: skip
    for known in (model, checkpoint.loads(checkpoint.dumps(model)), model.copy()):
        assert (known.predict(asked[form]) == model.predict(bare)).all()
        for ask in (known.predict_proba, known.log_predictive, known.score_samples):
            assert (ask(asked[form]) == ask(bare)).all()
    with same_bytes(model), pytest.raises(ValueError, match="month"):
        model.update(asked[form])


@pytest.mark.parametrize("n_sweeps", [1, 2, 20, 60])
def test_a_third_of_any_number_of_sweeps_does_not_vote(n_sweeps: int) -> None:
    model = DependentDPMixture(GaussianKnownVariance(1.0), n_sweeps=n_sweeps)
    assert model.options.burn_in == n_sweeps // 3
