"""Expressions of formulas: text -> steps, which are data and which NumPy replays.

Text is parsed and never run. What an expression may do is a short list: columns,
numbers, arithmetic, and the functions in `FUNCTIONS`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dyntree import params
from dyntree.encoding.values import Vector

Step = tuple[str, str | float]

OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//",
    ast.Mod: "%", ast.Pow: "**",
}  # fmt: skip
ARITHMETIC = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide,
    "//": np.floor_divide, "%": np.remainder, "**": np.power,
}  # fmt: skip
FUNCTIONS = {
    "np.abs": np.abs, "np.ceil": np.ceil, "np.cos": np.cos, "np.exp": np.exp,
    "np.expm1": np.expm1, "np.floor": np.floor, "np.log": np.log,
    "np.log10": np.log10, "np.log1p": np.log1p, "np.log2": np.log2,
    "np.negative": np.negative, "np.sign": np.sign, "np.sin": np.sin,
    "np.sqrt": np.sqrt, "np.square": np.square, "np.tan": np.tan, "np.tanh": np.tanh,
}  # fmt: skip


@dataclass(frozen=True)
class Expression:
    """One factor of a formula's terms.

    Parameters
    ----------
    label : str
        As the formula has it.
    steps : tuple of (str, str or float)
        In postfix order: ("column", name), ("number", value), ("call", function) and
        ("apply", operator).
    is_category : bool
        Whether it stands for the levels of its column, as C(column) does.

    Examples
    --------
    >>> Expression.parse("np.log(x / 2)").steps
    (('column', 'x'), ('number', 2.0), ('apply', '/'), ('call', 'np.log'))
    >>> Expression.parse("C(site)").is_category
    True
    """

    label: str
    steps: tuple[Step, ...]
    is_category: bool = False

    @classmethod
    def column(cls, name: str) -> Self:
        """A column as it is."""
        return cls(name, (("column", name),))

    @classmethod
    def parse(cls, text: str) -> Self:
        """The expression that a text means.

        Raises
        ------
        ValueError
            If it asks for more than is known here.
        """
        quoted = _Quoted(text)
        try:
            node = ast.parse(quoted.plain, mode="eval").body
        except (SyntaxError, ValueError) as error:
            raise _refusal(text, text) from error
        is_category = isinstance(node, ast.Call) and _dotted(node.func) == "C"
        if is_category:
            assert isinstance(node, ast.Call)
            if len(node.args) != 1 or node.keywords:
                raise _refusal(text, text)
            node = node.args[0]
        steps: list[Step] = []
        _append(steps, node, text, quoted)
        if is_category and (len(steps) != 1 or steps[0][0] != "column"):
            raise _refusal(text, quoted.named(ast.unparse(node)))
        return cls(text.strip(), tuple(steps), is_category)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns it needs, each once."""
        names = (str(what) for kind, what in self.steps if kind == "column")
        return tuple(dict.fromkeys(names))

    @property
    def is_bare(self) -> bool:
        """Whether it is a column as it is."""
        return len(self.steps) == 1 and bool(self.columns) and not self.is_category

    @property
    def is_arithmetic(self) -> bool:
        """Whether it is a sum, difference, product, ... that no I(...) encloses."""
        inner = self.label.removeprefix("I(").removesuffix(")")
        if len(inner) == len(self.label) - 3:
            try:
                return type(self).parse(inner).steps != self.steps
            except ValueError:  # I(a) + (b)
                return True
        return self.steps[-1][0] == "apply"

    def value(self, read: Callable[[str], Vector | float]) -> Any:
        """Its value, where `read` gives columns or what one row has in them."""
        stack: list[Any] = []
        with np.errstate(all="ignore"):
            for kind, what in self.steps:
                if kind == "column":
                    stack.append(read(str(what)))
                elif kind == "number":
                    stack.append(what)
                elif kind == "call":
                    stack.append(FUNCTIONS[str(what)](stack.pop()))
                else:
                    right = stack.pop()
                    stack.append(ARITHMETIC[str(what)](stack.pop(), right))
        return stack[0]

    def to_header(self) -> dict[str, Any]:
        """Return what a file stores."""
        steps = [list(step) for step in self.steps]
        return {"label": self.label, "steps": steps, "category": self.is_category}

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Self:
        """The expression that `to_header` described, checked."""
        steps = tuple((kind, what) for kind, what in header["steps"])
        depth = 0
        for kind, what in steps:
            known = {"column": [what], "call": FUNCTIONS, "apply": ARITHMETIC}
            if kind == "number":
                params.real("number", what)
            elif not isinstance(what, str) or what not in known[kind]:
                raise ValueError(f"an expression cannot {kind} {what!r}")
            needed = {"call": 1, "apply": 2}.get(kind, 0)
            if depth < needed:
                raise ValueError(f"{what!r} lacks an argument")
            depth += 1 - needed
        label, is_category = (
            header["label"],
            params.flag("category", header["category"]),
        )
        plain = len(steps) == 1 and steps[0][0] == "column"
        if depth != 1 or not isinstance(label, str) or (is_category and not plain):
            raise ValueError(f"{header!r} is no expression")
        return cls(label, steps, is_category)


