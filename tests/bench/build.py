"""CPU seconds of the C compiler for each module, and the size of the wheel.

Run ``python -m tests.bench.build`` in a clone; the last result is stored beside this
file in build.txt. A copy of git's files is built into a wheel, one module after
another, by a compiler that is this script and notes how long the real one takes.
"""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
import tempfile
from pathlib import Path

NOTES = "DYNTREE_BUILD_NOTES"
ROOT = Path(__file__).resolve().parents[2]


def compile_and_note(arguments: list[str]) -> int:
    """Run the C compiler, and note the seconds that it takes for a source file."""
    code = subprocess.run(["cc", *arguments], check=False).returncode
    spent = os.times()
    sources = [one for one in arguments if one.endswith(".c")]
    if sources and "_core" in sources[0]:
        with Path(os.environ[NOTES]).open("a") as notes:
            seconds = spent.children_user + spent.children_system
            notes.write(f"{seconds:.2f} {sources[0]}\n")
    return code


def main() -> None:
    """Build, print and store."""
    with tempfile.TemporaryDirectory() as folder:
        tree, notes = Path(folder) / "tree", Path(folder) / "notes"
        tree.mkdir()
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True
        ).stdout
        subprocess.run(
            ["xargs", "-0", "cp", "--parents", "-t", str(tree)],
            input=listed, cwd=ROOT, check=True,
        )  # fmt: skip
        environment = {
            **os.environ,
            NOTES: str(notes),
            "CC": f"{sys.executable} {Path(__file__).resolve()}",
        }
        command = [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "-q",
            "--no-deps",
            "-w",
            folder,
        ]
        subprocess.run([*command, "."], cwd=tree, env=environment, check=True)
        (wheel,) = Path(folder).glob("*.whl")
        size = wheel.stat().st_size / 1e6
        found = [line.split() for line in notes.read_text().splitlines()]
    took = sorted(((float(s), name) for s, name in found), reverse=True)
    total = sum(seconds for seconds, _ in took)
    day = datetime.datetime.now(datetime.UTC).date()
    lines = [
        f"{day}, {len(took)} modules, the C compiler {total:.0f} CPU s, a wheel of "
        f"{size:.1f} MB"
    ]
    lines += [
        f"{seconds:7.2f} s  {name.partition('_core/')[2].removesuffix('.c')}"
        for seconds, name in took
    ]
    text = "\n".join(lines) + "\n"
    (Path(__file__).parent / "build.txt").write_text(text)
    print(text, end="")


if __name__ == "__main__":
    if NOTES in os.environ:
        sys.exit(compile_and_note(sys.argv[1:]))
    main()
