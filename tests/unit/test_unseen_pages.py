"""The pages that compare with other learners show the stored results."""

from __future__ import annotations

import re

import pytest

from tests.statistical.unseen import page


@pytest.mark.skipif(not page.PAGES.is_dir(), reason="no source tree")
@pytest.mark.parametrize("name", page.WRITERS)
def test_a_page_is_what_its_results_say(name: str) -> None:
    text = (page.PAGES / name).read_text(encoding="utf-8")
    assert text == page.WRITERS[name](), "python -m tests.statistical.unseen.page"


def test_counts_are_those_that_the_run_itself_printed() -> None:
    stored = "\n".join(page.lines_of("streams.txt"))
    for kind in ("numbers", "labels"):
        results = page.stream_results(kind)
        line = re.search(rf"{kind}, to the best.*?: (\d+) of (\d+).*: (\d+) of", stored)
        assert line is not None
        ours = (
            page.count(results, page.CLOSE),
            len(results),
            page.count(results, page.FAR),
        )
        assert ours == tuple(map(int, line.groups()))
    line = re.search(r"within 2 % of the better kind: (\d+) of", stored)
    assert line is not None
    near = [one.ratio_to_leaves <= 1.02 for one in page.stream_results("numbers")]
    assert sum(near) == int(line[1])


def test_every_result_is_read_with_all_its_peers() -> None:
    for results, n_peers in (
        (page.stream_results("numbers"), 12), (page.stream_results("labels"), 12),
    ):  # fmt: skip
        assert all(len(one.peers) == n_peers for one in results)
    tables = page.table_results()
    assert len(tables) == len([one for one in page.lines_of("bart.txt") if one.strip()])
    assert all(
        {"linear", "forest", "boosting", "BART"} <= {*one.peers} for one in tables
    )
