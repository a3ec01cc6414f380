"""One table of what the commands complain of: files, a call, its end and its words."""

from __future__ import annotations

import gzip
import shlex
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dyntree.formula.api as dtf
from dyntree import AveragedStream, cli, save
from tests.unit.commands.conftest import run

COMMANDS = ["fit", "stream", "evaluate"]
HEAD, GOOD = "p,q,site,y\n", [f"{k / 8},{k % 5},u,{k % 3}\n" for k in range(12)]
ROWS = HEAD + "".join(GOOD)
PACKED = gzip.compress(ROWS.encode())
LINE = '{"p": 1, "y": 2}\n'
FEW = "p,y\n" + "".join(f"{k},{k}\n" for k in range(12))
QUOTE = "p,y,s\n" + "1,2,u\n" * 5 + '1,"2,u\n'

# What is in a file, whose name is a.csv where none is said; a call, in which FILE is
# the file, OF a formula of its columns and TO an output, "*" each of three commands;
# the exit code, None for that of argparse; and words of the complaint.
Case = tuple[Any, str, int | None, str]
CASES: list[Case] = [
    # an empty response, whose column has a name of its own
    (FEW.replace("y", "load", 1) + "3,\n", "fit FILE --formula 'load ~ p' TO", 1,
     "dyntree: the response must be finite; got nan in row 12"),
    # a table that is no CSV with commas
    ('[{"p": 1, "y": 2}, {"p": 1, "y": 2}]', "* FILE OF TO", 1, "it looks like JSON"),
    ('{"p": 1, "y": 2}\n', "* FILE OF TO", 1, "a file whose name ends in .ndjson"),
    (ROWS.replace(",", ";"), "* FILE OF TO", 1,
     "If cells are separated by \";\": --separator \";\"."),
    (ROWS.replace(",", ";"), "* FILE --formula 'y ~ .' TO", 1, "--separator \";\"."),
    (ROWS.replace(",", "\t"), "* FILE OF TO", 1, "separated by tab: --separator tab."),
    # names of columns, files and figures
    (ROWS, "fit FILE --formula 'z ~ .' TO", 1, "'z'"),
    (None, "fit absent.csv OF TO", 1, "absent.csv"),
    (ROWS, "fit FILE OF --out absent/m", 1, "written"),
    (ROWS, "fit FILE OF TO --window 1", 2, "window"),
    (ROWS, "fit FILE OF TO --window 0 --forget .5", 2, "--forget needs a window"),
    (ROWS, "fit FILE OF TO --window 0 --forget 0", 2, "--forget needs a window"),
    (ROWS, "fit FILE OF TO --levels q", 2, "COLUMN=A,B"),
    (ROWS, "fit FILE OF TO --levels q=a,b --levels q=c", 2,
     "--levels must name each column once; got 'q'"),
    (ROWS, "predict FILE FILE", 1, "cannot be loaded"),
    (None, "info absent.dyn", 1, "absent.dyn"),
    (ROWS, "stream FILE --formula 'z ~ .' TO", 1, "no 'z'"),
    (ROWS, "stream FILE --formula 'y ~ p % q' TO", 1, "formula"),
    (ROWS, "* FILE OF TO --times z", 1,
     "--times must name columns of the table, ['p', 'q', 'site', 'y']; got 'z'."),
    (ROWS, "fit FILE --formula y '~' p TO", None, "put a formula in quotes"),
    (ROWS, "predict FILE FILE -o a.csv", None,
     "unrecognized arguments: -o a.csv; dyntree predict --help lists those"),
    *[(None, f"fit a.csv {more} TO", None, said) for more, said in [
        ("--forumla 'y ~ p'", "required: --formula; --forumla is unknown; did you "
         "mean --formula?"),
        ("--forumla='y ~ p'", "--forumla is unknown; did you mean --formula?"),
        ("-formula 'y ~ p'", "-formula is unknown; did you mean --formula?"),
        ("--target y", "required: --formula; --target is unknown"),
        ("OF --target y", "unrecognized arguments: --target y; dyntree fit --help"),
        ("OF --threads 2", "unrecognized arguments: --threads 2; dyntree fit --help"),
        ("OF --nu 5 --random-state=1 --target y", "error: --nu is unknown; "
         "--random-state is unknown; did you mean --seed? --target is unknown"),
    ]],
    *[(None, f"* a.csv OF --{word} 5", None, f"--{word} is unknown; did you mean {it}?")
      for word, it in [("trees", "--particles"), ("n-particles", "--particles"),
                       ("n_estimators", "--particles"), ("random-state", "--seed"),
                       ("min_samples_leaf", "--min-leaf"), ("max-rows", "--window"),
                       ("categories", "--levels"), ("grace-period", "--min-leaf")]],
    (ROWS, "stream FILE OF TO --particles 0", 2,
     "--particles must be a whole number >= 1; got 0."),
    (ROWS, "stream FILE OF TO --min-leaf 0", 2,
     "--min-leaf must be a whole number >= 1; got 0."),
    (ROWS, "stream FILE OF TO --rejuvenate-every -1 --window auto", 2,
     "got --rejuvenate-every -1"),
    # files that are no table
    ("", "* FILE OF TO", 1, "must have a header"),
    ("p,y\n", "* FILE --formula 'y ~ .' TO", 1, "it has no row"),
    ("", "evaluate FILE OF", 1, "a.csv cannot be read: "),
    (b"\xff\xfe" + bytes(range(256)), "* FILE OF TO", 1, "a.csv"),
    ("p,p,y\n1,2,3\n2,3,4\n", "* FILE OF TO", 1,
     "name each column once; got 'p' twice"),
    ("p,y\n1,2\n1,2,3,4\n", "* FILE OF TO", 1, "4"),
    (("a.csv.gz", PACKED[:-20]), "stream FILE OF TO", 1,
     "a.csv.gz cannot be unpacked: Compressed file ended"),
    (("a.csv.gz", b"plain"), "stream FILE OF TO", 1,
     "a.csv.gz cannot be unpacked: Not a gzipped file"),
    *[(f'a,b,"c\n1,2,3\n4,5,{end}7,8,9\n10,11,12\n',
       f"{command} FILE --formula 'a ~ b' TO", 1, "the header cannot be read")
      for end in ('"6"\n', "6\n") for command in ("fit", "stream")],
    # rows
    (HEAD + "".join(GOOD[:3]) + "1,2\n", "stream FILE OF TO", 1,
     "row 3: it must have 4 cells"),
    (HEAD + "".join(GOOD[:3]) + "x,1,u,1\n", "stream FILE OF TO", 1,
     "row 3: column 'p' must hold numbers; got 'x'"),
    (HEAD + "".join(GOOD[:3]) + "1,1,u,high\n", "stream FILE OF TO", 1,
     "row 3: column 'y' must hold numbers; got 'high'. Mend it, or say --model class"),
    ("p,y\n1,2\n2,3\ninf,4\n", "stream FILE OF TO", 1,
     "row 2: X must be finite; got inf, column 'p'"),
    *[(("a.ndjson", f"{LINE}\n{line}\n"), "stream FILE OF TO", 1, "row 1")
      for line in ("[1]", "{", '{"y": [1]}', '{"y": {}}')],
    (("a.ndjson", LINE + '{"p": 1, "p": 2, "y": 3}\n'), "stream FILE OF TO", 1,
     "row 1: it is not JSON: it names 'p' twice"),
    ("p,t,y\n1,2026-01-01,1\n2,soon,2\n", "stream FILE --formula 'y ~ .' --times t TO",
     1, "row 1: column 't' must hold times in ISO 8601; got 'soon'"),
    (QUOTE + "1,2,u\n" * 200, "fit FILE OF TO", 1,
     "row 5: a cell of it begins with a quote that does not end within"),
    (QUOTE + "1,2,u\n" * 200, "fit FILE OF TO", 1, "--most-quoted"),
    (QUOTE + "1,2,u\n" * 20, "fit FILE OF TO", 1,
     "row 5: a cell of it begins with a quote that has no end"),
    ("p;y\n" + "".join(f"{k},5;{k}\n" for k in range(60)) + "1.234;1\n",
     "* FILE OF TO --separator ';' --decimal ,", 1, "must hold numbers; got '1.234'"),
    # formats and outputs
    *[(("a.ndjson", LINE), f"fit {name} OF TO --missing NA", 2,
       "--missing is for cells of CSV") for name in ("FILE", "b.parquet")],
    *[(FEW, f"{call} {flag} {name}", 2,
       f"{flag} must be written as CSV or NDJSON, not packed; got {name}")
      for name in ("o.parquet", "o.arrow", "o.csv.gz", "o.ndjson.zst")
      for call, flag in (
        ("predict absent.dyn FILE", "--out"), ("stream FILE OF", "--out"),
        ("evaluate FILE OF", "--out"), ("stream FILE OF", "--bad-rows"))],
    (FEW, "fit FILE OF --out -", 2, ""),
    (FEW, "stream FILE OF --checkpoint ''", None, ""),
    (FEW, "stream FILE OF --out o --bad-rows o", 2, ""),
    (FEW, "stream FILE OF --missing 'a\nb'", None, ""),
    (FEW, "stream FILE --formula 'y ~ Q(\"a\nb\")'", 2, ""),
    # what argparse refuses
    *[(None, f"stream a.csv.gz OF {more}", None, words) for more, words in [
        ("--follow", "--follow needs a CSV or NDJSON file that is not packed"),
        ("--key k", "--labels and --key need each other"),
        ("--labels l.csv", "--labels and --key need each other"),
        ("--bad-rows -", "--bad-rows must name a file"),
        ("--status -", "--status must name a file"),
        ("--checkpoint -", "--checkpoint must name a file"),
        ("--every 1.5", "must be a whole number; got 1.5"),
        ("--every often", "must be a number; got often"),
        ("--alarm 2", "must be in (0, 1); got 2"),
        ("--report 0", "must be above 0; got 0"), ("--over 0", "must be >= 1; got 0"),
        ("--alarm u", "must be a number; got u"),
        ("--over 1.5", "must be a whole number; got 1.5"),
        ("--seconds -1", "must be above 0; got -1"),
        ("--seconds nan", "must be above 0; got nan"), ("--window '\x1b[31mX\nY'", ""),
        *[(f"--separator {word!r}", "must be one character, or tab")
          for word in ("", ",,", '"', "\n")],
    ]],
    (None, "evaluate a.csv OF --start -1", None, ""), (None, "demo trees", 2, ""),
    (None, "demo trees out --seed -1", 2, ""),
    (None, "crosscheck a.csv --formula y", 2, ""),
    (None, "crosscheck a.csv OF --model negbin", None, "invalid choice: 'negbin'"),
]  # fmt: skip
EACH = [
    (content, call.replace("*", command, 1), code, said)
    for content, call, code, said in CASES
    for command in (COMMANDS if call.startswith("*") else [""])
]


