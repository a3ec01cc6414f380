"""The table of options: each is declared once, as a field of a frozen dataclass.

A declaration says what the default is, how a value is checked, for which models alone
it is, how shells and R name it, and what it does. Signatures, parsers and documentation
of all faces follow from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from inspect import cleandoc
from textwrap import fill, indent
from typing import Any

from dyntree.params.checks import one_of


@dataclass(frozen=True)
class Option:
    """What is declared of an option, beside its name, its type and its default.

    Attributes
    ----------
    doc : str
        What it does.
    check : tuple
        A function of the name, the value and the further items, which returns the value
        to store. Empty if the record checks it otherwise.
    only_for : tuple of str
        Models and rules that alone have it.
    shell : str
        The option of a command and the placeholder of its value; "" if it has none.
    r : str
        Its name in R; "" if it is the same.
    """

    doc: str
    check: tuple[Any, ...] = ()
    only_for: tuple[str, ...] = ()
    shell: str = ""
    r: str = ""

    @property
    def flag(self) -> str:
        """The option of a command."""
        return self.shell.partition(" ")[0]

    @property
    def choices(self) -> tuple[str, ...] | None:
        """The texts that are allowed, if it is one of some."""
        return self.check[1] if self.check[:1] == (one_of,) else None


def option(
    default: Any,
    doc: str,
    check: Callable[..., Any] | None = None,
    *more: Any,
    only_for: str = "",
    shell: str = "",
    r: str = "",
) -> Any:
    """A field of a record of options; `more` are further arguments of the check."""
    checks = () if check is None else (check, *more)
    declared = Option(doc, checks, tuple(only_for.split()), shell, r)
    return field(default=default, metadata={"option": declared})


def checked(default: Any, check: Callable[..., Any], *more: Any, r: str = "") -> Any:
    """A field like `option` whose documentation stands in the model."""
    return option(default, "", check, *more, r=r)


def table_of(record: Any) -> dict[str, Option]:
    """The options that a record declares, by name."""
    return {
        one.name: one.metadata["option"]
        for one in fields(record)
        if "option" in one.metadata
    }


def r_names(record: Any) -> dict[str, str]:
    """R's names of options, by ours, where they are others."""
    return {name: one.r for name, one in table_of(record).items() if one.r}


def check_options(record: Any, of: str = "") -> None:
    """Let a new record hold its options as their checks return them.

    None stands where it is the default. Errors call options parts `of` something.
    """
    for name, one in table_of(record).items():
        value = getattr(record, name)
        if one.check and not (value is None and getattr(type(record), name) is None):
            check, *more = one.check
            object.__setattr__(record, name, check(f"{of}{name}", value, *more))


def documented(record: type) -> type:
    """Give a record a parameter section with its options."""
    text = f"{cleandoc(record.__doc__ or '')}\n\nParameters\n----------"
    for one in fields(record):
        doc = one.metadata["option"].doc
        text += f"\n{one.name} : {one.type}, default {one.default!r}\n"
        text += indent(fill(f"{doc[0].upper()}{doc[1:]}.", 80), "    ")
    record.__doc__ = text + "\n"
    return record
