"""Write a small model of each kind, and its answers."""

from __future__ import annotations

import json
import warnings

import dyntree

from .stored import FOLDER, FORMULA, answer, models


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    answers = {}
    for name, model in models().items():
        path = FOLDER / f"{name}.dyn"
        if name == FORMULA:
            model.save(path)
        else:
            dyntree.save(model, path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = answer(name, model)
        answers[name] = {key: value.tolist() for key, value in found.items()}
    (FOLDER / "answers.json").write_text(json.dumps(answers, indent=0) + "\n")


if __name__ == "__main__":
    main()
