"""Arguments that describe a model, and the model that they describe."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from dyntree import params
from dyntree.commands.lines import Limits
from dyntree.commands.paths import WORDS
from dyntree.commands.readers import format_of, format_to_write, words_of
from dyntree.commands.rows import MISSING, TIME, Cells
from dyntree.encoding.as_text import measured
from dyntree.encoding.expressions import response_name, sides
from dyntree.keyed.model import KeyedStream
from dyntree.params import (
    OPTIONS,
    STREAM_OPTIONS,
    TREE_OPTIONS,
)
from dyntree.params.table import Option
from dyntree.trees.factory import (
    default_leaves,
    make_tree,
    only_for_windows,
)

DEFAULTS = TREE_OPTIONS | STREAM_OPTIONS
KEYED = "model", "window", "n_particles", "classes", "categories"  # and a seed


def add_model(parser: argparse.ArgumentParser, window: int | str) -> None:
    """Add the arguments that `model_options` reads, with this window by default."""
    group = parser.add_argument_group("model", "as in dyntree.StreamingTree")
    for name, one in OPTIONS.items():
        if one.shell:
            group.add_argument(one.flag, dest=name, **_parsed(name, one, window))
    group.add_argument(
        "--exposure", metavar="COLUMN",
        help="column with the exposure of each count; it is not an input, and predict "
        "needs it, too",
    )  # fmt: skip
    group.add_argument(
        "--weights", metavar="COLUMN",
        help="column with the weight of each row; it is not an input",
    )  # fmt: skip
    group.add_argument("--seed", type=int, metavar="N", help="seed; drawn if absent")


def _parsed(name: str, one: Option, window: int | str) -> dict[str, Any]:
    """How a parser reads an option of the table."""
    place = one.shell.partition(" ")[2]
    default = window if name == "window" else DEFAULTS[name]
    text = one.doc + MORE.get(name, "")
    if name in STREAM_OPTIONS and name != "window":
        text = f"with --window N: {text}"
    elif default is not None and not isinstance(default, bool):
        text = f"{text} (default {default})"
    how: dict[str, Any] = {"help": text, "default": None}
    if isinstance(DEFAULTS[name], bool):
        return how | {"action": "store_true", "default": False}
    if name == "categories":
        return how | {"action": "append", "default": [], "metavar": place}
    if one.choices:
        return how | {"choices": one.choices}
    if name == "window":
        return how | {"type": _window, "default": window, "metavar": place}
    return how | {"type": TYPES[place], "metavar": place}


def words(text: str) -> list[str]:
    """Words of an option, as in a row of CSV."""
    try:
        return words_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def model_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Arguments of a command -> the options that were given, as JSON holds them."""
    kinds = TREE_OPTIONS, STREAM_OPTIONS, {"seed": None}
    values = params.given_options(vars(arguments), *kinds)
    named = [_levels(text) for text in arguments.categories]
    times = Counter(name for name, _ in named)
    if twice := [name for name, n in times.items() if n > 1]:
        raise ValueError(
            f"--levels must name each column once; got {twice[0]!r} twice. Name all "
            "levels of a column in one option."
        )
    values["categories"] = dict(named) or None
    if values["classes"] is not None and values["model"] is None:
        values["model"] = "class"
    return {name: value for name, value in values.items() if value is not None}


MORE = {
    "model": "; for labels class, if they are not 0 and 1, which are numbers",
    "window": ", 0 for all, of which ten clouds are averaged, or auto for an average "
    "of several windows, which needs no tuning",
    "n_particles": " with --window N; else by kind of cloud",
    "categories": "; in CSV such a cell is this level, even if it is a word for what "
    "is missing; may be repeated",
    "classes": "; they are text, and in CSV such a cell is this label, even if it is a "
    "word for what is missing",
}  # of an option in a shell, beside what the table says
TYPES = {"N": int, "F": float, "A,B,...": words}  # by the placeholder of the value


