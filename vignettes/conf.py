"""Settings of the site: Sphinx builds this folder, and executes every cell of it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import dyntree

# Kernels that run the cells show figures that pyplot knows nothing of
profile = tempfile.TemporaryDirectory()
kernel = Path(profile.name) / "profile_default" / "ipython_kernel_config.py"
kernel.parent.mkdir()
kernel.write_text(
    "c.IPKernelApp.matplotlib = 'inline'\n"
    "c.InlineBackend.figure_formats = {'retina'}\n"
    "c.HistoryManager.enabled = False\n"
)
os.environ["IPYTHONDIR"] = profile.name
os.environ.setdefault("PYTHONHASHSEED", "0")

project = "dyntree"
author = "the dyntree developers"
copyright = f"2026, {author}, BSD-3-Clause. Version {dyntree.__version__}"
version = release = dyntree.__version__
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx-mathjax-offline",  # its files, so that the site needs no other host
    "numpydoc",
]
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb"}
exclude_patterns = ["_templates"]
templates_path = ["_templates"]
nitpicky = True

# cells: executed in a build, whatever raises stops it
nb_execution_mode = "cache"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_execution_excludepatterns = ["r.md"]  # its cells read what its blocks of R write
nb_merge_streams = True
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

# docstrings, in numpydoc's sections
autosummary_generate = True
autosummary_filename_map = {  # names that differ in case alone share a file elsewhere
    "dyntree.api.rmirror.DynaTree": "dyntree.api.rmirror.DynaTree-class",
}
autodoc_mock_imports = ["pyspark"]  # half a gigabyte
autodoc_typehints = "none"  # the type lines of docstrings say more
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False  # the template of classes lists them
numpydoc_use_plots = False

html_theme = "furo"
html_title = "dyntree"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f4e79",
                            "color-brand-content": "#1f4e79"},
    "dark_css_variables": {"color-brand-primary": "#8cb8e0",
                           "color-brand-content": "#8cb8e0"},
}
