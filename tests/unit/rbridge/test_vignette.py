"""The vignette "From R to Python and back": its blocks run, in R and in Python."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.conftest import ROOT
from tests.unit.rbridge.engines import need, run

VIGNETTE = ROOT / "vignettes" / "r.md"


@pytest.mark.slow
@pytest.mark.skipif(not VIGNETTE.is_file(), reason="no source tree")
def test_the_vignette_runs(
    r_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(tmp_path, "reticulate")
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    monkeypatch.chdir(tmp_path)
    text = VIGNETTE.read_text(encoding="utf-8")
    blocks = re.findall(
        r"^```(r|\{code-cell\})\n(?::[^\n]*\n)*(.*?)^```",
        text,
        re.MULTILINE | re.DOTALL,
    )
    assert [kind for kind, _ in blocks].count("r") == 2
    names: dict[str, object] = {}
    for kind, code in blocks:
        if kind == "r":
            process = run(tmp_path, "Rscript", "-e", code, library=r_library)
            assert process.returncode == 0, process.stderr
        else:
            exec(compile(code, str(VIGNETTE), "exec"), names)
