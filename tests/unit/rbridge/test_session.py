"""R is started once, answers one thread, and is left as it was."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rbridge
from dyntree.api.rmirror import RStream
from rbridge import backends
from rbridge.ctrl_c import CtrlC
from rbridge.errors import (
    RBridgeLoadError,
    RBridgeVersionError,
    RCrashError,
    RError,
    RNotFoundError,
    RPackageMissingError,
    RThreadError,
)
from rbridge.versions import check_fit, find_r
from tests.unit.conftest import python
from tests.unit.rbridge.engines import WAYS, running


@pytest.fixture(params=WAYS)
def r(request: pytest.FixtureRequest) -> rbridge.Session:
    return running(request.param)


def test_there_is_one_session_of_a_kind(r: rbridge.Session) -> None:
    assert rbridge.session(r.backend) is r


def test_versions_name_what_a_result_depends_on(r: rbridge.Session) -> None:
    told = r.versions()
    assert told["R"].startswith("R version ")
    assert told["backend"] == r.backend
    assert bool(told["rpy2"]) or r.backend == "subprocess"
    assert told["RNGkind"].tolist() == ["Mersenne-Twister", "Inversion", "Rejection"]
    assert {"BLAS", "LAPACK", "dynaTree", "platform"} <= set(told)


def test_a_seed_opens_the_stream_of_the_mirror(r: rbridge.Session) -> None:
    answer = r.call("stats", "runif", {"n": 5}, seed=42)
    stream = RStream(42)
    assert answer.value.data.tolist() == stream.uniforms(5).tolist()
    assert answer.state.data.tolist() == stream.state.tolist()
    more = r.call("stats", "runif", {"n": 2}, state=answer.state)
    assert more.value.data.tolist() == stream.uniforms(2).tolist()


STATE = """
list(options = options()[setdiff(names(options()), "warn")], folder = getwd(),
     seed = get0(".Random.seed", globalenv()), names = ls(globalenv()))
"""


def test_a_call_leaves_r_as_it_was(r: rbridge.Session) -> None:
    digest = f"rawToChar(serialize({STATE.strip()}, NULL, ascii = TRUE))"
    before = r.evaluate(digest)
    r.evaluate(
        "options(digits = 3, brand.new = 1); setwd(tempdir()); set.seed(9); "
        "RNGkind('Wichmann-Hill'); x <- runif(2)",
        seed=3,
    )
    with pytest.raises(RError):
        r.evaluate("options(digits = 4); setwd('/'); stop('late')", seed=3)
    assert r.evaluate(digest) == before


def test_an_error_of_r_has_its_message_and_call(
    r: rbridge.Session, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(RError, match=r"^R: too bad \(in f\(3\)\)$") as caught:
        r.evaluate("f <- function(x) stop('too bad'); f(3)")
    assert (caught.value.message, caught.value.call) == ("too bad", "f(3)")
    with pytest.raises(RError, match="unexpected"):
        r.evaluate("1 +* 2")
    assert capfd.readouterr() == ("", "")
    assert r.evaluate("1 + 1") == 2


def test_a_warning_of_r_is_a_warning(r: rbridge.Session) -> None:
    with pytest.warns(RuntimeWarning, match="^R: mind the gap$"):
        assert r.evaluate("warning('mind the gap'); 5") == 5


def test_what_r_prints_is_kept(
    r: rbridge.Session, capfd: pytest.CaptureFixture[str]
) -> None:
    answer = r.call("base", "writeLines", {"text": ["one", "two"]})
    assert answer.output == "one\ntwo\n"
    assert capfd.readouterr() == ("", "")


def test_a_missing_package_is_named_with_the_remedy(r: rbridge.Session) -> None:
    with pytest.raises(RPackageMissingError, match=r"install.packages\('noSuch'\)"):
        r.call("noSuch", "f", {})


def test_another_thread_is_refused(r: rbridge.Session) -> None:
    caught: list[Any] = []

    def ask() -> None:
        try:
            r.evaluate("1")
        except RThreadError as error:
            caught.append(str(error))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert caught == [
        "R answers only the thread that started it; this is another one. Make all "
        "calls in one thread, or let each process start an R of its own."
    ]


def test_a_crash_of_r_is_survived() -> None:
    first = running("subprocess")
    with pytest.raises(RCrashError, match=r"(?s)with code -9.*call session"):
        first.evaluate("tools::pskill(Sys.getpid(), 9); Sys.sleep(9)")
    assert not first.alive
    second = running("subprocess")
    assert second is not first
    assert second.evaluate("2") == 2


LOOPS = {
    "R": "repeat 1 + 1",
    "sleep": "Sys.sleep(30)",
    "C": "sum(vapply(1:1e9, function(i) i + 0, 0))",
    "caught": "tryCatch(repeat 1 + 1, error = identity)",
}


@pytest.mark.parametrize("backend", ["rpy2", "subprocess"])
@pytest.mark.parametrize("loop", LOOPS)
def test_an_interrupt_leaves_r_and_what_it_holds(backend: str, loop: str) -> None:
    first = running(backend)
    pid = first.evaluate("Sys.getpid()")
    first.evaluate("assign('kept', 41, envir = globalenv()); NULL")
    before = signal.getsignal(signal.SIGINT)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    began = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        first.evaluate(LOOPS[loop])
    assert time.monotonic() - began < 10.0
    timer.join()
    assert signal.getsignal(signal.SIGINT) is before
    assert running(backend) is first
    assert first.evaluate("Sys.getpid()") == pid
    assert first.evaluate("kept <<- kept + 1; kept") == 42
    first.evaluate("rm('kept', envir = globalenv())")


@pytest.mark.parametrize("backend", ["rpy2", "subprocess"])
def test_interrupts_at_any_moment_hit_no_later_call(backend: str) -> None:
    first = running(backend)
    for k in range(20):
        timer = threading.Timer(0.001 * k, os.kill, (os.getpid(), signal.SIGINT))
        try:
            timer.start()
            with contextlib.suppress(KeyboardInterrupt):
                first.evaluate("Sys.sleep(0.01)")
            timer.join()
        except KeyboardInterrupt:  # before the call, or after it
            timer.join()
        assert first.evaluate(f"{k}") == k
        assert running(backend) is first


def test_r_hears_of_an_interrupt_late_and_forgets_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The thread that tells R may come to it when R is done."""

    class Late(CtrlC):
        def _listen(self) -> None:
            time.sleep(0.5)
            super()._listen()

    first = running("subprocess")
    assert first.evaluate("2") == 2  # R has started
    monkeypatch.setattr(backends, "CtrlC", Late)
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        first.evaluate("Sys.sleep(0.2)")
    timer.join()
    monkeypatch.undo()
    assert first.evaluate("Sys.sleep(0.05); 3") == 3
    assert running("subprocess") is first


