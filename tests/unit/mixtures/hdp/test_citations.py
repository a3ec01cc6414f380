"""Sections and equations that topic models cite are on their page."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

import dyntree

TREE = Path(__file__).parents[4]  # where tests and pages are
PAGE = TREE / "vignettes" / "maths" / "hdp.md"
FILES = sorted(
    [
        *(Path(dyntree.__file__).parent / "mixtures" / "hdp").glob("*.py"),
        TREE / "tests" / "oracle" / "hdp.py",
        *Path(__file__).parent.glob("*.py"),
    ]
)
NUMBERS = r"{0}(?:(?:, magnified |, | and |-){0})*"
EQUATIONS = re.compile(rf"\beqs?\. ({NUMBERS.format(r'[0-9]+')})")
SECTIONS = re.compile(rf"\b[Ss]ections? ({NUMBERS.format(r'[0-9](?:[.][0-9]+)?')})")
BARE = re.compile(r"\([0-9]\.[0-9]\)|\([1-9][0-9]?\)|(?:of|by|under|:) [2-5]\.[1-9]\b")


def on_page(text: str) -> set[str]:
    """Sections and equations of a page."""
    sections = re.findall(r"^#+ ([0-9.]*[0-9])\.? ", text, re.MULTILINE)
    equations = " ".join(re.findall(r"(?:&|\\qquad )\(([0-9, ]+)\)", text))
    return {f"section {n}" for n in sections} | {
        f"eq. {n}" for n in re.findall("[0-9]+", equations)
    }


def prose(path: Path) -> Iterator[str]:
    """Docstrings and comments of a file, examples left out."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield (ast.get_docstring(node) or "").split(">>>")[0]
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                yield token.string


def cited(text: str) -> set[str]:
    """Numbers that a text cites, those within a range included."""
    found = set()
    for numbers in EQUATIONS.findall(text):
        for part in re.findall("[0-9]+(?:-[0-9]+)?", numbers):
            first, _, last = part.partition("-")
            found |= {f"eq. {k}" for k in range(int(first), int(last or first) + 1)}
    for numbers in SECTIONS.findall(text):
        every = re.findall(r"[0-9](?:[.][0-9]+)?", numbers)
        found |= {f"section {n}" for n in every}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_is_cited_is_on_the_page(path: Path) -> None:
    known = on_page(PAGE.read_text(encoding="utf-8"))
    for text in prose(path):
        assert cited(text) <= known, text
        assert not BARE.search(text), f"{text!r} cites without a word"


def test_the_page_is_cited() -> None:
    found = {n for path in FILES for text in prose(path) for n in cited(text)}
    assert {"section 3.4", "eq. 29"} <= found


def test_a_wrong_number_is_found() -> None:
    page = (
        "## 3. Equations\n\n### 3.1 Bounds\n\n$F \\qquad (18, 19)$, $G &(20)$ of (22)"
    )
    known = {"section 3", "section 3.1", "eq. 18", "eq. 19", "eq. 20"}
    assert on_page(page) == known
    assert cited("By eqs. 18-20 and 22, magnified 25.") - known == {"eq. 22", "eq. 25"}
    assert cited("As in sections 3.1 and 3.5.") - known == {"section 3.5"}
    assert BARE.search("ranked (4.2)")
    assert BARE.search("the rate of 3.4")
    assert not BARE.search("Gomes et al. (2008)")
