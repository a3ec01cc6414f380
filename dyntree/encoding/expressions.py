"""Expressions of formulas: text -> steps, which are data and which NumPy replays.

Text is parsed and never run. What an expression may do is a short list: columns,
numbers, arithmetic, and the functions in `FUNCTIONS`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, Self

import numpy as np

from dyntree import params
from dyntree.encoding.fitted_terms import statistic
from dyntree.encoding.formula_calls import BASES, SCALERS, Request
from dyntree.encoding.values import Vector
from dyntree.errors import ArgumentError, Message
from dyntree.params.labels import check_text

Step = tuple[str, str | float]
QUOTED = "`([^`]*)`"  # a name in backticks

OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//",
    ast.Mod: "%", ast.Pow: "**",
}  # fmt: skip
COMPARISONS: dict[type[ast.AST], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==",
    ast.NotEq: "!=",
}  # fmt: skip


def _compared(rule: np.ufunc) -> Callable[[Any, Any], Any]:
    """A comparison as 0 or 1, NaN where a side is NaN."""

    def compare(left: Any, right: Any) -> Any:
        unknown = np.isnan(left) | np.isnan(right)
        return np.where(unknown, np.nan, rule(left, right))[()]

    return compare


def _where(condition: Any, yes: Any, no: Any) -> Any:
    """As np.where, NaN where the condition is NaN."""
    return np.where(np.isnan(condition), np.nan, np.where(condition, yes, no))[()]


FUNCTIONS = {
    "np.abs": np.abs, "np.ceil": np.ceil, "np.cos": np.cos, "np.exp": np.exp,
    "np.expm1": np.expm1, "np.floor": np.floor, "np.log": np.log,
    "np.log10": np.log10, "np.log1p": np.log1p, "np.log2": np.log2,
    "np.negative": np.negative, "np.sign": np.sign, "np.sin": np.sin,
    "np.sqrt": np.sqrt, "np.square": np.square, "np.tan": np.tan, "np.tanh": np.tanh,
}  # fmt: skip
APPLIED: dict[str, Callable[..., Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide,
    "//": np.floor_divide, "%": np.remainder, "**": np.power,
    "<": _compared(np.less), "<=": _compared(np.less_equal),
    ">": _compared(np.greater), ">=": _compared(np.greater_equal),
    "==": _compared(np.equal), "!=": _compared(np.not_equal),
    "np.power": np.power, "np.maximum": np.maximum, "np.minimum": np.minimum,
}  # fmt: skip
DONE: dict[str, Mapping[str, Callable[..., Any]]] = {  # by steps of each kind
    "call": FUNCTIONS, "apply": APPLIED, "choose": {"np.where": _where},
}  # fmt: skip
N_USED = {kind: n for n, kind in enumerate(DONE, 1)}  # values that a step takes
OF_SEVERAL = {  # functions of several numbers: how many, and a use that errors show
    "np.power": (2, "np.power(x, 2)"),
    "np.maximum": (2, "np.maximum(x, 0)"),
    "np.minimum": (2, "np.minimum(x, 1)"),
    "np.where": (3, "np.where(x > 3, 1, 0)"),
    "np.clip": (3, "np.clip(x, 0, None)"),  # a maximum, then a minimum
}


@dataclass(frozen=True)
class Expression:
    """One factor of a formula's terms.

    Parameters
    ----------
    label : str
        As the formula has it.
    steps : tuple of (str, str or float)
        In postfix order: ("column", name), ("number", value), ("call", function) of
        one argument, ("apply", operator or function) of two and ("choose", function)
        of three. Until it is learned also ("learn", statistic), by which what stands
        before is centred or scaled.
    is_category : bool
        Whether it stands for levels, as C(column) does.
    asked : Request, optional
        What it asks for, until it is learned: a coding of levels, a spline, ...

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
    asked: Request | None = None

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
        name = _dotted(node.func) if isinstance(node, ast.Call) else None
        asked = None
        if isinstance(node, ast.Call) and name in ("C", *BASES):
            asked = Request.read(node, quoted.named(quoted.plain))
            node = node.args[0]
        quoted.append(node)
        if asked == Request("C"):
            asked = None
        return cls(text.strip(), tuple(quoted.steps), name == "C", asked)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Columns it needs, each once."""
        names = (str(what) for kind, what in self.steps if kind == "column")
        return tuple(dict.fromkeys(names))

    @property
    def is_bare(self) -> bool:
        """Whether it is a column as it is."""
        return self.is_of_column and not self.is_category and self.asked is None

    @property
    def is_of_column(self) -> bool:
        """Whether it stands for values of a column as they are, or for their levels."""
        return len(self.steps) == 1 and bool(self.columns)

    @property
    def is_truth(self) -> bool:
        """Whether it is a comparison, or a chain of them, which holds or does not."""
        stack: list[bool] = []
        for kind, what in self.steps:
            n_used = N_USED.get(kind, 0)
            used = stack[len(stack) - n_used :]
            del stack[len(stack) - n_used :]
            is_rule = what in COMPARISONS.values() or (what == "*" and all(used))
            stack.append(kind == "apply" and is_rule)
        return stack[-1]

    @property
    def is_arithmetic(self) -> bool:
        """Whether it is a sum, difference, product, ... that no I(...) encloses."""
        inner = self.label.removeprefix("I(").removesuffix(")")
        if len(inner) == len(self.label) - 3:
            try:
                return type(self).parse(inner).steps != self.steps
            except ValueError:  # I(a) + (b)
                return True
        return self.steps[-1][0] == "apply" and self.steps[-1][1] in OPERATORS.values()

    def value(self, read: Callable[[str], Vector | float]) -> Any:
        """Its value, where `read` gives columns or what one row has in them."""
        return _run(self.steps, read)

    def learned(self, read: Callable[[str], Vector]) -> Self:
        """The expression with what it learns from columns as numbers."""
        steps: list[Step] = []
        for kind, what in self.steps:
            if kind != "learn":
                steps.append((kind, what))
                continue
            values = np.asarray(_run(steps, read), dtype=np.float64)
            number = statistic(str(what), np.atleast_1d(values), self.label)
            steps += [("number", number), ("apply", "-" if what == "mean" else "/")]
        return replace(self, steps=tuple(steps), asked=None)

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
            if kind == "number":
                params.real("number", what)
            elif not isinstance(what, str) or (
                kind != "column" and what not in DONE[kind]
            ):
                raise ValueError(
                    Message(
                        "an expression cannot {kind} {what!r}", kind=kind, what=what
                    )
                )
            needed = N_USED.get(kind, 0)
            if depth < needed:
                raise ValueError(Message("{what!r} lacks an argument", what=what))
            depth += 1 - needed
        label, is_category = (
            header["label"],
            params.flag("category", header["category"]),
        )
        has_column = any(kind == "column" for kind, _ in steps)
        if depth != 1 or not isinstance(label, str) or is_category > has_column:
            raise ValueError(Message("{header!r} is no expression", header=header))
        return cls(label, steps, is_category)


def _run(steps: Sequence[Step], read: Callable[[str], Vector | float]) -> Any:
    """What the last of some steps leaves."""
    stack: list[Any] = []
    with np.errstate(all="ignore"):
        for kind, what in steps:
            if kind == "column":
                stack.append(read(str(what)))
            elif kind == "number":
                stack.append(what)
            else:
                n_before = len(stack) - N_USED[kind]
                stack[n_before:] = [DONE[kind][str(what)](*stack[n_before:])]
    return stack[-1]


def summands(text: str) -> list[str]:
    """Expressions that a sum is of, each with a column; else the text itself.

    Examples
    --------
    >>> summands("y + np.log(`a + b`) + C(site)")
    ['y', 'np.log(`a + b`)', 'C(site)']
    >>> summands("y + 1")
    ['y + 1']
    """
    try:
        quoted = _Quoted(text)
        node = ast.parse(quoted.plain, mode="eval").body
    except (SyntaxError, ValueError):  # which who reads it as one will tell
        return [text]
    parts: list[ast.expr] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts.append(node.right)
        node = node.left
    nodes = [node, *reversed(parts)]
    if any(not any(isinstance(n, ast.Name) for n in ast.walk(one)) for one in nodes):
        return [text]
    found = [ast.get_source_segment(quoted.plain, one) or "" for one in nodes]
    return [quoted.named(one) for one in found]


def sides(formula: str) -> tuple[str, str, str]:
    """Left side, tilde and right side of a formula; names in backticks may have a ~.

    Examples
    --------
    >>> sides("`x ~ z` ~ u")
    ('`x ~ z`', '~', 'u')
    """
    check_text(formula, "formula")
    formula = with_backticks(formula)
    found = re.fullmatch(r"((?:[^`~]|`[^`]*`)*)(~)(.*)", formula, re.DOTALL)
    left, tilde, right = found.groups() if found else formula.partition("~")
    return left.strip(), tilde, right.strip()


def with_backticks(formula: str) -> str:
    """A formula with backticks for Q(...), which names columns as they do.

    Examples
    --------
    >>> with_backticks("y ~ Q('a b') + C(Q('c'))")
    'y ~ `a b` + C(`c`)'
    """
    return re.sub(
        r"""`[^`]*`|(?<![\w.])Q\(\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\s*\)""",
        lambda found: _in_backticks(found[1]) if found[1] else found[0],
        formula,
    )


def _in_backticks(literal: str) -> str:
    """The name that a string of Python spells, in backticks."""
    try:
        name: str = ast.literal_eval(literal)
    except SyntaxError:
        raise ArgumentError(
            "formula",
            "must write a name in one line",
            Message("Q({literal})", literal=literal),
            "Rename the column, or write its line break as \\n.",
        ) from None
    if "`" in name or not name:
        raise ArgumentError(
            "formula",
            "must name columns that have a name without backticks",
            Message("Q({literal})", literal=literal),
            "Rename the column.",
        )
    return f"`{name}`"


