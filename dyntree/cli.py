"""The console command ``dyntree``."""

from __future__ import annotations

import argparse
import csv
import math
import re
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, NoReturn, TextIO

from dyntree import __version__, params
from dyntree.commands import batch, keyed, options
from dyntree.commands.lines import Limits
from dyntree.commands.outputs import STANDARD_OUTPUT, written
from dyntree.commands.paths import check_paths
from dyntree.commands.readers import PACKED, TABULAR
from dyntree.commands.rows import MISSING
from dyntree.commands.stream import stream
from dyntree.commands.terminal import forget_unwritten, open_closed, say
from dyntree.commands.words import PREDICT, SHELL
from dyntree.errors import Words, in_words, shown, without_row
from dyntree.params import TreeOptions
from dyntree.params.names import suggested

FAILED, WRONG_USE = 1, 2  # exit codes
TABLE = "CSV, NDJSON (packed: .gz, .bz2, .xz, .zst), Parquet or Arrow file, or - (CSV)"
ROWS = "CSV, NDJSON (packed: .gz, .bz2, .xz, .zst), Parquet or Arrow file, or -"
STREAM_HELP = """Read rows one by one; predict each, write a line, then learn it. Rows
without a response are predicted only. With --checkpoint the command may be killed at
any time: the same call with --resume cuts the output back to the last checkpoint and
continues, so that no row and no line is lost or repeated. After Ctrl-C, SIGTERM or
SIGHUP the command finishes the current row and writes a checkpoint; a second signal
ends it at once. When the command resumes, the input must start from its first row again
(rows that were taken are skipped), or after them with --input-continues. The output
must be a file: --out FILE, or >> FILE in a shell. Without a checkpoint --resume starts
anew, unless --out FILE has rows already. Readers of a pipe may see lines twice, which
can be recognised by their row numbers. Columns of strings accept new levels as they
come, unless their levels are named with --levels; see --new-levels."""

CROSSCHECK = "compare with the R package dynaTree, number for number"
CROSSCHECK_HELP = """Fit a table in CRAN dynaTree and in dyntree from one seed, learn,
retire and rejuvenate, compare all results, and report the differences. The command
needs R with the package dynaTree. The exit code is 1 if bits differ, unless --seeds is
given and finds agreement in distribution."""
DEMO_HELP = (
    "trees: stream Spambase through a dynamic tree that holds at most 500 rows, "
    "the same tree frozen after the first 500, and an average of smaller ones; "
    "print the scores and write prequential.png, predictions.csv and summary.json "
    "into OUT. sva: "
    "segment a movement while it is made; write segments.png, labels.csv and "
    "summary.json. ddp: follow clusters that are born, move and die; write "
    "lifelines.png, vi.png, lifelines.csv and summary.json. canopy: fit a thousand "
    "components to small images; write images.png, scaling.png, sweeps.png and "
    "summary.json. hdp: segment pictures together in a memory of 64 kB; write "
    "segmentation.png, memory.png, topics.csv and summary.json."
)


class WrongUse(ValueError):
    """Options that are wrong, or do not go together."""


class _Parser(argparse.ArgumentParser):
    """A parser whose messages fit a line, and suggest an option for an unknown one."""

    words: Sequence[str] = ()  # of a call of a command

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self._subparsers is None:
            self.words = args
        parsed = super().parse_known_args(args, namespace)
        if any(self._unknown().values()):
            super().error(shown(self._said_of_unknown()))
        return parsed

    def error(self, message: str) -> NoReturn:
        unknown = self._said_of_unknown()
        super().error(shown(f"{message}; {unknown}" if unknown else message))

    def _said_of_unknown(self) -> str:
        said = (
            f"{name} is unknown" + (f"; did you mean {meant}?" if meant else "")
            for name, meant in self._unknown().items()
        )
        return "; ".join(said).replace("?;", "?")

    def _unknown(self) -> dict[str, str | None]:
        """Options of a call that this command does not have; what may be meant."""
        flags = self._option_string_actions
        names = {action.dest: flag for flag, action in flags.items()}
        names |= {_bare(flag): flag for flag in flags}
        words = takewhile(lambda word: word != "--", self.words)
        return {
            name: names.get(suggested(_bare(name), tuple(names)) or "")
            for name in (word.partition("=")[0] for word in words)
            if re.fullmatch(r"--?[A-Za-z][\w-]*", name)
            and not any(flag.startswith(name) for flag in flags)
        }


