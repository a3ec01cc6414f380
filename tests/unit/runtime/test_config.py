"""What show_config tells about a build."""

from __future__ import annotations

import json
import platform
from importlib import metadata

import numpy as np
import pytest
import scipy

from dyntree.runtime import config


def test_versions_and_switches_are_those_in_force() -> None:
    told = config.show_config()
    assert told["numpy"] == np.__version__
    assert told["scipy"] == scipy.__version__
    assert told["python"] == platform.python_version()
    assert told["openmp"] in ("yes", "no")
    assert all(isinstance(value, str) and value for value in told.values())
    assert json.loads(json.dumps(told)) == told


def test_what_is_not_installed_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = metadata.version

    def version(name: str) -> str:
        if name == "pandas":
            raise metadata.PackageNotFoundError(name)
        return plain(name)

    monkeypatch.setattr(config, "version", version)
    told = config.show_config()
    assert told["pandas"] == "absent"
    assert told["numpy"] == np.__version__
