"""Columns of text that hold numbers or dates, each of which would be a level."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from dyntree.encoding.values import declared
from dyntree.errors import DatesAsTextWarning, Message, NumbersAsTextWarning, warn
from dyntree.params.labels import is_measured, reads_as_number

MOST_CODES = 30  # different whole numbers that may be codes
FEWEST = 3  # different dates, or numbers beside other text
ENOUGH = 40  # different texts that show what a column holds
SHARE = 10  # one different text in so many may be another one, beside the first
ISO = ""
HOURS = ("%H:%M", "%H:%M:%S")  # times of day: a few of them are levels
FORMS = (
    ISO, "%Y-%m", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d.%m.%Y", *HOURS,
    "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M", "%Y/%m/%d %H:%M", "%d.%m.%Y %H:%M",
)  # fmt: skip # in which a date or a time may be written

BEGIN = "column {name!r} holds {what} as text, such as {text!r}"
NUMBERS_AS_TEXT = (
    f"{BEGIN}, so that each is a level of its own. Convert the column to numbers, or, "
    "if they are levels, name them: {declared}."
)
SOME_NUMBERS_AS_TEXT = (
    f"{BEGIN}, but also {{other!r}}, so that each is a level of its own. Convert the "
    "column to numbers, with NaN where there is none, or, if they are levels, name "
    "them: {declared}."
)
DATES_AS_TEXT = (
    f"{BEGIN}{{also}}, so that each is a level of its own. Convert the column to dates "
    "(in pandas by pd.to_datetime), or, if they are levels, name them: {declared}."
)
HOURS_AS_TEXT = (
    f"{BEGIN}{{also}}, so that each is a level of its own. Convert the column to "
    "durations (in pandas by pd.to_timedelta), or, if they are levels, name them: "
    "{declared}."
)
FIT_NUMBERS = (
    "Column {name!r} holds numbers as text: convert it to numbers, and fit again."
)
FIT_DATES = (
    "Column {name!r} holds dates or times as text: convert it to dates (in pandas by "
    "pd.to_datetime), and fit again."
)
FIT_HOURS = (
    "Column {name!r} holds times of day as text: convert it to durations (in pandas by "
    "pd.to_timedelta), and fit again."
)


@dataclass(frozen=True)
class Meaning:
    """What texts are meant as.

    Attributes
    ----------
    text : str
        The first one that shows it.
    other : str or None
        The first one that is something else, if any is.
    form : str or None
        How dates are written, as of `FORMS`; None for numbers.
    """

    text: str
    other: str | None = None
    form: str | None = None

    @property
    def also(self) -> Message | str:
        """What is something else, for messages; nothing where nothing is."""
        other = self.other
        return "" if other is None else Message(", but also {other!r}", other=other)

    def warn(self, name: Hashable, way: Message | None = None) -> None:
        """Warn of a column that holds them; `way` says how its levels are named."""
        text, other, named = self.text, self.other, way or declared(name)
        if self.form is None:
            template = NUMBERS_AS_TEXT if other is None else SOME_NUMBERS_AS_TEXT
            warn(
                NumbersAsTextWarning, template, name=name, what="numbers", text=text,
                other=other, declared=named,
            )  # fmt: skip
            return
        hours = self.form in HOURS
        warn(
            DatesAsTextWarning, HOURS_AS_TEXT if hours else DATES_AS_TEXT, name=name,
            what="times of day" if hours else "dates or times", text=text,
            also=self.also, declared=named, times=self._times(name),
        )  # fmt: skip

    def remedy(self, name: Hashable) -> Message:
        """What to do about levels that are not known."""
        if self.form is None:
            return Message(FIT_NUMBERS, name=name)
        template = FIT_HOURS if self.form in HOURS else FIT_DATES
        return Message(template, name=name, times=self._times(name))

    def _times(self, name: Hashable) -> str:
        """The column as the shell's option ``--times`` names it."""
        return f"{name}={self.form}" if self.form else str(name)


def meaning(texts: Sequence[str]) -> Meaning | None:
    """What different texts are meant as: numbers, dates or times; None for levels.

    All but a few must read as such: one, and one in ten. Numbers have a fraction
    somewhere, or there are more than `MOST_CODES` of them, none with a leading zero and
    not all of one length above three: otherwise they may be codes. Dates are at least
    three, and times of day `MOST_CODES`, all written in one way.

    Parameters
    ----------
    texts : sequence of str

    Examples
    --------
    >>> meaning(["31.5", "35", "42", "unknown"])
    Meaning(text='31.5', other='unknown', form=None)
    >>> meaning(["01/30/2024", "01/31/2024", "02/01/2024"]).form
    '%m/%d/%Y'
    >>> meaning(["31", "35", "42"]), meaning(["007", "12", "35"] * 20)
    (None, None)
    """
    found = _mostly(texts, reads_as_number)
    if found is not None:
        numbers, other = found
        fraction = next(filter(is_measured, numbers), None)
        if fraction is not None:
            return Meaning(fraction, other)
        if len(numbers) > MOST_CODES and not _are_codes(numbers):
            return Meaning(numbers[0], other)
    for form in FORMS:
        found = _mostly(texts, partial(reads_as_time, form=form))
        fewest = MOST_CODES if form in HOURS else FEWEST
        if found is not None and len(found[0]) >= fewest:
            return Meaning(found[0][0], found[1], form)
    return None


def measured(responses: Iterable[Any]) -> Meaning | None:
    """What responses are if all are text, nearly all numbers, and some have fractions.

    Examples
    --------
    >>> measured(["1", "3.01"]).text, measured(["u", "3.01"]), measured(["u", 3.01])
    ('3.01', None, None)
    """
    texts = [*responses]
    if not all(isinstance(text, str) for text in texts):
        return None
    found = meaning([*dict.fromkeys(texts)])
    is_measure = found is not None and found.form is None and is_measured(found.text)
    return found if is_measure else None


def _mostly(
    texts: Sequence[str], reads: Callable[[str], bool]
) -> tuple[list[str], str | None] | None:
    """Texts that read as something, and the first other one, if these are few."""
    most = 1 + len(texts) // SHARE
    found, others = list[str](), list[str]()
    for text in texts:
        (found if reads(text) else others).append(text)
        if len(others) > most:
            return None
    if not found or (others and len(found) < FEWEST):
        return None
    return found, next(iter(others), None)


def _are_codes(numbers: Sequence[str]) -> bool:
    """Whether whole numbers look like codes: zeros before them, or of one length."""
    digits = [text.strip().lstrip("+-") for text in numbers]
    are_padded = any(one[:1] == "0" and one[1:2].isdecimal() for one in digits)
    return are_padded or (
        {*map(len, digits)} == {len(digits[0])} and len(digits[0]) > 3
    )


def reads_as_time(text: str, form: str = ISO) -> bool:
    """Whether a text reads as a date or a time that is written in this form.

    Examples
    --------
    >>> [reads_as_time(text) for text in ("2024-01-31", "2024-01-31T10:30", "20240131")]
    [True, True, False]
    >>> [reads_as_time(text, "%H:%M") for text in ("10:30", "16:9")]
    [True, False]
    """
    if not text[:1].isdecimal():
        return False
    try:
        if form == ISO:
            return "-" in text and bool(datetime.fromisoformat(text))
        return text[-2:].isdecimal() and bool(datetime.strptime(text, form))
    except ValueError:
        return False
