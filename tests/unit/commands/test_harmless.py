"""Commands change their outputs alone, whatever these are, and lose nothing of them."""

from __future__ import annotations

import os
import shlex
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dyntree
from dyntree.storage.atomic_files import descriptor_of
from tests.helpers import mostly_slow
from tests.unit.commands.conftest import SMALL, run
from tests.unit.conftest import here, short_files

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs pipes and modes")
FORMULA = ["--formula", "y ~ x"]


PYTHON = shlex.quote(sys.executable)


def table(path: Path, n: int = 40, first: int = 0) -> Path:
    rows = [f"{k / 10},{k * k % 7}\n" for k in range(first, first + n)]
    path.write_text("x,y\n" + "".join(rows))
    return path


def model(folder: Path) -> Path:
    """A saved model of the table's columns."""
    path = folder / "model.dyn"
    tree = dyntree.DynamicTree(n_particles=10, seed=1)
    dyntree.save(tree.update([{"x": k / 10} for k in range(20)], range(20)), path)
    return path


def predict(rows: Path, out: Any) -> list[Any]:
    return ["predict", model(rows.parent), rows, "--out", out]


def stream(rows: Path, out: Any, *more: Any) -> list[Any]:
    return ["stream", rows, *FORMULA, *SMALL, "--window", "30", "--out", out, *more]


def evaluate(rows: Path, out: Any) -> list[Any]:
    return ["evaluate", rows, *FORMULA, *SMALL, "--out", out]


def page(rows: Path, out: Any) -> list[Any]:
    return ["evaluate", rows, *FORMULA, *SMALL, "--html", out]


def put_aside(rows: Path, out: Any) -> list[Any]:
    rows.write_text(rows.read_text() + "u,1\n")
    return [*stream(rows, rows.with_name("rest.csv")), "--bad-rows", out]


def fit(rows: Path, out: Any) -> list[Any]:
    return ["fit", rows, *FORMULA, *SMALL, "--out", out]


def status(rows: Path, out: Any) -> list[Any]:
    return [*stream(rows, rows.with_name("rest.csv")), "--status", out]


def checkpoint(rows: Path, out: Any) -> list[Any]:
    return [*stream(rows, rows.with_name("rest.csv")), "--checkpoint", out, "--resume"]


TABLES = [predict, stream, evaluate, page, put_aside]  # which are written through
WHOLE = [fit, status, checkpoint]  # which are always replaced


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return table(tmp_path / "rows.csv")


def reading(way: Callable[[], bytes]) -> tuple[threading.Thread, list[bytes]]:
    """A thread that reads meanwhile, and what it has read once it has ended."""
    read: list[bytes] = []
    thread = threading.Thread(target=lambda: read.append(way()), daemon=True)
    thread.start()
    return thread, read


@pytest.mark.parametrize("call", TABLES)
@pytest.mark.parametrize("kind", mostly_slow(["link to a pipe", "pipe", "socket"]))
def test_what_is_no_file_takes_the_bytes(call: Any, kind: str, rows: Path) -> None:
    plain, out = rows.with_name("plain.csv"), rows.with_name("out.csv")
    if kind == "socket":
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(out))
        server.listen()

        def read() -> bytes:
            with server:
                peer = server.accept()[0]
                with peer, peer.makefile("rb") as file:
                    return file.read()
    else:
        pipe = rows.with_name("pipe") if "link" in kind else out
        os.mkfifo(pipe)
        if pipe != out:
            out.symlink_to(pipe)
        read = pipe.read_bytes
    thread, parts = reading(read)
    before = os.lstat(out)
    assert run(*call(rows, out)) == 0
    thread.join(30)
    assert os.path.samestat(os.lstat(out), before)
    rows.with_name("rest.csv").unlink(missing_ok=True)
    table(rows)
    assert run(*call(rows, plain)) == 0
    if call is page:  # which holds times
        assert parts[0].endswith(b"</html>\n")
    else:
        assert parts == [plain.read_bytes()]
    assert not [*rows.parent.glob(".*")]