def _bare(flag: str) -> str:
    """An option as a name of Python."""
    return flag.lstrip("-").replace("-", "_")


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = _Parser(
        prog="dyntree", description="Bayesian dynamic trees for data streams."
    )
    top.add_argument("--version", action="version", version=f"dyntree {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")

    def command(
        name: str, run: Callable[..., int | None], help: str, about: str = ""
    ) -> Any:
        made = commands.add_parser(name, help=help, description=about or help)
        made.set_defaults(run=run)
        return made

    made = command("fit", batch.fit, "learn a table and save the model")
    _add_table(made)
    made.add_argument("--out", required=True, metavar="MODEL", help="file to save to")
    _add_quiet(made)
    options.add_model(made, 0)

    made = command("predict", batch.predict, "predict the rows of a table")
    made.add_argument("saved", metavar="MODEL", help="a saved model")
    made.add_argument("table", metavar="TABLE", help=TABLE)
    _add_separator(made)
    made.add_argument(
        "--out",
        metavar="FILE",
        help="CSV or .ndjson file; default CSV to standard output",
    )
    _add_quantiles(made)

    made = command("stream", stream, "predict and learn rows as they come", STREAM_HELP)
    _add_stream(made)

    made = command("evaluate", batch.evaluate, "score predictions, row by row")
    _add_table(made)
    made.add_argument(
        "--start", type=_count, default=0, help="first row scored (default 0)"
    )
    made.add_argument(
        "--out", metavar="FILE", help="CSV or .ndjson file of losses, row by row"
    )
    made.add_argument("--html", metavar="FILE", help="web page with scores and plots")
    made.add_argument("--json", action="store_true", help="print JSON")
    _add_quiet(made)
    options.add_model(made, params.AUTO)

    made = command("keys", keyed.keys, "list the keys of a model, or describe one")
    made.add_argument("saved", metavar="MODEL", help="a model for keys")
    made.add_argument(
        "key", nargs="?", metavar="KEY", help="one of the keys that are listed"
    )
    made.add_argument("--json", action="store_true", help="print JSON")

    made = command("info", batch.info, "say what a saved model is")
    made.add_argument("saved", metavar="MODEL", help="a saved model")
    made.add_argument("--json", action="store_true", help="print JSON")

    made = command("crosscheck", _crosscheck, CROSSCHECK, CROSSCHECK_HELP)
    _add_crosscheck(made)

    made = command("demo", _demo, "see a model at work", DEMO_HELP)
    _add_demo(made)
    return top


def _add_demo(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "what", nargs="?", choices=("trees", "sva", "ddp", "canopy", "hdp"),
        default="trees",
        help="which model (default trees)",
    )  # fmt: skip
    made.add_argument("out", metavar="OUT", help="folder to write to; made if absent")
    made.add_argument(
        "--seed",
        type=int,
        default=1,
        help="seed of the trees, or of the data of mixtures (default 1)",
    )
    made.add_argument("--quiet", action="store_true", help="no progress bar")


