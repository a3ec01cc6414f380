"""Text of the user's stays on its line, can be printed, and is no part of a page."""

from __future__ import annotations

import sys
import unicodedata
import warnings
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dyntree
from dyntree import AveragedTrees, DynamicTree
from dyntree.api.markup import in_html, in_latex
from dyntree.errors import HARMLESS, ManyLevelsWarning, shown, warn

NASTY = [
    "<script>alert(1)</script>",
    "a & b",
    r"\input{x}",
    "\x1b[2Jesc",
    "two\nlines",
    "\u202eturned",
    "c1\x9b31m",
    "_$%#^~{}|",
    "[bracket",
    "para\u2029graph",
]
LATEX_ACTIVE = r"\input{x}", "<script>", "a & b", "_$%#^~"


def is_shown(text: str) -> bool:
    """Whether text can be printed, on the lines that it is meant to have."""
    return not any(
        unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        for char in text.replace("\n", "")
        if char not in HARMLESS
    )


@given(st.text(st.characters(codec=None)))
def test_what_is_shown_is_one_line_that_can_be_printed(text: str) -> None:
    found = shown(text)
    assert is_shown(found)
    assert len(found.splitlines()) <= 1
    found.encode("utf-8")
    assert shown(found) == found
    if text.isprintable():
        assert found == text


@pytest.mark.parametrize(
    "text",
    [
        "größe", "размер", "サイズ", "a\xa0b", "e\u0301",
        "\u062d\u062c\u0645", "\u0645\u06cc\u200c\u062e",  # Arabic, Persian
        "\u0915\u094d\u200d\u0937", "\U0001f469\u200d\U0001f52c",  # Devanagari, emoji
    ],
)  # fmt: skip
def test_letters_and_emoji_stay(text: str) -> None:
    assert shown(text) == text


def test_escapes_are_those_of_python() -> None:
    text = "\x00\t\n\r\x1b\x7f\x85\x9b\xad\u2028\u202e\ufeff\ud800\U000e0041"
    assert shown(text) == (
        r"\x00\t\n\r\x1b\x7f\x85\x9b\xad\u2028\u202e\ufeff\ud800\U000e0041"
    )


