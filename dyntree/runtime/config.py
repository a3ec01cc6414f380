"""What this build is and where it runs."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from dyntree.runtime.release import RELEASE


def show_config() -> dict[str, str]:
    """Versions of Python, of this package and of its dependencies; build switches.

    Returns
    -------
    dict of str to str
        A package that is not installed has the value "absent".

    Examples
    --------
    >>> sorted(show_config())[:3]
    ['cython', 'dyntree', 'machine']
    """
    from dyntree._core.openmp import has_openmp

    config = {
        "openmp": "yes" if has_openmp() else "no",
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "dyntree": RELEASE,
    }
    for name in (
        "numpy",
        "scipy",
        "pandas",
        "statsmodels",
        "matplotlib",
        "cython",
    ):
        try:
            config[name] = version(name)
        except PackageNotFoundError:
            config[name] = "absent"
    return config