def _add_stream(made: argparse.ArgumentParser) -> None:
    made.add_argument("table", metavar="ROWS", help=ROWS)
    _add_formula(made)
    group = made.add_argument_group("input and output")
    group.add_argument(
        "--format", choices=("csv", "ndjson", "parquet", "arrow"),
        help="format of the rows; by default from the file name",
    )  # fmt: skip
    _add_separator(group)
    group.add_argument(
        "--out", metavar="FILE",
        help="CSV or .ndjson file, or one of another name in the format of the rows, "
        "NDJSON or else CSV; default standard output",
    )  # fmt: skip
    _add_quantiles(group)
    _add_quiet(group)
    group = made.add_argument_group("checkpoints")
    group.add_argument("--checkpoint", metavar="MODEL", help="file to save to")
    group.add_argument(
        "--every", type=_positive, default=1000, metavar="N",
        help="rows between checkpoints (default 1000)",
    )  # fmt: skip
    group.add_argument(
        "--seconds",
        type=_seconds,
        metavar="S",
        help="also write a checkpoint at the first row after S seconds",
    )
    group.add_argument(
        "--resume", action="store_true", help="continue from the checkpoint"
    )
    group.add_argument(
        "--input-continues",
        action="store_true",
        help="the input starts after the old rows",
    )
    group.add_argument(
        "--follow",
        action="store_true",
        help="keep reading files as they grow, and files that replace them",
    )
    group = made.add_argument_group("bad rows")
    group.add_argument(
        "--bad-rows", default="stop", metavar="WAY",
        help="bad rows stop the stream (stop, the default), are left out and counted "
        "(skip), or are written to a file of that name, CSV or .ndjson",
    )  # fmt: skip
    group.add_argument(
        "--most-bad", type=_positive, default=100, metavar="N",
        help="number of successive bad rows that ends the stream (default 100)",
    )  # fmt: skip
    group = made.add_argument_group("late labels")
    group.add_argument(
        "--labels", metavar="FILE",
        help="CSV, NDJSON, Parquet or Arrow file, or -, of labels that come later than "
        "their rows; a weight comes with its label",
    )  # fmt: skip
    group.add_argument(
        "--key", metavar="COLUMN", help="column that pairs rows and labels"
    )
    group.add_argument(
        "--pending", type=_positive, default=10_000, metavar="N",
        help="most rows that wait for labels; the oldest are dropped (default 10000)",
    )  # fmt: skip
    group = made.add_argument_group("keys")
    group.add_argument(
        "--key-by", metavar="COLUMN",
        help="column of keys, such as sensors or shops: the model is then a "
        "dyntree.KeyedStream, and the checkpoint an SQLite file with a state for each "
        "key",
    )  # fmt: skip
    group.add_argument(
        "--position", metavar="COLUMN",
        help="column of whole numbers, such as the offsets of a log; a row whose "
        "position is not larger than the last of its key is predicted only",
    )  # fmt: skip
    _add_watch(made.add_argument_group("monitoring"))
    options.add_model(made, params.AUTO)


def _add_watch(made: Any) -> None:
    made.add_argument(
        "--status", metavar="FILE",
        help="file with running scores, as JSON, or for Prometheus with suffix .prom; "
        "replaced every 10 seconds, or as often as --report",
    )  # fmt: skip
    made.add_argument(
        "--report", type=_seconds, metavar="SECONDS",
        help="print running scores to standard error at this interval",
    )  # fmt: skip
    made.add_argument(
        "--over", type=_positive, default=1000, metavar="N",
        help="number of rows in running scores (default 1000)",
    )  # fmt: skip
    made.add_argument(
        "--surprise", action="store_true",
        help="add a column with the tail probability of each response under its "
        "prediction; small values are anomalous",
    )  # fmt: skip
    made.add_argument(
        "--alarm", type=_rate, metavar="LEVEL",
        help="add a column that marks rows at which predictions have become worse, "
        "with this rate of false alarms per row, such as 1e-5, if the errors do not "
        "depend on one another",
    )  # fmt: skip


def _add_crosscheck(made: argparse.ArgumentParser) -> None:
    made.add_argument("table", metavar="TABLE", help=TABLE)
    made.add_argument(
        "--formula", required=True, metavar="F", help="like 'y ~ .' or 'y ~ a + b'"
    )
    made.add_argument(
        "--model", default="constant",
        choices=[model for model in params.MODELS if model not in params.NATIVE_ONLY],
        help="model in the leaves (default %(default)s)",
    )  # fmt: skip
    made.add_argument(
        "--particles", type=_positive, default=TreeOptions.n_particles, metavar="N",
        help="trees in the cloud (default %(default)s)",
    )  # fmt: skip
    for name, choices in (
        ("intercept", params.INTERCEPTS), ("proposal", params.PROPOSALS)
    ):  # fmt: skip
        made.add_argument(
            f"--{name}",
            default=params.TREE_OPTIONS[name],
            choices=choices,
            help="as in dyntree.DynamicTree (default %(default)s)",
        )
    made.add_argument(
        "--seed", type=int, default=1, metavar="N", help="seed of both (default 1)"
    )
    made.add_argument(
        "--backend", choices=("rpy2", "subprocess"), help="default what is installed"
    )
    made.add_argument(
        "--seeds", type=int, default=0, metavar="N",
        help="if bits differ, compare distributions over N seeds (>= 20)",
    )  # fmt: skip
    made.add_argument("--out", metavar="FILE", help="file; default standard output")
    made.add_argument("--csv", metavar="FILE", help="every quantity as a table")
    made.add_argument("--html", metavar="FILE", help="the report as a web page")
    made.add_argument("--picture", metavar="FILE", help="PNG, PDF or SVG picture")


