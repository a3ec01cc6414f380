"""The console command ``dyntree``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from dyntree import __version__


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = argparse.ArgumentParser(
        prog="dyntree", description="Bayesian dynamic trees for data streams."
    )
    top.add_argument("--version", action="version", version=f"dyntree {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="learn to tell spam from a stream of e-mails",
        description="Stream Spambase through a dynamic tree that holds at most 500 "
        "rows, and through the same tree frozen after the first 500; print the scores "
        "and write prequential.png, predictions.csv and summary.json into OUT.",
    )
    demo.add_argument("out", metavar="OUT", help="folder to write to; made if absent")
    demo.add_argument("--seed", type=int, default=1, help="of the trees (default 1)")
    demo.add_argument("--quiet", action="store_true", help="no progress bar")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code (0, or 1 with a message on standard error).

    Parameters
    ----------
    arguments : sequence of str, optional
        Default those of the process.
    """
    options = parser().parse_args(arguments)
    try:
        from dyntree import demo

        demo.run(options.out, seed=options.seed, progress=not options.quiet)
    except (OSError, ValueError) as error:
        print(f"dyntree: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("dyntree: interrupted", file=sys.stderr)
        return 130
    return 0
