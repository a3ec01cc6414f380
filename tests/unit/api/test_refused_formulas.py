"""One table of formulas, and of options beside them, that are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("formulaic", reason="formulaic is not installed: dyntree[formula]")

import dyntree.formula.api as dtf

N = 30
OF = {
    "x": np.linspace(-1.0, 1.0, N),
    "z": np.linspace(0.5, 1.5, N),
    "c": 1.0,
    "c1": 1.0,
}
DATA = pd.DataFrame(OF | {1: 1.0, "a b": 1.0, "column_0": 1.0}).assign(
    y=lambda data: np.sin(data["x"]), w=2.0, g=["p", "q"] * (N // 2), kind="up"
)
WEIGHTS = np.array([1.0, 2.0])
NO_OTHER = ("formula must", "columns of the formula")  # what quotes touch is none

# A formula, options beside it, and what the message says: all of it, or some part.
CASES: list[tuple[Any, dict[str, Any], str | tuple[str, ...]]] = [
    (text, {}, said) for text, said in [
        ("y", "must be like 'y ~ a"), ("~ x", "must be like"), ("y ~", "must be like"),
        (3, "must be text"), ("y ~ x +", "that formulaic can read"),
        ("y ~ x ~ z", "that formulaic can read"), ("y ~ x | z", "no '|'"),
        ("y ~ open('f').read()", "formula must be one that formulaic can read"),
        ("y ~ __import__('os').system('ls')", "must be one that formulaic can read"),
        ("y ~ 1", "one input at least"), ("y ~ 0", "one input"),
        ("2 ~ x", "a response"),
        ("y ~ y + x", "the response as an input"),
        ("y ~ x + y:z", "the response as an input"),
        ("I(y + z) ~ x + z", "the response as"),
        ("y ~ te(x, 2)", "must be made of"), ("y ~ lag(x)", "must be made of"),
        ("y ~ exec('x = 1')", "got exec in"),
        ("y ~ . - bb", "['bb'] are absent from"),
        ("y ~ a b", "A name with blanks is written Q('a b')."),
        # columns have their own names
        ("y ~ `1` %in% c", "between `1` and `in`"),
        ("y ~ np.log(`a b`.foo)", "`a b` needs an operator before and after it"),
        ("y ~ I(`a b` if 1 else 2)", "got `a b` if 1 else 2 in I("),
        ("y ~ np.log(`a b`[0])", "got `a b`[0] in np.log("),
        ("log(`a b`, 2) ~ c", "got log(`a b`, 2)."),
        ("y ~ I(column_0 + `a b`.x)", "`a b` needs an operator before and after it"),
        *[(text, NO_OTHER) for text in (
            "y ~ `c`1 + `1`", "y ~ c`1`", "y ~ c.`1`", "y ~ `c`.x", "y ~ `c``1`",
            "c`1` ~ y")],
        # comparisons of more than columns need I, and a response is one column
        *[(text, "I(...)") for text in (
            "y ~ x**2 > 3", "y ~ (x + z) > 3", "y ~ x > 3**2", "y ~ x >", "y ~ > 3")],
        *[(f"{left} ~ x", "a response of one column") for left in (
            "poly(y, 2)", "bs(y, df=4)", "C(y > 0)", "C(g, Sum)",
            "C(g, levels=['a'])")],
        # several responses
        ("y + y ~ x", "responses that differ"),
        *[(f"y + kind ~ x + {term}", ("use a response", "use the response"))
          for term in ("kind", "np.log(y)")],
        ("y + 1 ~ x", "reads as several"), ("y - z ~ x", "reads as several"),
        ("y + nowhere ~ x", "nowhere"),
    ]
] + [
    ("y ~ x", options, said) for options, said in [
        ({"missing": "keep"}, "missing must be one of"),
        ({"new_levels": "keep"}, "new_levels must be one of"),
        ({"categories": {"v": ["u"]}}, "categories must name"),
        ({"drift": True}, "drift is an option of one window only"),
        ({"forget": 0.9}, "forget is an option of one window only"),
        ({"model": "tree"}, "model must be one of"), ({"seed": -1}, "seed must be"),
        ({"window": 0}, "window must be"), ({"n_particles": 0}, "n_particles must be"),
        ({"model": "class", "discard": "alc", "window": 9}, ("discard", "alc")),
        ({"weights": "w", "freq_weights": "w"}, "must not both be given"),
        ({"weights": "v"}, "name a column of the data, one of ["),
        ({"weights": WEIGHTS}, "one value a row of X, 30; got 2"),
        ({"freq_weights": -1.0}, "freq_weights must be finite and >= 0"),
        ({"weights": 0.0}, "must not be zero in all rows"),
        ({"weights": "g"}, "weights must be numbers"),
    ]
] + [("g ~ x", {"weights": "w"}, "labels have none; give freq_weights")]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {[*case[1]]}")
def test_what_cannot_be_is_refused_when_the_model_is_made(case: Any) -> None:
    formula, options, said = case
    with pytest.raises(ValueError) as caught:  # noqa: PT011 # the text is asked
        dtf.dynamic_tree(formula, DATA, **{"n_particles": 5, "seed": 1} | options)
    message = str(caught.value)
    assert any(part in message for part in ([said] if isinstance(said, str) else said))