def _add_separator(made: Any) -> None:
    made.add_argument(
        "--separator", type=_separator, default=",", metavar="C",
        help="separator of CSV cells: one character, or tab (default ,)",
    )  # fmt: skip
    made.add_argument(
        "--decimal", choices=(".", ","), default=".",
        help="decimal mark of numbers (default %(default)s)",
    )  # fmt: skip
    made.add_argument(
        "--missing", type=options.words, metavar="A,B,...",
        help="cells of CSV that are missing values, beside empty ones (default "
        f"{','.join(MISSING[1:])})",
    )  # fmt: skip
    made.add_argument(
        "--times", action="append", default=[], metavar="COLUMN",
        help="column of times in ISO 8601, or COLUMN=FORM as in day=%%d.%%m.%%Y; may "
        "be repeated",
    )  # fmt: skip
    made.add_argument(
        "--longest-line", type=_positive, default=Limits.line, metavar="N",
        help="most characters of a line of CSV or NDJSON; a longer one is a bad row "
        "(default %(default)s)",
    )  # fmt: skip
    made.add_argument(
        "--most-quoted", type=_positive, default=Limits.quoted, metavar="N",
        help="most lines of a row of CSV, whose cells in quotes may have several; the "
        "first line of a longer one is a bad row (default %(default)s)",
    )  # fmt: skip


def _separator(text: str) -> str:
    """A character that can part cells."""
    text = "\t" if text in ("tab", r"\t") else text
    if len(text) != 1 or text in '"\r\n\0':
        raise argparse.ArgumentTypeError(f"must be one character, or tab; got {text!r}")
    return text


def _add_table(made: argparse.ArgumentParser) -> None:
    made.add_argument("table", metavar="TABLE", help=TABLE)
    _add_separator(made)
    _add_formula(made)


def _add_formula(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--formula", required=True, metavar="F",
        help="like 'y ~ .' or 'y ~ a + b'; with formulaic also 'np.log(y) ~ . - a + "
        "C(b)'; for these a stream needs --levels of text columns",
    )  # fmt: skip


def _add_quiet(made: Any) -> None:
    made.add_argument("--quiet", action="store_true", help="do not report progress")


def _add_quantiles(made: Any) -> None:
    made.add_argument(
        "--quantiles", type=_levels, default=[0.05, 0.5, 0.95], metavar="Q,Q,...",
        help="quantiles of real responses and counts (default 0.05,0.5,0.95)",
    )  # fmt: skip


def _levels(text: str) -> list[float]:
    """Probabilities, from Q,Q,..."""
    try:
        levels = [float(word) for word in text.split(",")]
    except ValueError:
        levels = [math.nan]
    if not all(0.0 < level < 1.0 for level in levels):
        raise argparse.ArgumentTypeError(
            f"must be numbers in (0, 1), separated by commas; got {text}"
        )
    return levels


def _rate(text: str) -> float:
    """A number in (0, 1)."""
    number = _number(text)
    if not 0.0 < number < 1.0:
        raise argparse.ArgumentTypeError(f"must be in (0, 1); got {text}")
    return number


def _seconds(text: str) -> float:
    """A number above 0."""
    number = _number(text)
    if not 0.0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"must be above 0; got {text}")
    return number


def _number(text: str) -> float:
    """A number."""
    try:
        return float(text)
    except ValueError:
        words = f"must be a number; got {text}"
        raise argparse.ArgumentTypeError(words) from None


def _count(text: str) -> int:
    """An int >= 0."""
    number = _number(text)
    if not number.is_integer() or number < 0:
        raise argparse.ArgumentTypeError(f"must be a whole number >= 0; got {text}")
    return int(number)


def _positive(text: str) -> int:
    """An int >= 1."""
    number = _number(text)
    if not number.is_integer():
        raise argparse.ArgumentTypeError(f"must be a whole number; got {text}")
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be >= 1; got {text}")
    return int(number)


def _crosscheck(arguments: argparse.Namespace) -> None:
    from rbridge import command
    from rbridge.errors import RBridgeError

    try:
        command.run(arguments)
    except RBridgeError as error:
        raise ValueError(error) from error


def _demo(arguments: argparse.Namespace) -> None:
    from dyntree.demo import canopy, ddp, hdp, sva, trees

    rooms = {"trees": trees, "sva": sva, "ddp": ddp, "canopy": canopy, "hdp": hdp}
    if arguments.out in rooms:  # as argparse reads a single word
        raise WrongUse(
            "OUT must name a folder to write to; got none beside the model "
            f"{arguments.out}. Write dyntree demo {arguments.out} OUT."
        )
    try:
        seed = params.count("--seed", arguments.seed, 0)
    except ValueError as error:
        raise WrongUse(*error.args) from error
    run = rooms[arguments.what].run
    run(arguments.out, seed=seed, progress=not arguments.quiet)


