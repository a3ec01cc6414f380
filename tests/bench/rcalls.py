"""What single calls from R cost, beside those of CRAN dynaTree in the same process.

Run ``python -m tests.bench.rcalls`` where R has both packages, dynaTree and dyntree;
the last result is stored beside this file in rcalls.txt.
"""

from __future__ import annotations

import datetime
import subprocess
from pathlib import Path

import dyntree
from tests.unit.rbridge.engines import environment

HERE = Path(__file__).parent


def main() -> None:
    """Run the R script and store what it prints."""
    told = subprocess.run(
        ["Rscript", str(HERE / "rcalls.R")],
        env=environment(HERE),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    day = datetime.datetime.now(datetime.UTC).date()
    text = f"dyntree {dyntree.__version__}, {day}, class trees, 200 active rows\n{told}"
    (HERE / "rcalls.txt").write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
