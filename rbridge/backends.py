"""Two ways to run R: in this process through rpy2, or in a process of its own."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from .convert import to_r
from .ctrl_c import CtrlC
from .errors import RBridgeLoadError, RCrashError
from .versions import check_fit, find_r, r_version, rpy2_versions
from .wire import dumps, named_list

_HERE = Path(__file__).parent
LIBRARIES = "LD_LIBRARY_PATH"  # R sets it: other Pythons would find another libpython
PATIENCE = 5.0  # seconds that R has to stop
# a request in which R looks for an interrupt, and whose answer nobody reads
_NOTHING = bytes(dumps(named_list({"code": to_r("Sys.sleep(0)")})))


class Backend(Protocol):
    """What takes R the bytes of a request and brings back those of the answer."""

    def ask(self, request: bytes) -> tuple[bytes, str]:
        """Return the answer, and what R printed meanwhile."""
        ...

    def alive(self) -> bool:
        """Return whether R still answers requests."""
        ...

    def close(self) -> None:
        """Release R if that is possible."""
        ...


@contextlib.contextmanager
def _restored(name: str) -> Iterator[None]:
    """Context after which a variable of the environment is as it was."""
    before = os.environ.get(name)
    try:
        yield
    finally:
        os.environ.pop(name, None)
        if before is not None:
            os.environ[name] = before


class SubprocessBackend:
    """An Rscript that reads requests from a pipe until it is closed."""

    def __init__(self) -> None:
        command = [find_r("Rscript"), "--no-save", "--no-restore"]
        self._folder = Path(tempfile.mkdtemp(prefix="rbridge-"))
        self._answer = self._folder / "answer"
        self._errors = self._folder / "errors"
        self._is_ready = False
        self._mark = f"rbridge-{secrets.token_hex(8)}"
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [*command, _HERE / "loop.R", _HERE, self._answer, self._mark],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,  # a terminal's Ctrl-C comes to Python alone
            )

    def ask(self, request: bytes) -> tuple[bytes, str]:
        """Return the answer, and what R printed meanwhile."""
        timers: list[threading.Timer] = []

        def stop(n_signals: int) -> None:
            if n_signals > 1:  # R is not waited for any longer
                self._process.kill()
                return
            self._process.send_signal(signal.SIGINT)
            timers.append(threading.Timer(PATIENCE, self._process.kill))
            timers[0].start()

        try:
            if not self._is_ready:
                self._is_ready = self._printed() is not None
            with CtrlC(stop) as ctrl_c:
                found = self._exchange(request)
            if (
                found is not None and ctrl_c.n_signals
            ):  # a late signal is for no next call
                self._exchange(_NOTHING)
        except BaseException:  # the answer would be taken for that of the next call
            self._process.kill()
            self.close()
            raise
        finally:
            for timer in timers:
                timer.cancel()
        if found is not None:
            if ctrl_c.n_signals:
                raise KeyboardInterrupt
            return found
        code = self._process.wait()
        first = self._errors.read_text(errors="replace").strip()[:500]
        self.close()
        if ctrl_c.n_signals:
            raise KeyboardInterrupt(
                f"R did not stop within {PATIENCE:g} seconds, or Ctrl-C was hit twice, "
                "and it was ended. Its clouds are gone; call session() for a new R and "
                "fit again."
            )
        raise RCrashError(
            f"R ended in the middle of a call, with code {code}"
            f"{': ' + first if first else ''}. Its clouds are gone; call session() for "
            f"a new R and fit again."
        )

    def _exchange(self, request: bytes) -> tuple[bytes, str] | None:
        """Return what `ask` returns, None if R ended meanwhile."""
        to_r = self._process.stdin
        assert to_r is not None
        with contextlib.suppress(BrokenPipeError):
            to_r.write(struct.pack(">i", len(request)) + request)
            to_r.flush()
        printed = self._printed()
        return None if printed is None else (self._answer.read_bytes(), printed)

    def _printed(self) -> str | None:
        """Wait until R is done; return what it printed, None if it ended meanwhile."""
        assert self._process.stdout is not None
        printed: list[str] = []
        for line in self._process.stdout:
            text = line.decode(errors="replace")
            if text.rstrip("\r\n") == self._mark:
                return "".join(printed).removesuffix("\n")
            printed.append(text)
        return None

    def alive(self) -> bool:
        """Return whether R still answers requests."""
        return self._process.poll() is None

    def close(self) -> None:
        """End R and remove the folder of files."""
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        shutil.rmtree(self._folder, ignore_errors=True)


class Rpy2Backend:
    """R inside this process; once started it stays until the process ends."""

    def __init__(self) -> None:
        r, parts = r_version(), rpy2_versions()
        check_fit(r, parts)
        try:
            from rpy2 import rinterface
            from rpy2.rinterface_lib import callbacks, openrlib

            with _restored(LIBRARIES):
                rinterface.initr()
            self._rinterface, self._library = rinterface, openrlib.rlib
            self._callbacks: Any = callbacks
            code = (_HERE / "server.R").read_text(encoding="utf-8")
            with self._printing([]):
                parsed = rinterface.baseenv["parse"](
                    text=rinterface.StrSexpVector([code])
                )
                self._server = rinterface.baseenv["eval"](parsed)
        except Exception as error:  # cffi's own error derives from Exception alone
            listed = ", ".join(f"{name} {version}" for name, version in parts.items())
            raise RBridgeLoadError(
                f"rpy2 could not start R {'.'.join(map(str, r))} ({listed}): {error}. "
                f"Use backend='subprocess', or install another release of rpy2."
            ) from error

    def ask(self, request: bytes) -> tuple[bytes, str]:
        """Return the answer, and what R printed meanwhile."""
        printed: list[str] = []
        answer = b""
        with CtrlC(self._interrupt) as ctrl_c, self._printing(printed):
            try:  # no object of rpy2's outlives this: an interrupt would leave a part
                answer = bytes(self._server(self._rinterface.ByteSexpVector(request)))
            except self._rinterface.embedded.RRuntimeError:
                if (
                    not ctrl_c.n_signals
                ):  # R's way to say that it went back to its prompt
                    raise
        if ctrl_c.n_signals:
            self._library.R_interrupts_pending = 0
            raise KeyboardInterrupt
        return answer, "".join(printed)

    def _interrupt(self, n_signals: int) -> None:
        """Have R stop where it looks for an interrupt."""
        self._library.R_interrupts_pending = 1

    def alive(self) -> bool:
        """Return True: an embedded R answers as long as its process."""
        return True

    def close(self) -> None:
        """Do nothing: an embedded R ends with its process."""

    @contextlib.contextmanager
    def _printing(self, into: list[str]) -> Iterator[None]:
        names = ("consolewrite_print", "consolewrite_warnerror")
        before = [getattr(self._callbacks, name) for name in names]
        for name in names:
            setattr(self._callbacks, name, into.append)
        try:
            yield
        finally:
            for name, callback in zip(names, before, strict=True):
                setattr(self._callbacks, name, callback)