def _show(
    words: Words,
    command: str,
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show a warning as a shell user expects it.

    A stream gives the model one row a call: that it is the first says nothing.
    """
    if command == "stream" and isinstance(message, Warning):
        message = without_row(message, 0)
    say(f"warning: {in_words(message, words)}")


def _wrong_use(given: argparse.Namespace) -> str:
    """What is wrong with options of a stream that need one another, if anything."""
    needy = given.resume or given.input_continues or given.seconds is not None
    if given.checkpoint is None and needy:
        return "--resume, --input-continues and --seconds need --checkpoint"
    if (given.labels is None) != (given.key is None):
        return "--labels and --key need each other"
    if given.labels is not None and given.key_by is not None:
        return (
            "--labels does not go with --key-by; in Python, DelayedLabels takes a "
            "KeyedStream"
        )
    if given.position is not None and given.key_by is None:
        return "--position needs --key-by"
    if given.labels == given.table == "-":
        return "rows and --labels cannot both be -"
    for name in ("checkpoint", "bad_rows", "status"):
        if getattr(given, name) in ("-", ""):
            flag = f"--{name.replace('_', '-')}"
            return f"{flag} must name a file; - is for rows, --labels and --out"
    if given.table == "-" and given.format == "parquet":
        return "--format parquet needs a file: of a pipe nobody can read its end first"
    files = [name for name in (given.table, given.labels) if name not in (None, "-")]
    packed = [name for name in files if Path(name).suffix in PACKED]
    if given.follow and (packed or not files or given.format in TABULAR):
        return "--follow needs a CSV or NDJSON file that is not packed"
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code.

    0; 1 with a line on standard error; 128 and the number of a signal that ended it, so
    130 after Ctrl-C and 143 after SIGTERM; 141 where nobody reads the output any more.
    Wrong usage exits with 2, also where options do not go together.

    Parameters
    ----------
    arguments : sequence of str, optional
        Default those of the process.
    """
    open_closed()
    try:
        return _main(arguments)
    finally:
        forget_unwritten()


def _main(arguments: Sequence[str] | None) -> int:
    """What `main` does, with standard streams that are there."""
    top = parser()
    try:
        given, unknown = top.parse_known_args(arguments)
    except SystemExit as end:
        if end.code == 0 and not _could_print():  # --help and --version
            return FAILED
        raise
    if unknown and "~" not in (getattr(given, "formula", None) or "~"):
        top.error(
            f"the formula is {given.formula!r}, and {' '.join(unknown)} stand alone; "
            "put a formula in quotes: --formula 'y ~ x'"
        )
    if unknown:
        command = f" {given.command}" if given.command else ""
        top.error(
            f"unrecognized arguments: {' '.join(unknown)}; "
            f"dyntree{command} --help lists those that there are"
        )
    if given.command is None:
        top.print_help(sys.stderr)
        return WRONG_USE
    if given.command == "stream" and (wrong := _wrong_use(given)):
        top.error(wrong)
    words = PREDICT if given.command == "predict" else SHELL
    code = WRONG_USE
    try:
        with warnings.catch_warnings():
            warnings.showwarning = partial(_show, words, given.command)
            options.check_options(given)
            check_paths(vars(given))
            code = FAILED
            stopped_by = given.run(given)
            with written(None):
                sys.stdout.flush()
    except BrokenPipeError:
        return 128 + signal.SIGPIPE
    except (OSError, ValueError, ImportError, csv.Error) as error:
        say(_message(error, words))
        return WRONG_USE if isinstance(error, WrongUse) else code
    except KeyboardInterrupt:
        stopped_by = signal.SIGINT
    if stopped_by is None:
        return 0
    say("interrupted")
    return 128 + int(stopped_by)


def _could_print() -> bool:
    """Whether standard output takes what was printed; a line says so if it does not."""
    try:
        sys.stdout.flush()
    except OSError as error:
        say(_message(error))
        return False
    return True


def _message(error: Exception, words: Words = SHELL) -> str:
    """What an error says; of the system's, which file or stream it is about."""
    if not isinstance(error, OSError) or error.strerror is None:
        return in_words(error, words)
    if error.filename is None:
        return f"{STANDARD_OUTPUT}: cannot be written: {error.strerror}"
    return f"{error.filename}: {error.strerror}"
