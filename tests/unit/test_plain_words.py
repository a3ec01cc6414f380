"""Texts use the field's terms: active rows, stored, returned, passed, predicted."""

from __future__ import annotations

import re
import tokenize
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest

import dyntree

ROOT = Path(dyntree.__file__).parents[1]
VAGUE = re.compile(
    r"\b(told|kept|held|came|foreseen|foresaw|foretold|bear|heed)\b", re.IGNORECASE
)
# data held out, a lock, an author, and two keys of files
TERMS = re.compile(r"held[- ]out|held by whoever|and Held 2009|^.(held|kept).$")
TEXTS = {"STRING", "FSTRING_MIDDLE", "COMMENT"}
PYTHON, R = (".py", ".pyi", ".pyx", ".pxd"), (".R", ".Rd")


def texts(path: Path) -> Iterator[str]:
    """Docstrings, messages and comments of Python and Cython; all of an R file."""
    source = path.read_text("utf-8")
    if path.suffix in R:
        yield source
        return
    for token in tokenize.generate_tokens(StringIO(source).readline):
        if tokenize.tok_name[token.type] in TEXTS:
            yield token.string


def vague(path: Path) -> list[str]:
    return [
        found.group()
        for text in texts(path)
        for found in VAGUE.finditer(TERMS.sub("", text))
    ]


@pytest.mark.skipif(not (ROOT / "rbridge").is_dir(), reason="no clone")
@pytest.mark.parametrize("folder", ["dyntree", "rbridge"])
def test_texts_have_no_vague_words(folder: str) -> None:
    paths = [p for p in (ROOT / folder).rglob("*") if p.suffix in (*PYTHON, *R)]
    found = {str(path.relative_to(ROOT)): vague(path) for path in paths}
    assert {path: words for path, words in found.items() if words} == {}


@pytest.mark.parametrize(
    "text",
    ['"""Rows held."""', "x = 1  # what came", 'f"{x} kept"', "#' They heed it."],
)
def test_a_vague_word_is_found(text: str, tmp_path: Path) -> None:
    path = tmp_path / "some.py"
    path.write_text(f"{text}\nheld = 'held-out'\n")
    assert len(vague(path)) == 1