@pytest.mark.parametrize("call", WHOLE)
@pytest.mark.parametrize("kind", ["pipe", "folder", "socket"])
def test_what_must_be_a_file_is_nothing_else(
    call: Any, kind: str, rows: Path, capsys: Any
) -> None:
    out = rows.with_name("out.dyn")
    with socket.socket(socket.AF_UNIX) as server:
        {
            "pipe": lambda: os.mkfifo(out),
            "folder": out.mkdir,
            "socket": lambda: server.bind(str(out)),
        }[kind]()
        before = os.lstat(out)
        assert run(*call(rows, out)) == 2
        told = capsys.readouterr().err
        assert "must be a file, or a free name" in told
        with pytest.raises(OSError, match="must be a file, or a free name"):
            dyntree.save(dyntree.DynamicTree(seed=1), out)
        assert os.path.samestat(os.lstat(out), before)
    assert not rows.with_name("rest.csv").exists()
    assert not [*rows.parent.glob(".*")]


@pytest.mark.parametrize("call", [*TABLES, *WHOLE])
def test_links_lead_to_their_targets(call: Any, rows: Path) -> None:
    there = rows.parent / "there"
    there.mkdir()
    out, target = rows.with_name("link.csv"), there / "target.csv"
    out.symlink_to(target)
    assert run(*call(rows, out)) == 0
    assert out.is_symlink()
    assert target.stat().st_size > 0
    assert [*there.iterdir()] == [target]


@pytest.mark.parametrize("call", [*TABLES, *WHOLE])
@pytest.mark.parametrize("mode", mostly_slow([0o640, 0o600, 0o664]))
def test_modes_and_owners_stay(call: Any, mode: int, rows: Path) -> None:
    out = rows.with_name("out.csv")
    if call is checkpoint:
        assert run(*call(rows, out)) == 0
    elif call is not put_aside:  # which leaves a file alone that is not its own
        out.write_text("old")
    out.touch()
    out.chmod(mode)
    owner = (12345, 54321) if os.geteuid() == 0 else (os.getuid(), os.getgid())
    os.chown(out, *owner)
    if call is checkpoint:
        table(rows, 60)
    assert run(*call(rows, out)) == 0
    after = out.stat()
    assert stat.S_IMODE(after.st_mode) == mode
    assert (after.st_uid, after.st_gid) == owner
    assert out.read_text(errors="replace") != "old"


@pytest.mark.parametrize("call", [fit, checkpoint])
def test_new_models_are_their_owners(call: Any, rows: Path) -> None:
    out = rows.with_name("out.dyn")
    before = os.umask(0o022)
    try:
        assert run(*call(rows, out)) == 0
        assert run(*predict(rows, rows.with_name("p.csv"))) == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert stat.S_IMODE(rows.with_name("p.csv").stat().st_mode) == 0o644