def test_an_r_that_does_not_stop_is_ended_with_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backends, "PATIENCE", 0.5)
    first = running("subprocess")
    state = Path(f"/proc/{int(first.evaluate('Sys.getpid()'))}/stat")

    def interrupt_once_stopped() -> None:
        while state.read_text().rpartition(") ")[2][0] != "T":
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    waiter = threading.Thread(target=interrupt_once_stopped, daemon=True)
    waiter.start()
    with pytest.raises(
        KeyboardInterrupt, match=r"R did not stop within .* it was ended"
    ):
        first.evaluate("tools::pskill(Sys.getpid(), 19); Sys.sleep(30)")
    waiter.join()
    assert not first.alive
    assert running("subprocess").evaluate("2") == 2


def test_an_embedded_r_leaves_the_libraries_of_other_programs() -> None:
    code = (
        "import os, subprocess, sys, rbridge\n"
        "before = os.environ.get('LD_LIBRARY_PATH')\n"
        "rbridge.session('rpy2')\n"
        "assert os.environ.get('LD_LIBRARY_PATH') == before\n"
        "ask = [sys.executable, '-c', 'import sys; print(sys.version)']\n"
        "told = subprocess.run(ask, capture_output=True, text=True).stdout\n"
        "assert told.strip() == sys.version, told\n"
    )
    running("rpy2")
    process = python("-c", code)
    assert process.returncode == 0, process.stderr


def test_a_crash_tells_its_beginning() -> None:
    first = running("subprocess")
    fault = "tools::pskill(Sys.getpid(), 11); Sys.sleep(9)"
    with pytest.raises(RCrashError, match="caught segfault"):
        first.evaluate(fault)


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    running("subprocess")
    code = (
        f"import tempfile; tempfile.tempdir = {str(tmp_path)!r}\n"
        "import rbridge; r = rbridge.session('subprocess')\n"
        "print(r.evaluate('Sys.getpid()'))"
    )
    process = python("-W", "error", "-c", code)
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int(process.stdout), 0)


def test_a_closed_session_is_replaced() -> None:
    first = running("subprocess")
    first.close()
    assert running("subprocess") is not first


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(ValueError, match="backend must be one of 'rpy2', 'subprocess'"):
        rbridge.session("docker")


def test_no_r_is_told_with_both_remedies(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("R_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RNotFoundError, match=r"none in PATH\. Install R .*R_HOME"):
        find_r()
    monkeypatch.setenv("R_HOME", str(tmp_path))
    with pytest.raises(RNotFoundError, match="none in R_HOME="):
        find_r("Rscript")


@pytest.mark.parametrize(
    ("r", "rpy2"),
    [
        ((4, 2, 2), {"rpy2": "3.5.12"}),
        ((4, 2, 2), {"rpy2": "3.5.17"}),
        ((4, 4, 3), {"rpy2-rinterface": "3.6.5", "rpy2-robjects": "3.6.6"}),
        ((4, 5, 0), {"rpy2": "3.6.7", "rpy2-rinterface": "3.6.7"}),
    ],
)
def test_releases_that_fit_pass(r: tuple[int, ...], rpy2: dict[str, str]) -> None:
    check_fit(r, rpy2)


@pytest.mark.parametrize(
    ("r", "rpy2", "remedy"),
    [
        ((4, 2, 2), {"rpy2": "3.5.11"}, r"pip install 'rpy2==3\.5\.17'"),
        ((4, 5, 1), {"rpy2": "3.4.5"}, r"pip install 'rpy2>=3\.5\.12'"),
        ((4, 4, 3), {"rpy2": "3.6.4", "rpy2-rinterface": "3.6.6"}, r"<=3\.6\.5"),
        ((4, 2, 2), {"rpy2-rinterface": "3.6.7"}, r"needs R >= 4\.5; got R 4\.2\.2"),
    ],
)
def test_releases_that_do_not_fit_are_refused(
    r: tuple[int, ...], rpy2: dict[str, str], remedy: str
) -> None:
    with pytest.raises(RBridgeVersionError, match=remedy):
        check_fit(r, rpy2)


def test_no_rpy2_is_told_with_both_remedies() -> None:
    with pytest.raises(RBridgeLoadError, match=r"'\.\[r\]'.*backend='subprocess'"):
        check_fit((4, 2, 2), {})


def test_random_state_of_numpy_has_no_say(r: rbridge.Session) -> None:
    draws = [r.call("stats", "rnorm", {"n": 2}, seed=-7).value.data for _ in range(2)]
    assert np.array_equal(*draws)