def sides(formula: str) -> tuple[str, str, str]:
    """Left side, tilde and right side of a formula; names in backticks may have a ~.

    Examples
    --------
    >>> sides("`x ~ z` ~ u")
    ('`x ~ z`', '~', 'u')
    """
    found = re.fullmatch(r"((?:[^`~]|`[^`]*`)*)(~)(.*)", formula, re.DOTALL)
    left, tilde, right = found.groups() if found else formula.partition("~")
    return left.strip(), tilde, right.strip()


def response_name(formula: str) -> str:
    """Left side of a formula, a name in backticks without them."""
    left = sides(formula)[0]
    return left[1:-1] if is_quoted(left) else left


def is_quoted(left: str) -> bool:
    """Whether a text is one name in backticks."""
    return left.startswith("`") and left.endswith("`") and left.count("`") == 2


def columns_of(expressions: Sequence[Expression]) -> tuple[str, ...]:
    """Columns that any of them needs, each once."""
    return tuple(dict.fromkeys(name for e in expressions for name in e.columns))


def check_quotes(text: str) -> None:
    """Raise SyntaxError where a name in backticks touches another name or number."""
    for found in re.finditer("`[^`]*`", text):
        before, after = text[: found.start()][-1:], text[found.end() :][:1]
        if any(one in "._`" or one.isalnum() for one in (before, after) if one):
            raise SyntaxError(f"{found[0]} needs an operator before and after it")


def with_names(text: str, prefix: str, names: Sequence[str], quote: str) -> str:
    """Text with names for what stands for them: the prefix and a place among them."""
    return re.sub(
        rf"{prefix}(\d+)",
        lambda found: f"{quote}{names[int(found[1])]}{quote}",
        text,
    )


class _Quoted:
    """A text whose names in backticks became names that Python can read.

    Attributes
    ----------
    prefix : str
        What these begin with, which the text itself does not have.
    plain : str
        The text with them.
    """

    def __init__(self, text: str) -> None:
        self.names: list[str] = []
        self.prefix = "column_"
        while self.prefix in text:
            self.prefix += "_"
        check_quotes(text)
        self.plain = re.sub("`([^`]*)`", self._stand_in, text.strip())

    def _stand_in(self, found: re.Match[str]) -> str:
        self.names.append(found[1])
        return f"{self.prefix}{len(self.names) - 1}"

    def named(self, text: str, quote: str = "`") -> str:
        """Text with the names of columns again."""
        return with_names(text, self.prefix, self.names, quote)


def _append(steps: list[Step], node: ast.AST, text: str, quoted: _Quoted) -> None:
    """Append the steps of a node of Python's syntax."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        steps.append(("number", float(node.value)))  # type: ignore[arg-type]
    elif (name := _dotted(node)) is not None:
        steps.append(("column", quoted.named(name, quote="")))
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        _append(steps, node.left, text, quoted)
        _append(steps, node.right, text, quoted)
        steps.append(("apply", OPERATORS[type(node.op)]))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        _append(steps, node.operand, text, quoted)
        steps.append(("call", "np.negative"))
    elif isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        function = _dotted(node.func) or ast.unparse(node.func)
        if f"np.{function}" in FUNCTIONS:  # formulaic knows log and others without np
            function = f"np.{function}"
        if function != "I" and function not in FUNCTIONS:
            raise _refusal(text, quoted.named(function))
        _append(steps, node.args[0], text, quoted)
        if function != "I":
            steps.append(("call", function))
    else:
        raise _refusal(text, quoted.named(ast.unparse(node)))


def _dotted(node: ast.AST) -> str | None:
    """A name with dots, such as np.log; None for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (left := _dotted(node.value)) is not None:
        return f"{left}.{node.attr}"
    return None


def _refusal(text: str, part: str) -> ValueError:
    """Error for a part of a formula that means nothing here."""
    where = f"{part} in {text}" if part != text else text
    return ValueError(
        "formula must be made of columns, C(column), numbers, + - * / // % **, I(...) "
        f"and {', '.join(FUNCTIONS)}; got {where}. Put such a column into the data."
    )
