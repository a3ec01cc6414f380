"""Faces of a model: classes that have its parameters, and a few more or others."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from functools import wraps
from inspect import Parameter, Signature, cleandoc, getdoc, signature
from typing import Any, TypeVar

from dyntree.errors import short
from dyntree.params.names import check_accepted

Face = TypeVar("Face")
Answer = TypeVar("Answer")
HEADING = "Parameters\n----------\n"
_SECTION = re.compile(re.escape(HEADING) + r"(.*?)(?=\n\n\S[^\n]*\n---|\Z)", re.DOTALL)
_ENTRY = re.compile(
    r"^(\S[^\n]*)(?:\n|\Z)((?:(?: [^\n]*)?\n| [^\n]*\Z)*)", re.MULTILINE
)
SELF = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
_KINDS = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def derived(
    *models: type, without: Collection[str] = ()
) -> Callable[[type[Face]], type[Face]]:
    """Give a class the parameters of a model, and their documentation.

    The class and its bases declare in `__init__` and in their docstrings what differs
    from the model or is not in it. Of these, new parameters come last, but before a
    seed. All arguments become attributes, before `__init__` runs with all of them.
    ``**options`` in a declaration stands for the rest, and ``*arguments`` declares that
    all may be passed by place.

    Parameters
    ----------
    *models : type
        The model, and others to whose documentation its own refers.
    without : collection of str
        Parameters of the model that the class does not have.

    Returns
    -------
    callable
        A decorator of classes.

    Examples
    --------
    >>> class Model:
    ...     def __init__(self, width=3, *, depth=2, seed=0): ...
    >>> @derived(Model, without=["seed"])
    ... class Face:
    ...     def __init__(self, *, depth=1, **options): ...
    >>> vars(Face(5)), [*signature(Face).parameters]
    ({'width': 5, 'depth': 1}, ['width', 'depth'])
    """

    def finished(face: Any) -> Any:
        declared = face.__init__
        own, model = _declared(face), dict(signature(models[0]).parameters)
        parameters = _joined(own, model, without)
        whole = Signature([SELF, *parameters.values()], return_annotation="None")

        @wraps(declared)
        def __init__(self: Any, *arguments: Any, **options: Any) -> None:
            given = _bound(whole, face.__name__, self, *arguments, **options)
            del given["self"]
            vars(self).update(given)
            declared(self, **given)

        __init__.__signature__ = whole  # type: ignore[attr-defined]
        face.__init__ = __init__
        own_docs = parameter_docs(*face.__mro__)
        face.__doc__ = _documented(face.__doc__, parameters, own_docs, models)
        return face

    return finished


def with_options(
    *models: type, without: Collection[str] = ()
) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
    """Give a function the parameters of a model in place of its ``**options``.

    Parameters
    ----------
    *models, without
        As in `derived`.

    Returns
    -------
    callable
        A decorator of functions, which receive all options.

    Examples
    --------
    >>> class Model:
    ...     def __init__(self, width=3, *, depth=2): ...
    >>> @with_options(Model)
    ... def make(*, name="a", **options):
    ...     return name, options
    >>> make(depth=1), str(signature(make))
    (('a', {'width': 3, 'depth': 1}), "(*, name='a', width=3, depth=2)")
    """

    def finished(function: Callable[..., Answer]) -> Callable[..., Answer]:
        whole = signature(function)
        parameters = {k: v for k, v in whole.parameters.items() if v.kind not in _KINDS}
        for name, one in signature(models[0]).parameters.items():
            if name not in without:
                named = one.replace(kind=Parameter.KEYWORD_ONLY)
                parameters.setdefault(name, named)
        whole = whole.replace(parameters=[*parameters.values()])

        name = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]

        @wraps(function)
        def filled(*arguments: Any, **options: Any) -> Answer:
            return function(**_bound(whole, name, *arguments, **options))

        filled.__signature__ = whole  # type: ignore[attr-defined]
        if function.__doc__:
            own = parameter_docs(function)
            filled.__doc__ = _documented(function.__doc__, parameters, own, models)
        return filled

    return finished


def _bound(whole: Signature, name: str, /, *given: Any, **options: Any) -> Any:
    """All arguments of a call by their names, with defaults for absent ones."""
    names = tuple(one for one in whole.parameters if one != SELF.name)
    check_accepted(name, options, names)
    _check_by_place(whole, name, given)
    try:
        bound = whole.bind(*given, **options)
    except TypeError as error:
        raise TypeError(f"{name}() {error}") from None
    bound.apply_defaults()
    return dict(bound.arguments)


def _check_by_place(whole: Signature, name: str, given: tuple[Any, ...]) -> None:
    """Refuse arguments by place that have to be named."""
    kinds = [one.kind for one in whole.parameters.values()]
    by_place = kinds.count(Parameter.POSITIONAL_OR_KEYWORD)
    if len(given) <= by_place or Parameter.KEYWORD_ONLY not in kinds:
        return
    first = [*whole.parameters.values()][kinds.index(Parameter.KEYWORD_ONLY)]
    # what was passed may be meant for another argument, so the example is a default
    raise TypeError(
        f"{name}() got too many positional arguments. Name them, such as "
        f"{first.name}={short(first.default)}."
    )


def _declared(face: type) -> dict[str, Parameter]:
    """What a class declares itself, and then what its bases declare."""
    found: dict[str, Parameter] = {}
    for kind in face.__mro__[:-1]:
        if "__init__" in vars(kind):
            for name, one in signature(vars(kind)["__init__"]).parameters.items():
                found.setdefault(name, one)
    return found


def _joined(
    own: dict[str, Parameter], model: dict[str, Parameter], without: Collection[str]
) -> dict[str, Parameter]:
    """Parameters of a model with those of a face, which replace or follow them."""
    by_place = any(one.kind is Parameter.VAR_POSITIONAL for one in own.values())
    own = {k: v for k, v in own.items() if k != "self" and v.kind not in _KINDS}
    found = {k: own.pop(k, v) for k, v in model.items() if k not in without}
    seed = {k: found.pop(k) for k in ("seed",) if k in found}
    joined = found | own | seed
    if not by_place:
        return joined
    kind = Parameter.POSITIONAL_OR_KEYWORD
    return {k: v.replace(kind=kind) for k, v in joined.items()}


def _entries(text: str) -> Iterator[tuple[str, str, str]]:
    """Entries of a parameter section: names, type and what is said of them."""
    section = _SECTION.search(text)
    for head, body in _ENTRY.findall(section[1] if section else ""):
        names, _, kind = head.partition(" : ")
        yield names, kind, body.rstrip()


def parameter_docs(*kinds: Any) -> dict[str, tuple[str, str, str]]:
    """Entries by the names of the parameters; later ones where one refers to them."""
    found: dict[str, tuple[str, str, str]] = {}
    for kind in kinds:
        for entry in _entries(getdoc(kind) or ""):
            said = entry[2].replace("see Notes", f"see Notes of `{kind.__name__}`")
            for name in re.findall(r"\w+", entry[0]):
                if name not in found or found[name][2].startswith("    As in `"):
                    found[name] = *entry[:2], said
    return found


def _documented(
    docstring: str | None,
    parameters: Collection[str],
    own: dict[str, tuple[str, str, str]],
    models: tuple[type, ...],
) -> str:
    """A docstring with an entry for every parameter, of its own or of the models."""
    text = cleandoc(docstring or "")
    of_model = parameter_docs(*models)
    groups: dict[tuple[str, str, str], list[str]] = {}
    for name in parameters:
        entry = own.get(name) or of_model.get(name)
        if entry is not None:
            groups.setdefault(entry, []).append(name)
    lines = []
    for (_, kind, said), names in groups.items():
        lines += [", ".join(names) + (f" : {kind}" if kind else ""), said]
    section = HEADING + "\n".join(line for line in lines if line)
    if HEADING not in text:
        head, gap, rest = text.partition("\n\nAttributes\n")
        return f"{head}\n\n{section}{gap}{rest}\n"
    return _SECTION.sub(lambda _: section, text) + "\n"


def model_options(face: Any, model: type) -> dict[str, Any]:
    """Arguments of a model: those that a face of it has, too."""
    own = signature(type(face)).parameters
    return {k: getattr(face, k) for k in signature(model).parameters if k in own}