def check_options(arguments: argparse.Namespace) -> None:
    """Raise ValueError for options that are wrong whatever the table holds."""
    command = arguments.command
    if command in ("predict", "evaluate", "stream"):
        format_to_write(arguments.out, "--out")
    if getattr(arguments, "missing", None) is not None:
        labels = getattr(arguments, "labels", None)
        formats = [getattr(arguments, "format", None) or format_of(arguments.table)]
        formats += [] if labels is None else [format_of(labels)]
        if "csv" not in formats:
            raise ValueError(
                f"--missing is for cells of CSV; got {arguments.table}, whose values "
                "have types. Write null for what is missing."
            )
    if command == "stream" and arguments.bad_rows not in WORDS:
        format_to_write(arguments.bad_rows, "--bad-rows")
    if command == "fit" and arguments.out == "-":
        raise ValueError("--out must name a file to save the model to; got '-'.")
    if hasattr(arguments, "formula") and not all(sides(arguments.formula)):
        raise ValueError(
            f"--formula must be like 'y ~ .' or 'y ~ a + b'; got {arguments.formula!r}."
        )
    if command in ("fit", "evaluate", "stream"):
        columns_beside(arguments)
        new_model(model_options(arguments), getattr(arguments, "key_by", None))


def stream_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Arguments of a stream, beside the model's, that all its calls must share."""
    found: dict[str, Any] = {
        name: getattr(arguments, name)
        for name in (
            "formula", "separator", "decimal", "quantiles", "most_quoted",
            "longest_line",
        )
    }  # fmt: skip
    if times := times_of(arguments):
        found["times"] = times
    if arguments.missing is not None:
        found["missing_words"] = arguments.missing
    if arguments.surprise:
        found["surprise"] = True
    if arguments.alarm is not None:
        found["alarm"] = arguments.alarm
    if arguments.key is not None:
        found |= {"key": arguments.key, "pending": arguments.pending}
    return found