class Texts(HTMLParser):
    """Tags of a page, and what its cells say."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.cells: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data


def table_of(names: list[str]) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    data = pd.DataFrame({name: rng.random(30) for name in names})
    data[names[-1]] = rng.choice(NASTY, 30)
    return data


def nasty_results(response: str, is_class: bool = False) -> Any:
    pytest.importorskip("statsmodels", reason="needs statsmodels: dyntree[formula]")
    import dyntree.formula.api as dtf

    names = [name for name in NASTY if "`" not in name]
    data = table_of([*names, "levels\x1b"])
    rng = np.random.default_rng(2)
    y = rng.choice(NASTY[:4], 30) if is_class else rng.random(30)
    exog = data
    endog = pd.Series(y, name=response)
    model = dtf.DynamicTreeModel(
        endog, exog, model="class" if is_class else "constant", n_particles=5, seed=1
    )
    return model.fit(), [*names, response]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("response", NASTY[:6])
@pytest.mark.parametrize("is_class", [False, True])
def test_tables_of_results_are_escaped(response: str, is_class: bool) -> None:
    """A name on a page is text: parsed, it is what is shown of the name."""
    if response in NASTY:
        response = f"y {response}"
    results, names = nasty_results(response, is_class)
    summary = results.summary()
    both = dyntree.api.multi_response.MultiResponseResults({response: results})
    for page in (
        summary.as_html(), summary._repr_html_(), results._repr_html_(),
        both._repr_html_(), *(part.as_html() for part in summary.tables),
    ):  # fmt: skip
        assert Texts(page).tags <= {"table", "caption", "tr", "td", "th", "br"}
        assert is_shown(page)
    cells = [cell.strip() for cell in Texts(summary.as_html()).cells]
    for name in names:
        assert shown(name).strip() in cells
    page = results.model._repr_html_()
    assert Texts(page).tags == {"table", "tr", "th", "td"}
    assert all(shown(name) in "".join(Texts(page).cells) for name in names[:-1])
    for text in (summary.as_latex(), summary.tables[1].as_latex_tabular()):
        assert is_shown(text)
        assert not any(part in text for part in LATEX_ACTIVE)
        assert in_latex(r"\input{x}") in text
    for text in (str(summary), summary.as_text(), summary.as_csv(), repr(results)):
        assert is_shown(text)
    lines = len(summary.as_text().splitlines())
    plain, _ = nasty_results("y", is_class)
    assert lines == len(plain.summary().as_text().splitlines())


@pytest.mark.filterwarnings("ignore")
def test_models_and_fits_are_shown_on_one_line() -> None:
    data = table_of([*NASTY, "levels\x1b"])
    for model in (DynamicTree(n_particles=5), AveragedTrees(n_clouds=2, n_particles=5)):
        model.update(data, np.arange(30.0))
        assert is_shown(repr(model))
        assert len(repr(model).splitlines()) == 1


def test_objects_of_r_are_shown() -> None:
    from dyntree.api import rmirror

    names = [f"x{text}" for text in NASTY]
    X = pd.DataFrame(np.random.default_rng(1).random((20, len(names))), columns=names)
    printed = repr(rmirror.dynaTree(X, X[names[0]], N=5, verb=0))
    assert is_shown(printed)
    assert all(shown(name) in printed for name in names)


def test_a_report_is_escaped() -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: dyntree[plot]")
    from dyntree.api.report import facts_table, page

    made = page(NASTY[0], NASTY[3], {NASTY[4]: facts_table({NASTY[0]: NASTY[1]})})
    assert "script" not in Texts(made).tags
    assert in_html(NASTY[0]) in made
    assert is_shown(made)


@pytest.mark.parametrize("text", NASTY)
def test_warnings_are_one_line(text: str) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warn(ManyLevelsWarning, "column {text} holds text", text=text)
    assert is_shown(str(told[0].message))
    assert len(str(told[0].message).splitlines()) == 1


def test_latex_has_no_command_of_the_users() -> None:
    for char in map(chr, range(sys.maxunicode + 1)):
        if char in r"\{}$&%#_^~":
            assert in_latex(char) != char
    assert in_latex("[a]*") == "{[}a]*"
    assert in_latex("*a") == "{*}a"
    assert in_latex("plain") == "plain"


BAD = "na\x1b\n\u202eme"
DATA = pd.DataFrame(
    {
        BAD: np.linspace(0.0, 1.0, 20),
        f"g{BAD}": [f"u{BAD}", f"v{BAD}"] * 10,
        f"y{BAD}": np.linspace(1.0, 0.0, 20),
    }
)
INPUTS, RESPONSE = DATA.iloc[:, :2], DATA.iloc[:, 2]


def learned(**options: Any) -> DynamicTree:
    return DynamicTree(n_particles=5, **options).update(INPUTS, RESPONSE)


CALLS = {
    "absent": lambda: learned().predict(INPUTS.iloc[:, :1]),
    "unknown": lambda: learned().predict(INPUTS.assign(**{f"z{BAD}": 1})),
    "text": lambda: learned().predict(INPUTS.assign(**{BAD: f"oops{BAD}"})),
    "bytes": lambda: learned().predict([{BAD: b"x", f"g{BAD}": "u"}]),
    "infinite": lambda: learned().predict(INPUTS.assign(**{BAD: np.inf})),
    "level": lambda: learned(new_levels="error").predict(
        INPUTS.assign(**{f"g{BAD}": f"new{BAD}"})
    ),
    "categories": lambda: learned(categories={f"q{BAD}": ["a"]}),
    "option": lambda: DynamicTree(f"model{BAD}"),
    "load": lambda: dyntree.load(f"/nowhere{BAD}"),
    "save": lambda: dyntree.save(learned(), f"/nowhere/none{BAD}/m.dyn"),
    "classes": lambda: DynamicTree("class", classes=[f"a{BAD}"] * 2),
}
FORMULAS = {
    "syntax": f"y ~ np.foo({BAD})",
    "absent": f"y ~ `zz{BAD}`",
    "operator": f"y{BAD} ~ ~",
    "of text": f"`y{BAD}` ~ np.log(`g{BAD}`)",
    "label": f"`g{BAD}` ~ `{BAD}` + offset(`{BAD}`)",
    "offset": f"`y{BAD}` ~ `g{BAD}` + offset(np.log(`{BAD}` - 1))",
    "argument": f"`y{BAD}` ~ bs(`{BAD}`, df=-3)",
    "knots": f"`y{BAD}` ~ bs(`{BAD}`, knots=[99])",
    "degree": f"`y{BAD}` ~ poly(`{BAD}`, 50)",
    "attribute": f"`y{BAD}` ~ I(`{BAD}`.foo)",
    "missing": f"np.log(`y{BAD}` * 0 - 1) ~ `{BAD}`",
    "twice": f"`y{BAD}` + `y{BAD}` ~ .",
    "quote": f"`y{BAD}` ~ `{BAD}",
}


def check_message(error: Exception) -> None:
    assert is_shown(str(error))
    assert len(str(error).splitlines()) == 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
def test_errors_are_one_line(call: str) -> None:
    with pytest.raises((ValueError, OSError)) as caught:
        CALLS[call]()
    check_message(caught.value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FORMULAS)
def test_errors_of_formulas_are_one_line(name: str) -> None:
    pytest.importorskip("formulaic", reason="needs formulaic: dyntree[formula]")
    import dyntree.formula.api as dtf

    with pytest.raises(ValueError) as caught:  # noqa: PT011 (any of them)
        dtf.dynamic_tree(FORMULAS[name], DATA, n_particles=5).fit()
    check_message(caught.value)


@pytest.mark.filterwarnings("ignore")
def test_errors_of_rows_and_responses_are_one_line() -> None:
    pytest.importorskip("formulaic", reason="needs formulaic: dyntree[formula]")
    import dyntree.formula.api as dtf

    fit = dtf.dynamic_tree(f"np.sin(`y{BAD}`) ~ .", DATA, n_particles=5).fit()
    row = {BAD: f"oops{BAD}", f"g{BAD}": "u"}
    for call in (
        lambda: fit.predict(row),
        lambda: fit.predict({f"a{BAD}": 1}),
        lambda: fit.predict(INPUTS, back_transform=True),
        lambda: fit.avg_comparisons([f"zz{BAD}"]),
        lambda: fit.avg_comparisons([BAD], by=f"zz{BAD}"),
    ):
        with pytest.raises(ValueError) as caught:  # noqa: PT011 (any of them)
            call()
        check_message(caught.value)