def response_name(formula: str) -> str:
    """Left side of a formula, a name in backticks without them."""
    left = sides(formula)[0]
    return left[1:-1] if is_quoted(left) else left


def is_quoted(left: str) -> bool:
    """Whether a text is one name in backticks."""
    return left.startswith("`") and left.endswith("`") and left.count("`") == 2


def columns_of(expressions: Sequence[Expression]) -> tuple[str, ...]:
    """Columns that any of them needs, each once."""
    names = chain.from_iterable(expression.columns for expression in expressions)
    return tuple(dict.fromkeys(names))


class StandIns:
    """Names that Python can read, which stand for columns in a text.

    Parameters
    ----------
    columns : sequence of str
    text : str
        What will be read: no stand-in occurs in it.
    """

    def __init__(self, columns: Sequence[str], text: str) -> None:
        self.columns = tuple(columns)
        self.places = dict(zip(self.columns, range(len(columns)), strict=True))
        self.prefix, texts = "column_", "\n".join([text, *columns])
        while self.prefix in texts:
            self.prefix += "_"

    def of(self, name: str) -> str:
        """The stand-in of a column."""
        return f"{self.prefix}{self.places[name]}"

    def unquoted(self, text: str) -> str:
        """Text with stand-ins for the names in backticks.

        Raises
        ------
        SyntaxError
            Where such a name touches another name or a number.
        """
        for found in re.finditer(QUOTED, text):
            before, after = text[: found.start()][-1:], text[found.end() :][:1]
            if any(one in "._`" or one.isalnum() for one in (before, after) if one):
                raise SyntaxError(f"{found[0]} needs an operator before and after it")
        return re.sub(QUOTED, lambda found: self.of(found[1]), text)

    def named(self, text: str, quote: str = "`") -> str:
        """Text with the names of columns for their stand-ins."""
        return re.sub(
            rf"{self.prefix}(\d+)",
            lambda found: f"{quote}{self.columns[int(found[1])]}{quote}",
            text,
        )