def option_differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Options that differ between two calls: "window: 500 then, 100 now".

    Examples
    --------
    >>> calls = [{"formula": f, "options": {"window": 5}} for f in ("y~a+b", "y ~ a")]
    >>> option_differences(*calls)
    'formula: y~a+b then, y ~ a now'
    """
    optional = dict.fromkeys(
        (
            "weights", "exposure", "key", "pending", "key_by", "position", "times",
            "surprise", "alarm", "missing_words",
        )
    )  # fmt: skip
    pairs = [(name, then.get(name), now.get(name)) for name in {**now, **optional}]
    first, second = then["options"], now["options"]
    pairs += [(name, first.get(name), second.get(name)) for name in first | second]
    return "; ".join(
        f"{_shell_name(name)}: {_shown_value(old)} then, {_shown_value(new)} now"
        for name, old, new in pairs
        if name != "options" and _compared(name, old) != _compared(name, new)
    )


def _compared(name: str, value: Any) -> Any:
    """What of an option counts: of a formula not where it has spaces."""
    if name == "formula" and value is not None:
        return re.sub(r"(?<!\w)\s+|\s+(?!\w)", "", value)
    return value


def _shell_name(name: str) -> str:
    """The name of an option in the shell, without its dashes."""
    if name == "missing_words":
        return "missing"
    flag = OPTIONS[name].flag if name in OPTIONS else ""
    return flag.removeprefix("--") or name.replace("_", "-")


def _shown_value(value: Any) -> str:
    """The value of an option in words."""
    if isinstance(value, Mapping):
        return " ".join(f"{name}={text}" for name, text in value.items())
    if isinstance(value, list):
        return ",".join(map(str, value))
    if isinstance(value, bool):
        return "on" if value else "off"
    return "none" if value is None else str(value)


def times_of(arguments: argparse.Namespace) -> dict[str, str]:
    """Columns of times, and their kinds; see `commands.rows`."""
    parts = (text.partition("=") for text in arguments.times)
    return {column: f"{TIME} {form}".strip() for column, _, form in parts}


def limits_of(arguments: argparse.Namespace) -> Limits:
    """How much text a row may be."""
    return Limits(arguments.longest_line, arguments.most_quoted)


def kinds_of(options: Mapping[str, Any], response: str) -> dict[str, str]:
    """Options of the model -> kinds of the columns they name; see `commands.rows`."""
    kinds = dict.fromkeys(options.get("categories", {}), "level")
    if "model" in options:
        kinds[response] = "any" if options["model"] in params.LABELS else "number"
    return kinds


def columns_beside(arguments: argparse.Namespace) -> dict[str, str]:
    """Columns that are asked for beside inputs and response, by what they hold.

    Raises
    ------
    ValueError
        For weights under R's rules, exposures of what is no count, weights beside keys,
        and the response.
    """
    named = {"weights": arguments.weights, "exposure": arguments.exposure}
    for what in ("key", "key_by", "position"):
        named[what] = getattr(arguments, what, None)
    found = {what: name for what, name in named.items() if name is not None}
    if "weights" in found and arguments.rules == "r":
        raise ValueError(
            "--weights is for --rules native: CRAN dynaTree has no weights."
        )
    if "exposure" in found and arguments.model not in params.COUNTS:
        got = "none" if arguments.model is None else f"--model {arguments.model}"
        raise ValueError(
            f"--exposure is for counts, --model poisson or negbin; got {got}."
        )
    if "weights" in found and "key_by" in found:
        raise ValueError("--weights does not go with --key-by: all rows count once.")
    for what, name in found.items():
        flag = f"--{what.replace('_', '-')}"
        if name == response_name(arguments.formula):
            raise ValueError(
                f"{flag} must name another column than the response; got {name!r}."
            )
        if what != "key_by" and name == found.get("key_by"):
            raise ValueError(
                f"{flag} must name another column than --key-by; got {name!r}."
            )
    return found


def cells_of(
    decimal: str,
    missing: Sequence[str] | None,
    levels: Mapping[str, Sequence[str]],
    response: str = "",
    classes: Sequence[str] | None = None,
) -> Cells:
    """How the cells of CSV are read, by levels and classes that are known."""
    named = {name: frozenset(texts) for name, texts in levels.items()}
    if classes is not None:
        is_category = re.fullmatch(r"C\((.+)\)", response)
        named[is_category[1] if is_category else response] = frozenset(classes)
    return Cells(decimal, MISSING if missing is None else missing, named)


def leaf_model_of(y: Sequence[Any], options: Mapping[str, Any]) -> str:
    """Responses -> what leaves hold where no option says: "class" for labels.

    `options` are as from `model_options`.
    """
    present = [value for value in y if isinstance(value, str) or value == value]
    if found := measured(present):
        raise ValueError(
            f"the response must be numbers, or labels; got the text {found.text!r}, "
            f"which reads as a number{found.also}. Write numbers without quotes, and "
            "null for what is missing, or say --model class."
        )
    first = next(iter(present), 0)
    if isinstance(first, str | bool):
        return "class"
    return default_leaves({**options, "window": options["window"] or None})


def keyed_leaves(y: Any) -> str:
    """The same as of `leaf_model_of`, of the first response of a model for keys."""
    return leaf_model_of([y], {"window": 1})


def _window(text: str) -> int | str:
    """A number of rows, or auto."""
    if text == params.AUTO:
        return text
    try:
        return int(text)
    except ValueError:
        words = f"must be a whole number, or {params.AUTO}; got {text}"
        raise argparse.ArgumentTypeError(words) from None


def _levels(text: str) -> tuple[str, list[str]]:
    """A column and its levels, from COLUMN=A,B,..."""
    column, equals, levels = text.partition("=")
    if not equals:
        raise ValueError(f"--levels must be COLUMN=A,B,...; got {text!r}.")
    return column, words_of(levels)


def new_model(
    options: dict[str, Any], key_by: str | None = None, store: str | None = None
) -> Any:
    """Options as from `model_options` -> a model that has seen no row.

    With the name of a column of keys it is a `KeyedStream`, which may have a store.
    """
    if key_by is not None:
        return KeyedStream(**_keyed_options(options), key=key_by, store=store)
    if options["window"]:
        return make_tree(options)
    if stray := only_for_windows(options):
        raise ValueError(f"{OPTIONS[stray[0]].flag} needs a window; got --window 0.")
    return make_tree(options | {"window": None})


def _keyed_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a model for keys; ValueError for those that it does not have."""
    for name, value in options.items():
        if name not in (*KEYED, "seed") and value != DEFAULTS.get(name):
            flags = ", ".join(OPTIONS[one].flag for one in KEYED)
            raise ValueError(
                f"{OPTIONS[name].flag} does not go with --key-by: a model for keys has "
                f"{flags} and --seed."
            )
    if options["window"] == 0:
        raise ValueError(
            "--key-by needs a window: that of the trees of single keys; got --window 0."
        )
    taken = {name: options[name] for name in (*KEYED, "seed") if name in options}
    return {k: v for k, v in taken.items() if (k, v) != ("window", params.AUTO)}
