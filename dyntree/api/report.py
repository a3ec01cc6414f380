"""An evaluation as one web page that needs nothing beside itself."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from dyntree import __version__
from dyntree.api import plots
from dyntree.api.markup import in_html
from dyntree.api.plots import Trace
from dyntree.api.plots.canvas import levels_of, record_of, view_of, with_values
from dyntree.errors import ArgumentError
from dyntree.evaluate import Prequential
from dyntree.runtime.config import show_config
from dyntree.storage.plain import in_cell
from dyntree.trees.factory import Trees
from dyntree.trees.model import DynamicTree
from dyntree.trees.streaming import StreamingTree
from dyntree.trees.view import TreeView

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_SLICES, N_BOXES, N_LEAVES = 6, 20, 40  # most that a picture shows
N_SAMPLES = 5000  # of inputs for effects, divided by the number of features
WIDEST = 15.0  # inches of a picture that is scaled to the page; wider ones scroll

MEANINGS = {
    "error": "share of labels predicted wrongly; low is good",
    "auc": "area under the ROC curve; high is good, .5 is chance",
    "log_loss": "minus the mean log probability of the label, nats; low is good",
    "brier": "squared distance of probabilities from the label; low is good",
    "n_new_labels": "rows whose label could not be known",
    "rmse": "root mean squared error, in units of the response; low is good",
    "log_density": "mean log predictive density, nats; high is good",
    "coverage": "share of rows inside the central interval",
    "interval_score": "width of the interval, misses added; low is good",
}

CAPTIONS = {
    "rolling": "Error over a moving window; dotted: the baseline over all rows.",
    "auc": "Area under the ROC curve over a moving window; dotted: chance.",
    "slices": "Prediction along one feature; the others at the medians, or the most "
    "frequent levels, of the active rows.",
    "surface": "Prediction and uncertainty over the two most relevant features that "
    "are no levels; dots are the active rows.",
    "importance": "Importance: the share of the predicted variance that a feature "
    "accounts for, through splits and slopes; whiskers: two Monte Carlo errors.",
    "effects": "Main effects: the mean prediction along one feature, averaged over the "
    "others; grey: 90 % of the particles.",
    "sobol": "Sobol' indices: the share of the variance of the mean prediction that a "
    "feature has alone, and with the others.",
    "tree": "The tree of one particle: rows that meet a condition go left; n: "
    "active rows, plus the weight of those retired.",
}

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 sans-serif; color: #111; max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; }}
h1 {{ font-size: 1.6rem; }}
h2 {{ font-size: 1.2rem; margin-top: 2.5rem; }}
table {{ border-collapse: collapse; }}
th, td {{ text-align: left; vertical-align: top; padding: .2rem 1rem .2rem 0;
  border-bottom: 1px solid #ddd; }}
td.number {{ text-align: right; font-variant-numeric: tabular-nums; }}
figure {{ margin: 1rem 0 2rem; overflow-x: auto; }}
img.fits {{ max-width: 100%; }}
figcaption {{ color: #444; }}
pre {{ overflow-x: auto; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{lead}</p>
{body}
</body>
</html>
"""


def report_html(
    model: Trees,
    seen: Prequential,
    *,
    trace: Trace | None = None,
    title: str = "A dynamic tree, evaluated row by row",
    response: str = "y",
    notes: Mapping[str, Any] | None = None,
) -> str:
    """Write a report of an evaluation as one self-contained web page.

    Parameters
    ----------
    model : DynamicTree, StreamingTree, AveragedStream or AveragedTrees
        The model after the evaluation.
    seen : Prequential
        Return value of ``evaluate.prequential``.
    trace : Trace, optional
        Return value of ``Recorder.trace()``, if a ``plots.Recorder`` replaced the model
        in the evaluation. It adds figures of weights, moves and trees over time.
    title : str
        Heading of the page.
    response : str, default "y"
        Name of the response and its unit.
    notes : mapping of str to object, optional
        Further settings to list, such as the source of the rows.

    Returns
    -------
    str
        HTML with scores compared with the trivial baseline, figures, settings and
        versions. It has no scripts and no links to other files.

    Notes
    -----
    Figures of single features show the six most relevant ones. Effects and Sobol'
    indices of classes are those of the probability of the last label. The model is not
    changed.

    Examples
    --------
    >>> from dyntree import DynamicTree
    >>> from dyntree.api.report import report_html
    >>> from dyntree.datasets import load_mcycle
    >>> from dyntree.evaluate import prequential
    >>> data = load_mcycle()
    >>> tree = DynamicTree("linear", n_particles=50, seed=1)
    >>> seen = prequential(tree, data[["times"]], data["accel"], start=50)
    >>> page = report_html(tree, seen, response="acceleration, g")
    >>> page.startswith("<!DOCTYPE html>"), page.count("<img")
    (True, 6)
    """
    view = view_of(model, "report_html")
    tree = view.tree
    record_of(seen, "seen", Prequential, "evaluate.prequential")
    if (seen.classes is None) != (tree.classes is None):
        raise ArgumentError(
            "seen",
            "must be an evaluation of this model, model={model!r}; it holds {value}",
            model=tree.options.model,
            value="real responses" if seen.classes is None else "labels",
        )
    noted = "" if trace is None else ", the notes for the pictures included"
    lead = (
        f"{seen.scores.n_rows} rows, each predicted before it was learned, in "
        f"{1e3 * seen.seconds_per_row:.3g} ms a row{noted}; "
        f"{model.memory_usage() / 1e6:.3g} MB in the end."
    )
    drawn = _pictures(model, view, seen, response)
    if trace is not None:
        drawn += _over_time(trace)
    sections = {
        "Scores": _scores(seen),
        "Pictures": "\n".join(inline(*one) for one in drawn),
        "Settings": facts_table(_settings(model, tree) | dict(notes or {})),
        "Versions": facts_table(show_config() | {"dyntree": __version__}),
    }
    return page(title, lead, sections)