@pytest.mark.parametrize("case", EACH, ids=lambda case: case[1])
def test_a_complaint_is_one_line_that_names_the_fault(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    content, call, code, said = case
    monkeypatch.chdir(tmp_path)
    name = "a.csv"
    if isinstance(content, tuple):
        name, content = content
    if content is not None:
        Path(name).write_bytes(
            content if isinstance(content, bytes) else content.encode()
        )
    words = {"FILE": [name], "OF": ["--formula", "y ~ p"], "TO": ["--out", "out.csv"]}
    parts = [part for word in shlex.split(call) for part in words.get(word, [word])]
    try:
        ended: Any = cli.main(parts)
    except SystemExit as end:
        ended, code = end.code, 2 if code is None else f"{code}, by no parser"
    out, err = capsys.readouterr()
    assert ended == code, err
    assert said in err
    assert "\x1b" not in err
    assert "words_of" not in err
    last = err.splitlines()[-1]
    assert last.startswith("dyntree")
    if case[2] is not None:
        assert (out, err) == ("", f"{last}\n")
    if parts[0] != "stream" or code == 2 or "no row" in said or "header" in said:
        assert {path.name for path in tmp_path.iterdir()} <= {name}


def test_a_misspelt_option_of_each_command_gets_a_suggestion(capsys: Any) -> None:
    n_asked = 0
    for action in cli.parser()._actions:
        commands = action.choices if isinstance(action.choices, dict) else {}
        for command, parser in commands.items():
            for flag in (one for one in parser._option_string_actions if len(one) > 6):
                wrong = flag[:4] + flag[5:]
                with pytest.raises(SystemExit):
                    cli.main([command, wrong])
                meant = f"{wrong} is unknown; did you mean {flag}?"
                assert meant in capsys.readouterr().err
                n_asked += 1
    assert n_asked > 50


@pytest.mark.parametrize("by_formula", [False, True])
def test_a_shell_says_how_times_of_a_model_made_in_python_are_read(
    tmp_path: Path, capsys: Any, by_formula: bool
) -> None:
    """Text of a CSV is a time where it is named as one."""
    data = pd.DataFrame({"day": pd.date_range("2026-01-01", periods=30)})
    model, y = tmp_path / "model.dyn", [k % 7 for k in range(30)]
    if by_formula:
        whole = data.assign(y=y)
        dtf.dynamic_tree("y ~ day", whole, n_particles=5, seed=1).fit().save(model)
    else:
        save(AveragedStream(n_particles=5, seed=1).update(data, y), model)
    rows = tmp_path / "rows.csv"
    data.to_csv(rows, index=False)
    assert run("predict", model, rows) == 1
    assert "--times day" in capsys.readouterr().err
    assert run("predict", model, rows, "--times", "day") == 0
