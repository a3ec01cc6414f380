"""The script of a user of lm(): its answers have the form of those of lm()."""

from __future__ import annotations

from pathlib import Path

from tests.unit.rbridge.engines import need, run

SCRIPT = Path(__file__).with_name("lm_script.R")
OUTPUT = SCRIPT.with_suffix(".txt")


def test_the_script_prints_what_is_stored(r_library: Path, tmp_path: Path) -> None:
    need(tmp_path, "reticulate", "generics")
    process = run(tmp_path, "Rscript", str(SCRIPT), library=r_library)
    assert process.returncode == 0, process.stderr
    printed = [line.rstrip() for line in process.stdout.splitlines()]
    assert printed == [line.rstrip() for line in OUTPUT.read_text("utf-8").splitlines()]


def test_every_answer_has_the_form_of_that_of_lm() -> None:
    first = OUTPUT.read_text("utf-8").partition("\n\n")[0]
    assert "FALSE" not in first
    assert first.count("TRUE") == 15
