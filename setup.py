"""Packages, extensions and build switches; everything else stands in pyproject.toml.

DYNTREE_DEBUG=1 builds without optimisation and with Cython's bounds checks,
DYNTREE_SANITIZE=1 with address and undefined-behaviour checks, DYNTREE_OPENMP=0 without
OpenMP; otherwise OpenMP is used where the compiler has it.
"""

import os
import subprocess
import sysconfig
import tempfile
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

OPENMP_TEST = "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n"


def switch(name: str, default: str = "0") -> bool:
    """Whether an environment switch is on."""
    return os.environ.get(name, default) not in ("", "0")


def openmp_works() -> bool:
    """Whether the C compiler builds a program with OpenMP."""
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "probe.c"
        source.write_text(OPENMP_TEST)
        command = [
            *compiler,
            "-fopenmp",
            str(source),
            "-o",
            str(source.with_suffix("")),
        ]
        try:
            return subprocess.run(command, capture_output=True).returncode == 0
        except OSError:
            return False


DEBUG = switch("DYNTREE_DEBUG")
# -g0: Python's own flags ask for debug symbols, a third of the compiler's time. R mode
# pins last bits: no contraction into fused multiply-adds, no fast-math
FLAGS = ["-O0"] if DEBUG else ["-O2", "-g0"]
FLAGS += ["-ffp-contract=off", "-fno-math-errno"]
LINK = []
if switch("DYNTREE_OPENMP", "1") and openmp_works():
    FLAGS.append("-fopenmp")
    LINK.append("-fopenmp")
if switch("DYNTREE_SANITIZE"):
    checks = ["-fsanitize=address,undefined", "-fno-omit-frame-pointer", "-g"]
    FLAGS += checks
    LINK += checks

# what Cython would else write into every module anew, its memoryviews above all
SHARED = "dyntree._core._shared"

sources = sorted(Path("dyntree/_core").rglob("*.pyx"))
extensions = [
    Extension(
        ".".join(source.with_suffix("").parts),
        [source.as_posix()],
        depends=[source.as_posix()],  # for the sdist: cythonize makes the source a .c
        extra_compile_args=FLAGS,
        extra_link_args=LINK,
    )
    for source in [*sources, Path(f"{SHARED.replace('.', '/')}.c")]
]


class Build(build_ext):
    """A build in which only one that stays in place has what tests alone use."""

    def run(self) -> None:
        """Build all extensions, or for a wheel those without the probes."""
        if not self.inplace and not self.editable_mode:
            self.extensions = [
                extension
                for extension in self.extensions
                if extension.name.rpartition(".")[2] != "probe"
            ]
        super().run()


setup(
    cmdclass={"build_ext": Build},
    # dyntree.data is the folder data/, which no search beside dyntree/ would find
    packages=[*find_packages(include=["dyntree*", "rbridge*"]), "dyntree.data"],
    options={"build_ext": {"parallel": os.cpu_count() or 1}},
    ext_modules=cythonize(
        extensions,
        nthreads=os.cpu_count() or 1,
        shared_utility_qualified_name=SHARED,
        compiler_directives={
            "language_level": 3,
            "boundscheck": DEBUG,
            "initializedcheck": DEBUG,
            "wraparound": False,
            "cdivision": True,
            "embedsignature": True,
            "auto_pickle": False,  # models pickle as checkpoints, RSource by itself
        },
    ),
)