# ------------------------------------------------------------ in a shell
def shell(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of bash, in which dyntree is the command."""
    command = f'dyntree() {{ {PYTHON} -m dyntree "$@"; }}\n'
    return subprocess.run(
        ["bash", "-c", command + text],
        cwd=folder,
        env=here(),
        text=True,
        errors="replace",
        timeout=120,
        check=False,
        capture_output=True,
    )


STREAM = "dyntree stream rows.csv --formula 'y ~ x' --particles 10 --seed 1 --quiet"
SLOW = STREAM.replace("rows.csv", "slow")


@pytest.mark.parametrize(
    "redirected",
    [
        f"{STREAM} --out /dev/stdout | cat > out.csv",
        f"(echo first; {STREAM} --out /dev/stdout; echo last) > out.csv",
        f"(echo first; {STREAM} --out /dev/fd/1; echo last) >> out.csv",
        f"{STREAM} --out /dev/fd/3 3> out.csv",
        f"{STREAM} --out >(cat > out.csv); sleep 1",
    ],
)
def test_open_files_of_a_shell_take_the_bytes(redirected: str, rows: Path) -> None:
    assert run(*stream(rows, rows.with_name("plain.csv"), "--window", "auto")) == 0
    done = shell(redirected, rows.parent)
    assert done.stderr == ""
    text = rows.with_name("out.csv").read_text()
    assert text.removeprefix("first\n").removesuffix("last\n") == (
        rows.with_name("plain.csv").read_text()
    )
    assert ("first" in redirected) == text.startswith("first\n")


CLOSED = [">&-", "<&- >&- 2>&-", "<&-", "2>&-", ">&- 2>&-"]


@pytest.mark.parametrize("closed", mostly_slow(CLOSED))
@pytest.mark.parametrize(
    ("call", "needs"),
    [
        (f"{STREAM} --out o.csv", ""),
        (f"{STREAM} --checkpoint c.dyn", ">&-"),
        ("dyntree stream - --formula 'y ~ x' --out o.csv", "<&-"),
        ("dyntree fit - --formula 'y ~ x' --out o.dyn", "<&-"),
        ("dyntree predict model.dyn rows.csv", ">&-"),
        ("dyntree info model.dyn", ">&-"),
        ("dyntree evaluate rows.csv --formula 'y ~ x' --particles 10", ">&-"),
        ("dyntree info absent.dyn", "never"),
        ("dyntree info", "usage"),
    ],
)
def test_closed_streams_are_errors_only_where_they_are_needed(
    call: str, needs: str, closed: str, rows: Path
) -> None:
    model(rows.parent)
    source = "" if "<&-" in closed else "< rows.csv"
    done = shell(f"{call} {source} {closed}", rows.parent)
    if needs == "usage":
        assert done.returncode == 2
        return
    fails = needs == "never" or needs in closed.split()
    assert done.returncode == fails, done.stderr
    if "2>&-" in closed:
        assert done.stderr == ""
    elif fails:
        assert done.stderr.startswith("dyntree: ")
        assert done.stderr.count("\n") == 1
        name = {"<&-": "standard input", ">&-": "standard output"}
        assert name.get(needs, "absent.dyn") in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("number", "name"), [(0, "input"), (1, "output")])
def test_a_closed_stream_whose_number_another_file_has(
    number: int, name: str, rows: Path
) -> None:
    """As where Python or a library opens a file before anything else."""
    table = "rows.csv" if number else "-"
    code = (
        f"import os\nos.close({number})\ntaken = open('model.dyn', 'rb+')\n"
        f"assert taken.fileno() == {number}\nfrom dyntree import cli\n"
        f"raise SystemExit(cli.main(['stream', {table!r}, '--formula', 'y ~ x']))"
    )
    before = model(rows.parent).read_bytes()
    done = shell(f"{PYTHON} -c {shlex.quote(code)}", rows.parent)
    assert done.returncode == 1
    assert done.stderr.startswith(f"dyntree: standard {name}: cannot be")
    assert rows.with_name("model.dyn").read_bytes() == before


@pytest.mark.parametrize("report", ["", "--report .01"])
def test_a_full_standard_error_changes_no_exit_code(report: str, rows: Path) -> None:
    """No file may become longer than the log is, which stands for a full disk."""
    rows.with_name("log").write_bytes(bytes(1024))
    call = f"{STREAM.replace('rows.csv', 'slow').replace('--quiet', '')} {report}"
    done = shell(
        "mkfifo slow out; exec 9<> slow; cat rows.csv >&9; cat out > o.csv & cat=$!\n"
        f"(ulimit -f 1; exec {PYTHON} -B -m {call} --out out 2>> log) & stream=$!\n"
        "for k in $(seq 200); do sleep .1; [ -s o.csv ] && break; done; sleep .5\n"
        "kill -TERM $stream; wait $stream; echo $?; wait $cat",
        rows.parent,
    )
    assert done.stdout == "143\n", done
    assert rows.with_name("log").read_bytes() == bytes(1024)
    assert rows.with_name("o.csv").read_text().count("\n") == 41


# ------------------------------------------------------------ two writers
def live(options: str, meanwhile: str, rows: Path) -> subprocess.CompletedProcess[str]:
    """Stop a stream politely that waits in a pipe, after something else was done."""
    return shell(
        "mkfifo slow; exec 9<> slow; cat rows.csv >&9\n"
        f"(exec {PYTHON} -m {SLOW} {options}) & stream=$!\n"
        "for k in $(seq 200); do sleep .1; [ -s o.csv ] && break; done; sleep .5\n"
        f"{meanwhile}\n"
        "kill -TERM $stream; wait $stream; echo first $?",
        rows.parent,
    )


@pytest.mark.parametrize(
    ("first", "second"),
    mostly_slow(
        [
            ("--out o.csv", "--out o.csv"),
            ("--checkpoint a.dyn >> o.csv", "--out o.csv"),
            ("--out o.csv", "--out link.csv"),
            ("--out a.csv --bad-rows o.csv", "--out o.csv"),
            ("--checkpoint a.dyn >> o.csv", "--checkpoint b.dyn >> o.csv"),
            ("--out o.csv", "--checkpoint b.dyn >> o.csv"),
        ],
        2,
    ),
)
def test_an_output_has_one_writer(first: str, second: str, rows: Path) -> None:
    rows.with_name("link.csv").symlink_to("o.csv")
    if "bad" in first:
        rows.write_text(rows.read_text() + "u,1\n")
    done = live(first, f"{STREAM} {second}; echo second $?", rows)
    assert done.stdout == "second 1\nfirst 143\n", done
    assert "is written by another process" in done.stderr
    text = rows.with_name("o.csv").read_text()
    assert text.count("\n") == (2 if "bad" in first else 41)


def test_a_prediction_does_not_replace_what_a_stream_writes(
    rows: Path, capsys: Any
) -> None:
    out = rows.with_name("o.csv")
    out.write_text("rows of a stream")
    with dyntree.checkpoint.sole_writer(out):
        for call in (predict, evaluate, page, fit):
            assert run(*call(rows, out)) == 1
            assert "is written by this process already" in capsys.readouterr().err
    assert out.read_text() == "rows of a stream"


@pytest.mark.parametrize("name", ["rest.csv", "bad.csv"])
@pytest.mark.parametrize("how", ["other bytes", "cut", "longer"])
def test_an_output_that_changed_is_not_continued(
    name: str, how: str, rows: Path, capsys: Any
) -> None:
    saved = ["--checkpoint", rows.with_name("c.dyn"), "--resume"]
    call = [*stream(rows, rows.with_name("rest.csv")), *saved]
    call += ["--bad-rows", rows.with_name("bad.csv")]
    rows.write_text(rows.read_text() + "u,1\n")
    assert run(*call) == 0
    path = rows.with_name(name)
    before = path.read_bytes()
    changed = {
        "other bytes": before[:-3] + (b"7", b"8")[before[-3] == 55] + before[-2:],
        "cut": before[:-3],
        "longer": before + b"more\n",  # as after a kill: it is cut back
    }[how]
    path.write_bytes(changed)
    capsys.readouterr()
    more = table(rows, 50).read_text().splitlines(keepends=True)
    rows.write_text("".join([*more[:41], "u,1\n", *more[41:]]))
    assert run(*call) == (0 if how == "longer" else 1)
    if how == "longer":
        assert path.read_bytes().startswith(before)
        assert b"more" not in path.read_bytes()
    else:
        assert "--resume needs the output of the first call" in capsys.readouterr().err
        assert path.read_bytes() == changed


def test_who_writes_to_an_output_meanwhile_is_noticed(rows: Path) -> None:
    done = live("--out o.csv --checkpoint c.dyn", "echo theirs >> o.csv", rows)
    assert done.stdout == "first 1\n", done
    assert "o.csv must be written by this stream alone" in done.stderr


def test_an_output_that_was_moved_is_warned_of(rows: Path) -> None:
    done = live("--out o.csv --checkpoint c.dyn", "mv o.csv p.csv", rows)
    assert done.stdout == "first 143\n", done
    assert "o.csv was moved, removed or replaced" in done.stderr
    assert rows.with_name("p.csv").read_text().count("\n") == 41


def test_numbers_of_open_files(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("/dev/stderr")
    assert descriptor_of("/dev/stdout") == 1
    assert descriptor_of(link) == 2
    assert descriptor_of(f"/proc/{os.getpid()}/fd/7") == 7
    assert descriptor_of(f"/proc/{os.getppid()}/fd/7") is None
    assert descriptor_of(tmp_path / "fd" / "1") is None
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert descriptor_of(loop) is None


@pytest.mark.parametrize("name", ["--version", "--help"])
def test_what_cannot_be_printed_is_an_error(name: str, tmp_path: Path) -> None:
    done = shell(f"dyntree {name} >&-", tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("dyntree: standard output: cannot be written")


def test_a_resumed_stream_makes_no_other_output(rows: Path, capsys: Any) -> None:
    saved = ["--checkpoint", rows.with_name("c.dyn"), "--resume"]
    assert run(*stream(rows, rows.with_name("o.csv"), *saved)) == 0
    assert run(*stream(rows, rows.with_name("wrong.csv"), *saved)) == 1
    assert "there is no" in capsys.readouterr().err
    assert not rows.with_name("wrong.csv").exists()


def test_a_lock_that_cannot_be_written_is_named(rows: Path, capsys: Any) -> None:
    """As on a full disk: no file may be longer than nothing."""
    call = predict(rows, rows.with_name("o.csv"))
    with short_files(0):
        assert run(*call) == 1
    told = capsys.readouterr().err
    assert "o.csv: cannot be written, as its lock" in told
    assert "standard output" not in told
