"""Extension list and build switches; everything else stands in pyproject.toml.

DYNTREE_DEBUG=1 builds without optimisation and with Cython's bounds checks.
"""

import os
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("DYNTREE_DEBUG", "0") not in ("", "0")
CORE = sorted(Path("dyntree/_core").glob("*.pyx"))

# R mode pins last bits: no contraction into fused multiply-adds, no fast-math
FLAGS = ["-O0", "-g"] if DEBUG else ["-O2"]
FLAGS += ["-ffp-contract=off"]

extensions = [
    Extension(
        f"dyntree._core.{source.stem}",
        [source.as_posix()],
        include_dirs=[numpy.get_include()],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
        extra_compile_args=FLAGS,
    )
    for source in CORE
]

setup(
    options={"build_ext": {"parallel": os.cpu_count() or 1}},
    ext_modules=cythonize(
        extensions,
        nthreads=os.cpu_count() or 1,
        compiler_directives={
            "language_level": 3,
            "boundscheck": DEBUG,
            "initializedcheck": DEBUG,
            "wraparound": False,
            "cdivision": True,
            "embedsignature": True,
        },
    ),
)
