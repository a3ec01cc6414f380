"""Start R once, ask it for one call at a time, and leave it as it was."""

from __future__ import annotations

import atexit
import os
import threading
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .backends import Backend, Rpy2Backend, SubprocessBackend
from .convert import from_r, to_r
from .errors import (
    RBridgeError,
    RCrashError,
    RError,
    RPackageMissingError,
    RThreadError,
)
from .versions import rpy2_versions
from .wire import RValue, dumps, loads, named_list

BACKENDS: dict[str, type[Backend]] = {
    "rpy2": Rpy2Backend,
    "subprocess": SubprocessBackend,
}
_VERSIONS = """
list(R = R.version.string, platform = R.version$platform,
     BLAS = unname(extSoftVersion()["BLAS"]), LAPACK = La_version(),
     RNGkind = RNGkind(),
     dynaTree = if (nzchar(system.file(package = "dynaTree")))
       format(packageVersion("dynaTree")))
"""
_running: dict[str, Session] = {}


@dataclass(frozen=True, eq=False)
class Answer:
    """Result of one call of an R function.

    Attributes
    ----------
    value : RValue
        The value in R's form; `rbridge.convert.from_r` converts it to Python.
    state : RValue
        R's ``.Random.seed`` after the call, or NULL if nothing was ever drawn.
    output : str
        What R printed.
    """

    value: RValue
    state: RValue
    output: str


class Session:
    """A running R, which `session` starts.

    Each call restores R's options, working directory and random stream when it ends, so
    that the next call finds them unchanged.
    """

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self._owner = threading.get_ident(), os.getpid()
        self._engine: Backend = BACKENDS[backend]()
        self.unreachable: list[int] = []  # clouds in R to delete at the next call

    def call(
        self,
        package: str,
        name: str,
        arguments: Mapping[str, Any],
        *,
        seed: int | None = None,
        state: RValue | None = None,
    ) -> Answer:
        """Call one function of an R package.

        Parameters
        ----------
        package, name : str
            Name of the package, and of the function, or of the method ``name.package``
            if the package has it.
        arguments : mapping of str to object
            The arguments by R's names.
        seed : int, optional
            Seed that is passed to ``set.seed`` before the call, with R's default
            ``RNGkind``.
        state : RValue, optional
            A ``.Random.seed`` from which to continue instead.

        Returns
        -------
        Answer

        Raises
        ------
        RError
            If R raises an error. It has R's message and call.
        RPackageMissingError
            If R does not have the package.
        RThreadError
            If another thread or process started this R.
        RCrashError
            If R's own process ended during the call.
        KeyboardInterrupt
            After Ctrl-C, once R has returned to its prompt. Its clouds stay. If R
            runs in a separate process and does not return within 5 seconds, it is
            ended.
        """
        return self._ask(
            {"package": package, "name": name, "arguments": named_arguments(arguments)},
            seed,
            state,
        )

    def evaluate(self, code: str, *, seed: int | None = None) -> Any:
        """Evaluate R code in a fresh environment and return its last value.

        Parameters
        ----------
        code : str
            Source code in R.
        seed : int, optional
            Seed that is passed to ``set.seed`` before.

        Returns
        -------
        object
            The value, as converted by `rbridge.convert.from_r`.
        """
        return from_r(self._ask({"code": code}, seed, None).value)

    def versions(self) -> dict[str, Any]:
        """Return the versions on which results of R depend.

        Returns
        -------
        dict
            R, platform, BLAS, LAPACK, RNGkind, dynaTree (None if R does not have it),
            backend, and rpy2, a dict of the versions of its parts.
        """
        parts = rpy2_versions()
        answer: dict[str, Any] = self.evaluate(_VERSIONS)
        return {**answer, "backend": self.backend, "rpy2": parts}

    def close(self) -> None:
        """Stop an R that runs as a separate process."""
        self._check_owner()
        if _running.get(self.backend) is self and self.backend != "rpy2":
            del _running[self.backend]
        self._engine.close()

    @property
    def alive(self) -> bool:
        """Whether R still responds."""
        return self._engine.alive()

    def _ask(
        self, asked: dict[str, Any], seed: int | None, state: RValue | None
    ) -> Answer:
        self._check_owner()
        if not self.alive:
            raise RCrashError(
                "this R has ended, and its clouds with it. Call session() for a new R "
                "and fit again."
            )
        request = {**asked, "seed": seed, "state": state}
        sent = {name: to_r(item) for name, item in request.items() if item is not None}
        packed, printed = self._engine.ask(bytes(dumps(named_list(sent))))
        answer = loads(packed).items()
        if "interrupted" in answer:
            raise KeyboardInterrupt
        if "missing" in answer:
            package = answer["missing"].data[0]
            raise RPackageMissingError(
                f"R has no package {package}. Run install.packages({package!r}) in R, "
                f"or set R_LIBS to the library that holds it before R starts."
            )
        if "error" in answer:
            raise RError(answer["error"].data[0], answer["call"].data[0])
        for text in answer["warnings"].data:
            warnings.warn(f"R: {text}", RuntimeWarning, stacklevel=4)
        return Answer(answer["value"], answer["state"], printed)

    def _check_owner(self) -> None:
        thread, process = self._owner
        if os.getpid() != process:
            raise RThreadError(
                f"R was started by process {process} and does not survive a fork; this "
                f"is process {os.getpid()}. Start R after the fork, by session()."
            )
        if threading.get_ident() != thread:
            raise RThreadError(
                "R answers only the thread that started it; this is another one. Make "
                "all calls in one thread, or let each process start an R of its own."
            )


def session(backend: str = "rpy2") -> Session:
    """Return the running R of a kind. The first call starts it.

    Parameters
    ----------
    backend : {"rpy2", "subprocess"}
        "rpy2" is R in this process, which needs rpy2. "subprocess" is an Rscript in a
        separate process, which needs only R. It survives a crash of R, which is then
        started anew.

    Returns
    -------
    Session

    Raises
    ------
    ValueError
        If `backend` has another value.
    RNotFoundError, RBridgeLoadError, RBridgeVersionError
        If R or rpy2 is missing, or the two do not fit each other.
    """
    if backend not in BACKENDS:
        raise ValueError(
            f"backend must be one of {', '.join(map(repr, BACKENDS))}; got {backend!r}."
        )
    found = _running.get(backend)
    forked = found is not None and found._owner[1] != os.getpid()
    if forked and backend == "rpy2":
        raise RBridgeError(
            "R was started before this process was forked and cannot be used in it. "
            "Use backend='subprocess' here, or fork before R starts."
        )
    if found is not None and not forked and not found.alive:
        found.close()
    if found is None or forked or not found.alive:
        found = _running[backend] = Session(backend)
    return found


@atexit.register
def _end_all() -> None:
    """End what this process started, so that no process or folder is left behind."""
    for found in _running.values():
        if found._owner[1] == os.getpid():
            found._engine.close()


def default_session() -> Session:
    """Return the embedded R where rpy2 is installed, else an Rscript."""
    return session("rpy2" if rpy2_versions() else "subprocess")


def named_arguments(arguments: Mapping[str, Any]) -> RValue:
    """Return arguments as an R list."""
    return named_list({name: to_r(item) for name, item in arguments.items()})