def page(title: str, lead: str, sections: Mapping[str, str]) -> str:
    """Return a page of plain text and of HTML sections, which are given by heading."""
    body = [f"<h2>{in_html(name)}</h2>\n{text}" for name, text in sections.items()]
    return PAGE.format(title=in_html(title), lead=in_html(lead), body="\n".join(body))


def _scores(seen: Prequential) -> str:
    """Scores of the model and the trivial baseline, with what they mean."""
    own, trivial = asdict(seen.scores), asdict(seen.baseline)
    lines = [
        "<table>",
        "<tr><th>score</th><th>model</th><th>trivial baseline</th><th></th></tr>",
    ]
    for name, meaning in MEANINGS.items():
        if name in own:
            lines.append(
                f"<tr><td>{name}</td>"
                f'<td class="number">{own[name]:.4g}</td>'
                f'<td class="number">{trivial[name]:.4g}</td>'
                f"<td>{meaning}</td></tr>"
            )
    return "\n".join([*lines, "</table>"])


def _pictures(
    model: Trees,
    view: TreeView,
    seen: Prequential,
    response: str,
) -> list[tuple[Figure, str]]:
    """Figures, each with what it shows."""
    tree: DynamicTree = view.tree
    names = tree.feature_names
    found, there = tree.importance(), with_values(view)
    order = np.argsort(-found.values, kind="stable")
    inputs = [found.names[k] for k in order]
    effects_at = tree.effect_places
    places = {k: at or effects_at[k] for k, at in tree.level_places.items()}
    most = [
        names[k]
        for name in inputs
        for k in places.get(name) or [names.index(name)]
        if k in there
    ]
    drawn = {"rolling": plots.plot_rolling(seen, response=response)}
    if seen.classes is not None:
        drawn["auc"] = plots.plot_rolling(seen, "auc")
    drawn["slices"] = plots.plot_slices(model, most[:N_SLICES], response=response)
    pair = [one for one in most if not levels_of(tree, names.index(one))][:2]
    if len(pair) == 2:
        drawn["surface"] = (
            plots.plot_surface(model, pair, response=response)
            if seen.classes is None
            else plots.plot_classes(model, pair)
        )
    drawn["importance"] = plots.plot_importance(found, inputs[:N_BOXES])
    label = None if seen.classes is None else (tree.classes or ())[-1]
    effects = tree.sensitivity(
        label=label, n_samples=max(100, N_SAMPLES // len(names)), n_grid=50
    )
    name = response if label is None else f"P({in_cell(label)})"
    known = [one for one in inputs if one in places or one in most]
    drawn["effects"] = plots.plot_effects(effects, known[:N_SLICES], response=name)
    drawn["sobol"] = plots.plot_sobol(effects, inputs[:N_BOXES])
    if view.shapes()[1][0] <= N_LEAVES:
        drawn["tree"] = plots.plot_tree(model, response=response)
    return [(figure, CAPTIONS[kind]) for kind, figure in drawn.items()]


def _over_time(trace: Trace) -> list[tuple[Figure, str]]:
    """Figures of how the particles fared."""
    return [
        (
            plots.plot_steps(trace),
            "Over time: log evidence; weights of the particles at a row; how many grew "
            "or pruned their tree.",
        ),
        (
            plots.plot_shape(trace),
            "Over time: height and leaves of the trees, and the rows in a leaf.",
        ),
    ]


def inline(figure: Figure, caption: str) -> str:
    """Return a figure as an HTML element with the picture embedded."""
    file = io.BytesIO()
    kind = "fits" if figure.get_figwidth() <= WIDEST else "wide"
    figure.savefig(file, format="svg", metadata={"Date": None})
    text = base64.b64encode(file.getvalue()).decode("ascii")
    said = in_html(caption)
    return (
        f'<figure>\n<img class="{kind}" alt="{said}" '
        f'src="data:image/svg+xml;base64,{text}">\n'
        f"<figcaption>{said}</figcaption>\n</figure>"
    )


def _settings(model: Trees, tree: Any) -> dict[str, Any]:
    """What the model was made to be, and how far it has come."""
    settings = {"kind": type(model).__name__, **asdict(tree.options)}
    if isinstance(model, StreamingTree):
        settings |= asdict(model.options)
    if tree.classes is not None:
        settings["classes"] = ", ".join(str(in_cell(one)) for one in tree.classes)
    return settings | {
        "seed": tree.seed,
        "features": ", ".join(tree.feature_names),
        "rows learned": tree.n_seen,
        "active rows": tree.n_active,
        "log evidence": f"{tree.log_evidence:.6g}",
    }


def facts_table(facts: Mapping[str, Any]) -> str:
    """Return names and values as a table."""
    lines = [
        f"<tr><td>{in_html(name)}</td><td>{in_html(value)}</td></tr>"
        for name, value in facts.items()
        if value is not None
    ]
    return "\n".join(["<table>", *lines, "</table>"])
