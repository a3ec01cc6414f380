"""The shell's reference, made from the parser of its commands.

``python -m tests.shell_page`` renews it. The head of the page, down to `MARK`,
is written by hand.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from dyntree import cli

PAGE = Path(__file__).parents[1] / "vignettes" / "api" / "shell.md"
MARK = "% from here on by: python -m tests.shell_page\n"
RENEW = "python -m tests.shell_page"
SHARED = "model"  # the group that several commands have, told once
EXAMPLES = {
    "fit": 'dyntree fit rows.csv --formula "y ~ ." --model linear --out model.dyn',
    "predict": "dyntree predict model.dyn new.csv --quantiles 0.1,0.9 \\\n"
    "    --out predictions.csv",
    "stream": 'dyntree stream rows.csv --formula "y ~ ." --follow \\\n'
    "    --out predictions.csv --checkpoint live.dyn --resume --bad-rows bad.csv",
    "evaluate": 'dyntree evaluate rows.csv --formula "y ~ ." --start 50 --json',
    "keys": "dyntree keys fleet.db a17",
    "info": "dyntree info model.dyn",
    "crosscheck": 'dyntree crosscheck rows.csv --formula "y ~ ." --html page.html',
    "demo": "dyntree demo trees out",
}  # fmt: skip
CODE = re.compile(
    r"'[^']+'"  # what is quoted
    r"|[A-Za-z]+=\S+[\w%]"  # forms such as COLUMN=A,B,...
    r"|(?<![\w-])--[a-z][a-z-]*(?: (?:auto|negbin|FILE)\b)?"  # options
    r"|\b(?:dyntree\.[A-Z]\w+|[a-z]+\.(?:png|csv|json)\b)"  # classes, files
    r"|(?<![\w.])\.[a-z0-9]{2,}"  # suffixes
    r"|>> FILE|m \+ F m\^2|1e-5"
)


def generated() -> str:
    """The part of the page that the parser tells."""
    (commands,) = (
        one for one in cli.parser()._actions
        if isinstance(one, argparse._SubParsersAction)
    )  # fmt: skip
    heads = {one.dest: one.help or "" for one in commands._choices_actions}
    models = {
        name: rows
        for name, parser in commands.choices.items()
        if (rows := group_of(parser, SHARED))
    }
    common = next(iter(models.values()))
    parts = [MARK]
    for name, parser in commands.choices.items():
        parts += [f"## dyntree {name}\n", command(name, parser, heads[name])]
        if name in models:
            parts.append(model_of(models[name], common))
    names = [f"`{name}`" for name in models]
    told = f"Of {', '.join(names[:-1])} and {names[-1]}; as in `dyntree.StreamingTree`."
    parts += ["## Options of the model\n", told + "\n", table(common)]
    return "\n".join(parts)


def command(name: str, parser: argparse.ArgumentParser, head: str) -> str:
    """Usage, example, description, and options by their groups."""
    places = [one for one in parser._actions if not one.option_strings]
    needed = [one for one in parser._actions if one.option_strings and one.required]
    words = [
        *(f"[{metavar(one)}]" if one.nargs == "?" else metavar(one) for one in places),
        *(f"{one.option_strings[0]} {metavar(one)}" for one in needed),
    ]
    about = " ".join((parser.description or head).split())
    about = about[0].upper() + about[1:].rstrip(".") + "."
    usage = f"dyntree {name} {' '.join(words)} [options]"
    parts = [f"{in_page(about)}\n", f"```\n{usage}\n```\n", "For example:\n"]
    parts.append(f"```\n{EXAMPLES[name]}\n```\n")
    first = [*rows_of(places, parser), *rows_of(needed, parser)]
    own = [
        one for one in parser._optionals._group_actions
        if not one.required and one.dest != "help"
    ]  # fmt: skip
    parts.append(table([*first, *rows_of(own, parser)]))
    for group in parser._action_groups[2:]:
        if group.title != SHARED:
            title = str(group.title)
            parts.append(f"### {title[0].upper()}{title[1:]}\n")
            parts.append(table(rows_of(group._group_actions, parser)))
    return "\n".join(parts)


def group_of(parser: argparse.ArgumentParser, title: str) -> list[tuple[str, str]]:
    """Rows of the group of that title, none where there is none."""
    groups = [one for one in parser._action_groups if one.title == title]
    return rows_of(groups[0]._group_actions, parser) if groups else []


def model_of(rows: list[tuple[str, str]], common: list[tuple[str, str]]) -> str:
    """What a command says of the shared options."""
    own = [row for row in rows if row not in common]
    text = "It also takes the [options of the model](#options-of-the-model)"
    return f"{text}, of which these differ:\n\n{table(own)}" if own else f"{text}.\n"


def rows_of(
    actions: list[argparse.Action], parser: argparse.ArgumentParser
) -> list[tuple[str, str]]:
    """Name and meaning of options, as Markdown."""
    found = []
    for one in actions:
        name = one.option_strings[0] if one.option_strings else ""
        value = "" if one.nargs == 0 else metavar(one)
        meaning = in_page((one.help or "") % {**vars(one), "prog": parser.prog})
        if one.choices is not None:
            listed = ", ".join(f"`{choice}`" for choice in one.choices)
            meaning = f"{meaning}; one of {listed}"
        found.append((f"`{f'{name} {value}'.strip()}`", meaning))
    return found


def metavar(action: argparse.Action) -> str:
    """How a value is called."""
    return str(action.metavar or action.dest.upper())


def in_page(text: str) -> str:
    """A sentence of the parser with its words of the shell as code."""
    return CODE.sub(lambda found: f"`{found[0].strip(chr(39))}`", text)


def table(rows: list[tuple[str, str]]) -> str:
    """Rows as a table of Markdown."""
    cells = [f"| {name} | {text.replace('|', chr(92) + '|')} |" for name, text in rows]
    return "\n".join(["| | Meaning |", "| --- | --- |", *cells, ""])


def main() -> None:
    """Renew the page."""
    head = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
    PAGE.write_text(head + generated(), encoding="utf-8")


if __name__ == "__main__":
    main()
