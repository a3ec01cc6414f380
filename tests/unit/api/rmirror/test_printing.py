"""What the mirror prints: R's words with verb > 0, and R's print of an object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dyntree.api import rmirror as r
from dyntree.api.rmirror import printing
from tests.conftest import GOLDEN
from tests.unit.api.rmirror.fits import X, Y, fit

# printing


def printed(capsys: pytest.CaptureFixture[str], call: Callable[[], Any]) -> list[str]:
    capsys.readouterr()
    call()
    return capsys.readouterr().out.split("\n")[:-1]


def test_silent_calls_print_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    def calls() -> None:
        for obj in (fit(), fit("linear", icept="augmented"), fit("class")):
            obj = r.update(obj, X[:3], obj.y[:3], 0)
            obj = r.retire(obj, [1, 2])
            obj = r.rejuvenate(obj, verb=0)
            r.predict(obj, X)
            r.relevance(obj)
            r.sens(obj, nns=10, nME=3)
        r.dynaTrees(X, Y, 5, 2, XX=X, varstats=True, verb=0, pverb=0)
        r.alcX(fit())

    assert printed(capsys, calls) == []


def test_fit_prints_what_r_prints(capsys: pytest.CaptureFixture[str]) -> None:
    # recorded from R: dynaTree(X, y, N=10) after set.seed(1), verb left at its default
    assert printed(capsys, lambda: r.dynaTree(X, Y, N=10, seed=1)) == [
        "t=8, np=10, v(w)=3.46945e-18, avg: depth=1, leaves=1, size=7",
        "t=12, np=7, v(w)=0.00166853, avg: depth=2, leaves=2, size=5.5",
        "t=16, np=6, v(w)=0.0172563, avg: depth=2.9, leaves=2.9, size=5.25",
        "t=20, np=10, v(w)=0.000751145, avg: depth=2.9, leaves=3.5, size=5.7",
        "t=24, np=7, v(w)=0.00258502, avg: depth=3, leaves=3.4, size=6.9",
        "t=28, np=8, v(w)=0.000688027, avg: depth=3.6, leaves=4.9, size=5.67",
        "t=32, np=10, v(w)=0.000385189, avg: depth=4, leaves=5.5, size=5.68333",
        "t=36, np=10, v(w)=5.20417e-18, avg: depth=4, leaves=6.4, size=5.53333",
        "t=40, np=8, v(w)=0.000545142, avg: depth=5, leaves=7.5, size=5.22321",
    ]


def test_updates_and_rejuvenation_print_what_r_prints(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # recorded from R, in this order, after set.seed(1) and a silent fit with N=10
    obj = fit()
    assert printed(capsys, lambda: r.update(obj, X[:15] + 0.01, Y[:15], 4)) == [
        "updating with 15 new (x,y) pairs",
        "t=44, np=10, v(w)=3.46945e-18, avg: depth=4.9, leaves=7.7, size=5.60536",
        "t=48, np=10, v(w)=3.46945e-18, avg: depth=5, leaves=8.8, size=5.35278",
        "t=52, np=8, v(w)=0.000440055, avg: depth=5, leaves=10.6, size=4.82182",
    ]
    obj = r.retire(r.update(fit(), X[:15] + 0.01, Y[:15], 0), [1, 2, 3, 4, 5])
    assert printed(capsys, lambda: r.update(obj, X[:8] + 0.02, Y[:8], 4)) == [
        "updating with 8 new (x,y) pairs",
        "t=56[51], np=9, v(w)=0.00110953, avg: depth=5, leaves=9.9, "
        "size=5.06566(0.506566)",
        "t=60[55], np=10, v(w)=3.46945e-18, avg: depth=5, leaves=9.7, "
        "size=5.58(0.516667)",
    ]
    obj = r.retire(r.update(fit(), X[:15] + 0.01, Y[:15], 0), [1, 2, 3, 4, 5])
    obj = r.update(obj, X[:8] + 0.02, Y[:8], 0)
    assert printed(capsys, lambda: r.rejuvenate(obj, verb=20)) == [
        "rejuvenating",
        "t=20[15], np=10, v(w)=0.000624753, avg: depth=2.9, leaves=2.9, size=4.9(0)",
        "t=40[35], np=10, v(w)=0.000359074, avg: depth=3.9, leaves=5.9, "
        "size=5.93381(0)",
        "t=60[55], np=6, v(w)=0.00788789, avg: depth=5, leaves=9.6, size=5.64(0)",
        "now 20 particles",
    ]


def test_verb_may_be_a_truth_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(printed(capsys, lambda: fit(verb=True))) == 36
    assert printed(capsys, lambda: fit(verb=False)) == []


def test_retire_prints_what_r_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, lambda: r.retire(fit("class"), [3, 2, 3, 40], verb=1)) == [
        "Retiring 3 observations: 2 1 39 ",
        "removing y=1 and X=0.0990099 0.543689 ",
        "removing y=0 and X=0.732673 0.0291262 ",
        "removing y=2 and X=0.653465 0.582524 ",
    ]
    augmented = fit("linear", icept="augmented")
    assert printed(capsys, lambda: r.retire(augmented, 1, verb=1)) == [
        "Retiring 1 observations: 0 ",
        "removing y=8.86058 and X=1 0.366337 0.514563 ",
    ]
    assert printed(capsys, lambda: r.retire(fit(), [], verb=1)) == [
        "Retiring 0 observations: "
    ]


def test_queries_print_what_r_prints(capsys: pytest.CaptureFixture[str]) -> None:
    told = [f"prediction {i} of 10 done" for i in (4, 8)]
    plain, binary = fit(), fit_binary()
    Xb = binary.X
    none, third = "categorical inputs:  ", "categorical inputs: 3 "
    for call, expected in (
        (lambda: r.predict(plain, X, verb=4), told),
        (lambda: r.coef(fit("linear"), X, verb=4), told),
        (lambda: r.alc(plain, X, verb=4), [none, *told]),
        (lambda: r.alc(plain, X, Xref=X, verb=4), told),
        (lambda: r.alcX(plain, verb=4), [none, *told]),
        (lambda: r.alc(binary, Xb, verb=4), [third, *told]),
        (lambda: r.ieci(plain, X, verb=4), told),
        (lambda: r.qEI(plain, X, verb=4), told),
        (lambda: r.qEntropy(plain, X, verb=4), told),
        (lambda: r.entropyX(fit("class"), verb=4), told),
        (lambda: r.classprobs(fit("class"), 1, X, verb=4), told),
        (
            lambda: r.relevance(plain, verb=4),
            [t.replace("prediction", "relevance") for t in told],
        ),
        (
            lambda: r.sens(binary, nns=9, nME=3, verb=4),
            [third, "regression sensitivity analysis:", *told],
        ),
        (
            lambda: r.sens(fit("class"), cls=[1, 3], nns=9, nME=3, verb=4),
            [
                "class 1 sensitivity analysis:",
                *told,
                "class 3 sensitivity analysis:",
                *told,
            ],
        ),
    ):
        assert printed(capsys, call) == expected


def test_repeats_print_what_r_prints(capsys: pytest.CaptureFixture[str]) -> None:
    def call() -> None:
        r.dynaTrees(X, Y, 10, 2, XX=X[:3], varstats=True, verb=50, pverb=6, seed=1)

    done = ["prediction 6 of 10 done", "relevance 6 of 10 done"]
    assert printed(capsys, call) == ["", "round 1:", *done, "", "round 2:", *done, ""]


def fit_binary() -> r.DynaTree:
    Xb = np.column_stack([X, np.arange(1, 41) % 2])
    return r.dynaTree(Xb, Y, 10, verb=0, seed=1)


def test_print_shows_what_r_shows() -> None:
    # recorded from R, after num and time were set to 1 and 0.25
    recorded = (GOLDEN / "printed_object.txt").read_text()
    obj = r.dynaTree(X[:9], Y[:9], 3, verb=0, seed=2)
    obj = r.predict(obj.extended({"num": 1, "time": 0.25}), X[:2])
    obj = r.sens(obj, nns=8, nME=3)
    assert f"{obj}\n" == recorded


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        # each line as R 4.2.2 prints it
        ([1e10, 1.0, np.inf, 1e-5], "[1] 1e+10 1e+00   Inf 1e-05"),
        ([1234567.8, 0.1], "[1] 1234567.8       0.1"),
        ([1e5, 1e-15], "[1] 1e+05 1e-15"),
        ([100000.0], "[1] 1e+05"),
        ([123456789.0], "[1] 123456789"),
        ([1e-300], "[1] 1e-300"),
        ([0.1 + 0.2], "[1] 0.3"),
        ([1.5, np.nan, -np.inf], "[1]  1.5  NaN -Inf"),
        ([22.0000001], "[1] 22"),
        ([99999.5, 1e-4], "[1] 99999.5000     0.0001"),
        ([True, False], "[1]  TRUE FALSE"),
        ([[1e10, -3.5]], "      [,1] [,2]\n[1,] 1e+10 -3.5"),
        ([], "numeric(0)"),
        (None, "NULL"),
        ("linear", '[1] "linear"'),
    ],
)
def test_values_are_formatted_as_r_formats_them(values: Any, shown: str) -> None:
    value = values if values is None or isinstance(values, str) else np.array(values)
    text = printing.format_object({"v": value}, {})
    assert text == f'$v\n{shown}\n\nattr(,"class")\n[1] "dynaTree"'


def test_wide_matrices_wrap_and_long_vectors_are_cut() -> None:
    text = printing.format_object({"v": np.full((2, 12), 1.25e-7)}, {})
    assert max(map(len, text.split("\n"))) <= 80
    assert text.count("[2,]") == 2
    text = printing.format_object({"v": np.zeros(100_010)}, {})
    assert ' [ reached getOption("max.print") -- omitted 11 entries ]' in text
    text = printing.format_object({"v": np.zeros((60_000, 2))}, {})
    assert "omitted 10001 rows" in text
    named = printing.format_object({"v": np.array([0.001, 1.25])}, {"v": ("a", "bb")})
    assert named.split("\n")[1:3] == ["    a    bb ", "0.001 1.250 "]
