"""The report stands alone, says what was scored, and leaves the model as it was."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import dyntree
from dyntree import DynamicTree, StreamingTree, cli
from dyntree.evaluate import Prequential, prequential
from tests.helpers import model_bytes
from tests.unit.models import data, frame, refused

mpl = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
from dyntree.api.plots import Recorder  # noqa: E402
from dyntree.api.report import MEANINGS, report_html  # noqa: E402

PICTURE = re.compile(r'src="data:image/svg\+xml;base64,([^"]+)"')


class Page(HTMLParser):
    """Elements of a page, its text, and whether all that was opened was closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, Any]]] = []
        self.cells: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.cells.append(data.strip())

    def after(self, name: str) -> str:
        return self.cells[self.cells.index(name) + 1]


def evaluated(kind: str, **options: Any) -> tuple[StreamingTree, Prequential]:
    name = "class" if kind == "class" else "constant"
    X, y = data(name, 120)
    model = StreamingTree(kind, window=25, n_particles=20, seed=1, **options)
    return model, prequential(model, frame(X, ["a<b", "c&d"]), y, start=20)


@pytest.fixture(scope="module")
def both() -> dict[str, tuple[StreamingTree, Prequential]]:
    return {kind: evaluated(kind) for kind in ("linear", "class")}


@pytest.fixture(scope="module")
def pages(both: Any) -> dict[str, str]:
    return {kind: report_html(*made) for kind, made in both.items()}


def pictures(page: str) -> list[str]:
    return [base64.b64decode(text).decode() for text in PICTURE.findall(page)]


@pytest.mark.parametrize("kind", ["linear", "class"])
def test_the_page_needs_nothing_beside_itself(kind: str, pages: dict[str, str]) -> None:
    text = pages[kind]
    page = Page(text)
    assert page.open == []
    assert {tag for tag, _ in page.tags} <= {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "table",
        "tr", "th", "td", "figure", "img", "figcaption",
    }  # fmt: skip
    outside = PICTURE.sub("", text)
    for word in ("http", "url(", "@import", "<script", "href", "src="):
        assert word not in outside
    for svg in pictures(text):
        root = ElementTree.fromstring(svg)
        for element in root.iter():
            assert not element.tag.endswith("script")
            for name, value in element.attrib.items():
                if name.endswith("href"):
                    assert value.startswith(("#", "data:"))


@pytest.mark.parametrize(("kind", "n"), [("linear", 7), ("class", 8)])
def test_every_picture_is_there_and_described(
    kind: str, n: int, pages: dict[str, str]
) -> None:
    text = pages[kind]
    images = [attrs for tag, attrs in Page(text).tags if tag == "img"]
    assert len(images) == len(pictures(text)) == n
    assert len({attrs["alt"] for attrs in images}) == n
    assert all(len(attrs["alt"]) > 20 for attrs in images)


@pytest.mark.parametrize("kind", ["linear", "class"])
def test_scores_stand_beside_the_baseline(
    kind: str, both: Any, pages: dict[str, str]
) -> None:
    _, seen = both[kind]
    page = Page(pages[kind])
    own, trivial = vars(seen.scores), vars(seen.baseline)
    for name in own:
        if name == "n_rows":
            continue
        place = page.cells.index(name)
        assert page.cells[place + 1 : place + 4] == [
            f"{own[name]:.4g}", f"{trivial[name]:.4g}", MEANINGS[name],
        ]  # fmt: skip
    lead = page.cells[page.cells.index("Scores") - 1]
    assert lead.startswith(f"{own['n_rows']} rows, each predicted before")


def test_settings_and_versions_are_listed(both: Any) -> None:
    model, seen = both["linear"]
    text = report_html(
        model, seen, title="loads & <b>", response="load", notes={"table": "<t>.csv"}
    )
    page = Page(text)
    assert page.after("kind") == "StreamingTree"
    assert page.after("window") == "25"
    assert page.after("n_particles") == "20"
    assert page.after("seed") == "1"
    assert page.after("rows learned") == "120"
    assert page.after("features") == "a<b, c&d"
    assert page.after("table") == "<t>.csv"
    assert page.after("dyntree") == dyntree.__version__
    assert page.after("numpy") == np.__version__
    assert page.cells.count("loads & <b>") == 2
    assert "<b>" not in text


