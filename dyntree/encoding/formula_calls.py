"""Calls of formulas that ask for columns: C, poly, bs, cr, cc, ns; read, never run."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any, Self

from dyntree.errors import ArgumentError, Message

Argument = str | float | bool | tuple[Any, ...] | None

SIGNATURES: dict[str, tuple[str, ...]] = {
    "C": ("contrast", "levels"),
    "poly": ("degree", "raw"),
    "bs": ("df", "knots", "degree", "include_intercept", "lower_bound", "upper_bound"),
    "cr": ("df", "knots", "lower_bound", "upper_bound"),
    "cc": ("df", "knots", "lower_bound", "upper_bound"),
    "ns": ("df", "knots", "include_intercept", "lower_bound", "upper_bound"),
    "center": (),
    "scale": ("center", "scale", "ddof"),
    "standardize": ("center", "rescale", "ddof"),
    "Treatment": ("reference",),
    "Sum": (),
    "Helmert": (),
    "Poly": (),
    "contr.treatment": ("base",),
    "contr.sum": (),
    "contr.helmert": (),
    "contr.poly": (),
}
CONTRASTS = ("Treatment", "Sum", "Helmert", "Poly")
OTHER_NAMES = {f"contr.{name.lower()}": name for name in CONTRASTS}  # formulaic's
SCALERS = ("center", "scale", "standardize")
BASES = ("poly", "bs", "cr", "cc", "ns")
FLAGS = ("raw", "include_intercept", "center", "scale", "rescale")
COUNTS = {"df": 1, "degree": 0, "ddof": 0}  # the least of each
LISTS = ("knots", "levels")
NUMBERS = ("lower_bound", "upper_bound")


@dataclass(frozen=True)
class Request:
    """What a call asks for beside its first argument.

    Parameters
    ----------
    name : str
        Of the function.
    arguments : tuple of (str, object)
        By name. A contrast is a tuple of its name and, if any, its reference.

    Examples
    --------
    >>> call = ast.parse("bs(x, 4, degree=2)", mode="eval").body
    >>> Request.read(call, "bs(x, 4, degree=2)").arguments
    (('df', 4), ('degree', 2))
    """

    name: str
    arguments: tuple[tuple[str, Argument], ...] = ()

    def get(self, name: str, default: Any = None) -> Any:
        """An argument, or what it is by default."""
        return dict(self.arguments).get(name, default)

    @classmethod
    def read(cls, node: ast.AST, text: str, n_before: int = 1) -> Self:
        """The request of a call, whose first arguments are left out.

        Parameters
        ----------
        node : ast.Call
        text : str
            Of the factor, for errors.
        n_before : int, default 1
            How many arguments are left out.

        Raises
        ------
        ValueError
            If arguments are unknown, given twice or of another kind.
        """
        assert isinstance(node, ast.Call)
        name = ast.unparse(node.func)
        names, given = SIGNATURES[name], node.args[n_before:]
        if len(node.args) < n_before or len(given) > len(names):
            raise wrong(
                text, f"{name} at most the arguments {_listed(name, n_before)}",
                ast.unparse(node), "Leave out the others",
            )  # fmt: skip
        found = dict(zip(names, given, strict=False))
        for keyword in node.keywords:
            if keyword.arg not in names or keyword.arg in found:
                raise wrong(
                    text, f"{name} the arguments {_listed(name, n_before)}, each once",
                    f"{keyword.arg}=", "Leave it out",
                )  # fmt: skip
            found[keyword.arg] = keyword.value
        read = [(key, _argument(key, value, text)) for key, value in found.items()]
        return cls(name, tuple((k, value) for k, value in read if value is not None))


def wrong(label: str, rule: str, got: object, remedy: str) -> ValueError:
    """Error for a call of a formula with arguments that it cannot have."""
    return ArgumentError(
        "formula",
        f"must give {rule}, in {{label}}",
        Message("{got}", got=got),
        f"{remedy}.",
        label=label,
    )


def _listed(name: str, n_before: int) -> str:
    """Names of the arguments of a function."""
    return ", ".join((*("x",) * n_before, *SIGNATURES[name])) or "of none"


def _argument(name: str, node: ast.AST, text: str) -> Argument:
    """The value of an argument, checked for its kind."""
    if name == "contrast":
        return _contrast(node, text)
    try:
        value = ast.literal_eval(node)
    except ValueError:
        value = node
    if value is None:
        return None
    if name in FLAGS:
        rule, good = "True or False", type(value) is bool
    elif name in COUNTS:
        least = COUNTS[name]
        rule, good = f"a whole number of at least {least}", type(value) is int
        good = good and value >= least
    elif name in NUMBERS:
        rule, good = "a number", type(value) in (int, float)
    elif name in LISTS:
        kinds = (int, float) if name == "knots" else (int, float, bool, str)
        rule = f"a list of {'numbers' if name == 'knots' else 'text or numbers'}"
        good = isinstance(value, list | tuple) and {*map(type, value)} <= {*kinds}
        good = good and (len(value) > 0 or name == "knots")
        value = tuple(value) if good else value
    else:  # of a reference
        rule, good = "a level", type(value) in (int, float, bool, str)
    if not good:
        got = ast.unparse(value) if isinstance(value, ast.AST) else repr(value)
        raise wrong(text, f"{name} {rule}", got, "Write it out as such")
    found: Argument = value
    return found


def _contrast(node: ast.AST, text: str) -> Argument:
    """A contrast: its name and its reference, if any."""
    if isinstance(node, ast.Constant) and node.value is None:
        return None
    called = node.func if isinstance(node, ast.Call) else node
    written = ast.unparse(called)
    name = OTHER_NAMES.get(written, written)
    if name not in CONTRASTS:
        raise wrong(
            text, f"a contrast among {', '.join(CONTRASTS)}", ast.unparse(node),
            "Name one of them, or levels=[...]",
        )  # fmt: skip
    if not isinstance(node, ast.Call):
        return (name,)
    request = Request.read(node, text, n_before=0)
    return (name, *(value for _, value in request.arguments))
