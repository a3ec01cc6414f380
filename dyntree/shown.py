"""Text of the user's, as people see it: on one line, and on pages of HTML and LaTeX."""

from __future__ import annotations

import html
import unicodedata

JOINERS = "\u200c\u200d"  # of letters and emoji
SIGNS = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f"  # Arabic, Syriac: are seen
HARMLESS = frozenset(JOINERS + SIGNS)
HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # controls, formats, surrogates, separators
LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&",
    "%": r"\%", "#": r"\#", "_": r"\_", "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}",
}  # fmt: skip


def shown(text: object) -> str:
    r"""Text on one line, with escapes for what is not seen or moves what is.

    These are control characters, separators of lines and paragraphs, formats that turn
    the direction of text around, and lone surrogates, which cannot be printed. Letters
    of all scripts, accents and emoji stay as they are.

    Parameters
    ----------
    text : str
        What is no text is shown as `str` has it.

    Returns
    -------
    str

    Examples
    --------
    >>> shown("size\x1b[2J\n"), shown("\u202esize\ud800")
    ('size\\x1b[2J\\n', '\\u202esize\\ud800')
    >>> shown("größe, размер, 🙂")
    'größe, размер, 🙂'
    """
    text = str(text)
    if text.isprintable():
        return text
    return "".join(map(_seen, text))


def _seen(char: str) -> str:
    """A character, or the escape that stands for it."""
    is_seen = char.isprintable() or unicodedata.category(char) not in HIDDEN
    if is_seen or char in HARMLESS:
        return char
    return char.encode("unicode_escape").decode("ascii")


def in_html(text: object) -> str:
    """Text as a part of a page of HTML.

    Examples
    --------
    >>> in_html("<script> & co")
    '&lt;script&gt; &amp; co'
    """
    return html.escape(shown(text), quote=True)


def in_latex(text: object) -> str:
    r"""Text as a part of a LaTeX document, in which none of it is a command.

    A bracket or a star in front would be read as part of the end of the row before.

    Examples
    --------
    >>> print(in_latex(r"\input{x} & co"))
    \textbackslash{}input\{x\} \& co
    """
    escaped = "".join(LATEX.get(char, char) for char in shown(text))
    return f"{{{escaped[0]}}}{escaped[1:]}" if escaped[:1] in ("[", "*") else escaped