def test_the_model_and_settings_are_left_alone(both: Any) -> None:
    before = dict(mpl.rcParams)
    for model, seen in both.values():
        content = model_bytes(model)
        report_html(model, seen)
        assert model_bytes(model) == content
    assert dict(mpl.rcParams) == before


def test_one_feature_and_a_plain_tree_will_do() -> None:
    X, y = data("constant")
    tree = DynamicTree(rules="r", n_particles=20, seed=1)
    seen = prequential(tree, X[:, :1], y, start=20)
    assert len(pictures(report_html(tree, seen))) == 6


def test_missing_values_and_levels_are_reported() -> None:
    X, y = data("constant")
    rows = [
        {"a": a if k % 3 else np.nan, "b": b, "c": "uv"[k % 2], "d": np.nan}
        for k, (a, b) in enumerate(X)
    ]
    tree = DynamicTree(n_particles=20, seed=1)
    assert len(pictures(report_html(tree, prequential(tree, rows, y)))) == 7


@pytest.mark.parametrize("kind", ["linear", "class"])
def test_a_recorder_takes_the_models_place(kind: str) -> None:
    X, y = data("class" if kind == "class" else "constant", 120)
    rows = frame(X, "pq").assign(q=np.where(X[:, 1] > 0.5, "high", "low"))
    plain, noted = (
        StreamingTree(kind, window=40, n_particles=20, seed=1) for _ in range(2)
    )
    recorder = Recorder(noted, 10)
    alone, seen = (prequential(m, rows, y, start=5) for m in (plain, recorder))
    assert model_bytes(noted) == model_bytes(plain)
    assert seen.losses.tolist() == alone.losses.tolist()
    trace = recorder.trace()
    assert trace.n_seen.tolist() == list(range(10, 121, 10))
    page = report_html(noted, seen, trace=trace)
    assert len(pictures(page)) == 2 + len(pictures(report_html(noted, seen)))
    assert "notes for the pictures included" in page


def test_many_rows_make_no_large_page() -> None:
    X, y = data("constant", 5000)
    tree = DynamicTree(n_particles=5, seed=1).update(X[:4900], y[:4900])
    seen = prequential(tree, X[4900:], y[4900:])
    assert len(report_html(tree, seen)) < 3_000_000


def test_bad_arguments_are_named(both: Any) -> None:
    model, seen = both["linear"]
    _, labels = both["class"]
    for arguments, name, came in (
        ((3, seen), "model", "3"),
        ((model, 3), "seen", "3"),
        ((model, labels), "seen", "labels"),
    ):
        with refused(name, came, model):
            report_html(*arguments)


# ---------------------------------------------------------------- the command
@pytest.fixture
def rows(tmp_path: Path) -> Path:
    X, y = data("constant", 80)
    table = frame(X, "pq")
    table["load"] = y
    path = tmp_path / "rows.csv"
    table.to_csv(path, index=False)
    return path


def call(path: Path, page: Path) -> list[str]:
    return [
        "evaluate", str(path), "--formula", "load ~ .", "--particles", "20",
        "--seed", "1", "--quiet", "--html", str(page),
    ]  # fmt: skip


def test_evaluate_writes_the_page(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "report.html"
    assert cli.main(call(rows, path)) == 0
    page = Page(path.read_text(encoding="utf-8"))
    assert page.after("formula") == "load ~ ."
    assert page.after("table") == "rows.csv"
    assert page.after("first row scored") == "10"
    assert "load ~ . in rows.csv" in page.cells
    assert str(tmp_path) not in path.read_text(encoding="utf-8")
    printed = capsys.readouterr().out
    shown = re.search(r"^model +([\d.]+)", printed, re.MULTILINE)
    assert shown is not None
    assert abs(float(shown[1]) - float(page.after("rmse"))) < 1e-3


def test_a_page_that_cannot_be_written_is_an_error_in_one_line(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(call(rows, tmp_path / "no" / "report.html")) == 1
    error = capsys.readouterr().err
    assert error.startswith("dyntree: ")
    assert error.count("\n") == 1
    assert "report.html" in error