class _Quoted(StandIns):
    """A text whose names in backticks became names that Python can read; its steps.

    Attributes
    ----------
    plain : str
        The text with them.
    steps : list
        What `append` has made of parts of it.
    """

    def __init__(self, text: str) -> None:
        super().__init__([*dict.fromkeys(re.findall(QUOTED, text))], text)
        self.text, self.steps = text, list[Step]()
        self.plain = self.unquoted(text.strip())

    def append(self, node: ast.AST) -> None:
        """Append the steps of a node of Python's syntax."""
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            self.steps.append(("number", float(node.value)))  # type: ignore[arg-type]
        elif (name := _dotted(node)) is not None:
            self.steps.append(("column", self.named(name, quote="")))
        elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            self.append(node.left)
            self.append(node.right)
            self.steps.append(("apply", OPERATORS[type(node.op)]))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            self.append(node.operand)
            self.steps.append(("call", "np.negative"))
        elif isinstance(node, ast.Compare):
            self._append_comparison(node)
        elif isinstance(node, ast.Call):
            self._append_call(node)
        else:
            raise _refusal(self.text, self.named(ast.unparse(node)))

    def _append_comparison(self, node: ast.Compare) -> None:
        """Append a comparison, or a chain of them, which holds where all of them do."""
        sides = [node.left, *node.comparators]
        for place, rule in enumerate(node.ops):
            if type(rule) not in COMPARISONS:
                raise _refusal(self.text, self.named(ast.unparse(node)))
            self.append(sides[place])
            self.append(sides[place + 1])
            self.steps.append(("apply", COMPARISONS[type(rule)]))
            if place:
                self.steps.append(("apply", "*"))

    def _append_call(self, node: ast.Call) -> None:
        """Append a call of I or of a function that is known here."""
        function = _dotted(node.func) or ast.unparse(node.func)
        if function in SCALERS:
            self._append_scaling(node)
            return
        if function in BASES or function == "C":
            raise ArgumentError(
                "formula",
                "must have {function}(...) as a factor of its own",
                self.named(self.text),
                "Write what is around it inside, or as another term.",
                function=function,
            )
        if f"np.{function}" in FUNCTIONS:  # formulaic knows log and others without np
            function = f"np.{function}"
        if function != "I" and function not in {*FUNCTIONS, *OF_SEVERAL}:
            raise _refusal(self.text, self.named(function))
        needed, uses = OF_SEVERAL.get(function, (1, ""))
        if len(node.args) != needed or node.keywords:
            if needed == 1:
                raise _refusal(self.text, self.named(ast.unparse(node)))
            raise ArgumentError(
                "formula",
                "must give {function} {needed} arguments without names",
                self.named(ast.unparse(node)),
                "Write {uses}.",
                function=function,
                needed=needed,
                uses=uses,
            )
        if function == "np.clip":
            self._append_clip(node)
            return
        for argument in node.args:
            self.append(argument)
        kinds = [kind for kind, done in DONE.items() if function in done]  # not of I
        self.steps += [(kind, function) for kind in kinds]

    def _append_scaling(self, node: ast.Call) -> None:
        """Append what center, scale or standardize mean: what they learn, its use."""
        request = Request.read(node, self.named(self.plain))
        self.append(node.args[0])
        if request.get("center", True):
            self.steps.append(("learn", "mean"))
        has_spread = request.get("scale", request.get("rescale", True))
        if request.name != "center" and has_spread:
            default = 1 if request.name == "scale" else 0
            self.steps.append(("learn", f"spread {request.get('ddof', default)}"))

    def _append_clip(self, node: ast.Call) -> None:
        """Append what np.clip means: a maximum, then a minimum; None is no bound."""
        value, *bounds = node.args
        self.append(value)
        for bound, function in zip(bounds, ("np.maximum", "np.minimum"), strict=True):
            if not (isinstance(bound, ast.Constant) and bound.value is None):
                self.append(bound)
                self.steps.append(("apply", function))


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
    return ArgumentError(
        "formula",
        "must be made of columns, C(column), numbers, + - * / // % **, comparisons "
        "such as x > 3, I(...), Q('column') and {functions}",
        Message("{where}", where=where),
        "Put such a column into the data.",
        functions=", ".join([*FUNCTIONS, *OF_SEVERAL, *SCALERS, *BASES]),
    )
