"""Text of the user's as parts of pages of HTML and LaTeX."""

from __future__ import annotations

import html

from dyntree.errors import shown

LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&",
    "%": r"\%", "#": r"\#", "_": r"\_", "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}",
}  # fmt: skip


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
