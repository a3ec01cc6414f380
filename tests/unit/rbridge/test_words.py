"""What Python says of R's arguments, as R's users read it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dyntree.api import rmirror
from dyntree.encoding.values import declared
from dyntree.errors import ArgumentError, Message, in_words
from rbridge.guest_mixtures import FACES as MIXTURES
from rbridge.guest_trees import FACES as TREES
from rbridge.words import MIRROR, RWords


@pytest.mark.parametrize("rules", ["r", "native"])
def test_missing_values_name_the_rules_that_take_them(rules: str) -> None:
    X = np.array([[1.0], [np.nan if rules == "r" else np.inf]])
    with pytest.raises(ValueError, match="finite") as caught:
        rmirror.dynaTree(X, [1.0, 2.0], N=2, verb=0)
    said = in_words(caught.value, RWords(MIRROR))
    assert said != str(caught.value)
    assert not re.search(r"NaN|R's dynaTree", said)


@pytest.mark.parametrize(
    ("face", "error", "said"),
    [
        (
            "dyntree_stream",
            ArgumentError(
                "first_split", "must be below the number of columns, {n_features}", 4,
                n_features=3,
            ),
            "first_split must be at most the number of columns, 3; got 5.",
        ),
        (
            "hdp_topics",
            ValueError(Message("documents[{document}] has none.", document=2)),
            "row \x013\x02 of x has none.",
        ),
        (
            "hdp_topics", ArgumentError("documents[4]", "must be"),
            "row \x015\x02 of x must be.",
        ),
        (
            "ddp_mixture",
            ArgumentError("family", "must be a GaussianUnknown or Multinomial(0.5)"),
            'family must be "gaussian" or list("multinomial", 0.5).',
        ),
        ("canopy_mixture", ArgumentError("weights", "must be"), "mixing must be."),
        (
            "dyntree_stream",
            ValueError(
                Message(
                    "Call update with {more} first, or classes=(...), exposure=...",
                    more="9 rows",
                )
            ),
            "Call update() with 9 rows first, or classes = c(...), exposure = ...",
        ),
        (
            "dyntree_average",
            ArgumentError("tree_prior of member 1", "must be a pair"),
            "members[[2]]$tree_prior must be a pair.",
        ),
    ],
)  # fmt: skip
def test_a_face_has_words_of_its_own(face: str, error: Exception, said: str) -> None:
    assert in_words(error, (TREES | MIXTURES)[face].words_for("x")) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (["a", "b"], 'c("a", "b")'),
        ([1, 2.5], "c(1, 2.5)"),
        ([True, False], "c(TRUE, FALSE)"),
        (["a"], '"a"'),
        ([], "list()"),
        ([1, "a"], 'list(1, "a")'),
        ([True, 1], "list(TRUE, 1)"),
        ([None, 1], "list(NULL, 1)"),
        ([[1, 2], ["a"]], 'list(c(1, 2), "a")'),
        ([{"window": 5}], "list(list(window = 5))"),
        ({"my site": ["u"], "in": None}, 'list(`my site` = "u", `in` = NULL)'),
        ({".1": 1, "größe": 2, "a`b": 3}, "list(`.1` = 1, größe = 2, `a\\`b` = 3)"),
        ('say "hi"\\n', '"say \\"hi\\"\\\\n"'),
        ("line\n", '"line\\n"'),
    ],
)
def test_values_can_be_pasted_into_r(value: object, said: str) -> None:
    assert RWords(MIRROR).value(value) == said


def test_names_with_quotes_are_in_backticks() -> None:
    words = RWords(MIRROR)
    text = Message("column {label!r} has {value!r}", label='my "site"', value='a "b"')
    assert text.in_words(words) == 'column `my "site"` has "a \\"b\\""'
    text = Message("columns {names:items}", names=['my "site"', "other"])
    assert text.in_words(words) == 'columns `my "site"`, "other"'
    assert (
        declared("my site")
        .in_words(words)
        .startswith("categories = list(`my site` = c(...))")
    )
