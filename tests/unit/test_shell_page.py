"""The shell's reference has every command and option, as the parser tells them."""

from __future__ import annotations

import argparse
import shlex

import pytest

from dyntree import cli
from tests import shell_page

pytestmark = pytest.mark.skipif(not shell_page.PAGE.is_file(), reason="no source tree")


def test_the_page_is_that_of_the_parser() -> None:
    text = shell_page.PAGE.read_text(encoding="utf-8")
    assert shell_page.MARK in text
    part = shell_page.MARK + text.partition(shell_page.MARK)[2]
    renew = f"vignettes/api/shell.md differs from the parser: {shell_page.RENEW}"
    assert part == shell_page.generated(), renew


def test_no_option_is_left_out() -> None:
    """By the words of --help, not by how the page is made."""
    page = shell_page.generated()
    whole = cli.parser()
    (commands,) = (
        one for one in whole._actions if isinstance(one, argparse._SubParsersAction)
    )
    assert {*commands.choices} == {*shell_page.EXAMPLES}
    for name, parser in commands.choices.items():
        part = page.partition(f"## dyntree {name}\n")[2].partition("\n## ")[0]
        shared = page.partition("## Options of the model\n")[2]
        told = part + shared if "#options-of-the-model" in part else part
        for action in parser._actions:
            if action.dest != "help":
                word = action.option_strings[0] if action.option_strings else ""
                assert f"| `{word or action.metavar or action.dest.upper()}" in told
        example = shlex.split(shell_page.EXAMPLES[name].replace("\\\n", ""))[1:]
        assert whole.parse_args(example).command == name


def test_an_option_that_is_new_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    def more() -> argparse.ArgumentParser:
        whole = argparse.ArgumentParser(prog="dyntree")
        commands = whole.add_subparsers()
        made = commands.add_parser("info", help="say what it is")
        made.add_argument("--new", help="of no page")
        made.add_argument_group("model").add_argument("--more")
        return whole

    monkeypatch.setattr(cli, "parser", more)
    assert "| `--new NEW` | of no page |" in shell_page.generated()
