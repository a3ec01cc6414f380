"""Two ways to run R: in this process through rpy2, or in a process of its own."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from .errors import RBridgeLoadError, RCrashError
from .versions import check_fit, find_r, r_version, rpy2_versions

_HERE = Path(__file__).parent


class Backend(Protocol):
    """What takes R the bytes of a request and brings back those of the answer."""

    def ask(self, request: bytes) -> tuple[bytes, str]:
        """Return the answer, and what R printed meanwhile."""
        ...

    def alive(self) -> bool:
        """Tell whether R can still be asked."""
        ...

    def close(self) -> None:
        """Let R go where that is possible."""
        ...


class SubprocessBackend:
    """An Rscript that reads requests from a pipe until it is closed."""

    def __init__(self) -> None:
        command = [find_r("Rscript"), "--no-save", "--no-restore"]
        self._folder = Path(tempfile.mkdtemp(prefix="rbridge-"))
        self._answer = self._folder / "answer"
        self._errors = self._folder / "errors"
        self._mark = f"rbridge-{secrets.token_hex(8)}"
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [*command, _HERE / "loop.R", _HERE, self._answer, self._mark],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )

    def ask(self, request: bytes) -> tuple[bytes, str]:
        """Return the answer, and what R printed meanwhile."""
        try:
            found = self._exchange(request)
        except BaseException:  # interrupted: the answer would be taken for the next one
            self._process.kill()
            self.close()
            raise
        if found is not None:
            return found
        code = self._process.wait()
        last = self._errors.read_text(errors="replace").strip()[-500:]
        self.close()
        raise RCrashError(
            f"R ended in the middle of a call, with code {code}"
            f"{': ' + last if last else ''}. Its clouds are gone; call session() for a "
            f"new R and fit again."
        )

    def _exchange(self, request: bytes) -> tuple[bytes, str] | None:
        """Return what `ask` returns, None if R ended meanwhile."""
        to_r, from_r = self._process.stdin, self._process.stdout
        assert to_r is not None
        assert from_r is not None
        with contextlib.suppress(BrokenPipeError):
            to_r.write(struct.pack(">i", len(request)) + request)
            to_r.flush()
        printed: list[str] = []
        for line in from_r:
            text = line.decode(errors="replace")
            if text.rstrip("\r\n") == self._mark:
                return self._answer.read_bytes(), "".join(printed).removesuffix("\n")
            printed.append(text)
        return None

    def alive(self) -> bool:
        """Tell whether R can still be asked."""
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
            from rpy2.rinterface_lib import callbacks

            rinterface.initr()
            self._rinterface = rinterface
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
        with self._printing(printed):
            answer = self._server(self._rinterface.ByteSexpVector(request))
        return bytes(answer), "".join(printed)

    def alive(self) -> bool:
        """Tell whether R can still be asked: always."""
        return True

    def close(self) -> None:
        """Do nothing: an embedded R ends with its process."""

    @contextlib.contextmanager
    def _printing(self, into: list[str]) -> Iterator[None]:
        names = ("consolewrite_print", "consolewrite_warnerror")
        held = [getattr(self._callbacks, name) for name in names]
        for name in names:
            setattr(self._callbacks, name, into.append)
        try:
            yield
        finally:
            for name, before in zip(names, held, strict=True):
                setattr(self._callbacks, name, before)
