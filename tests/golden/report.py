"""Print how many values of the recordings were met, and how closely.

Run as ``python -m tests.golden.report [DIR]``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from .compare import Tally
from .replay import HERE, recordings, replay


def main(folder: Path) -> int:
    total, failed = Tally(), 0
    paths = recordings(folder)
    for path in paths:
        tally, wrong = replay(path)
        total.merge(tally)
        failed += bool(wrong)
        for message in wrong:
            print(f"{path.stem}: {message}")
    print(f"{len(paths) - failed} of {len(paths)} recordings met")
    print(f"{'quantity':<16} {'arrays':>7} {'largest difference':>19}")
    for quantity in sorted(total.largest):
        print(
            f"{quantity:<16} {total.count[quantity]:>7} "
            f"{total.largest[quantity]:>19.2e}"
        )
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE))
