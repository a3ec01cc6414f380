"""Pictures of topics say what the model holds."""

from __future__ import annotations

import numpy as np
import pytest

from dyntree.api import plots
from dyntree.mixtures import MemoryBoundedHDP, OnlineDPGMM
from tests.unit.mixtures.hdp.test_memory import documents_of


@pytest.fixture(scope="module")
def model() -> MemoryBoundedHDP:
    return MemoryBoundedHDP(memory_limit=20_000, max_groups=8, epoch_size=5).fit(
        documents_of("full")
    )


def test_segmentations_have_mean_colours_and_edges() -> None:
    image = np.zeros((4, 6, 3), dtype=np.uint8)
    image[:, 3:] = 200
    labels = np.repeat([0, 0, 0, 1, 1, 1] * 4, 1)
    figure = plots.plot_segmentation(image, labels)
    painted = np.asarray(figure.axes[0].images[0].get_array())
    assert painted[0, 0].tolist() == [0, 0, 0]
    assert painted[0, 5] == pytest.approx([200 / 255] * 3)
    assert painted[0, 3] == pytest.approx([0.35 * 200 / 255] * 3)
    shown = plots.plot_segmentation(image, labels, overlay=1.0)
    pixels = np.asarray(shown.axes[0].images[0].get_array())
    assert pixels[0, 4] == pytest.approx([200 / 255] * 3)
    for bad in ({"labels": labels[:5]}, {"image": image[..., 0]}, {"overlay": 2.0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            plots.plot_segmentation(**({"image": image, "labels": labels} | bad))


def test_histories_are_drawn(model: MemoryBoundedHDP) -> None:
    h = model.history_
    energy = plots.plot_free_energy(model).axes[0].lines[0]
    assert energy.get_ydata().tolist() == h.free_energy_per_point.tolist()
    seen, held, limit = plots.plot_memory_by_epoch(model).axes[0].lines
    assert seen.get_ydata() == pytest.approx(np.arange(1, 5) * 5 * 40 * 28)
    assert held.get_ydata().tolist() == h.bytes.tolist()
    assert limit.get_ydata()[0] == 20_000
    bars = plots.plot_epoch_seconds(model).axes[0].patches
    assert len(bars) == 2 * len(h)


def test_topics_of_documents_are_stacked(model: MemoryBoundedHDP) -> None:
    documents = documents_of("full")
    axes = plots.plot_topics_over_documents(model, documents).axes[0]
    heights = np.array([bar.get_height() for bar in axes.patches]).reshape(-1, 20)
    assert heights.sum(0) == pytest.approx(np.ones(20))
    named = [text.get_text() for text in axes.get_legend().get_texts()]
    assert named == [f"topic {i}" for i in model.topic_ids_[::-1]]


def test_topics_beyond_twelve_are_one_bar_to_the_top() -> None:
    many = MemoryBoundedHDP("multinomial", init_topics=15, max_topics=15)
    counts = 20 * np.repeat(np.eye(15, dtype=int), 4, axis=0)
    many.fit(counts)
    assert many.n_topics_ > 12
    axes = plots.plot_topics_over_documents(many, counts).axes[0]
    heights = np.array([bar.get_height() for bar in axes.patches]).reshape(13, 60)
    assert heights.sum(0) == pytest.approx(np.ones(60))
    named = [text.get_text() for text in axes.get_legend().get_texts()]
    assert f"{many.n_topics_ - 12} other topic" in named[0]


def test_clumps_are_ellipses(model: MemoryBoundedHDP) -> None:
    axes = plots.plot_clumps(model, ("x2", 0)).axes[0]
    assert len(axes.lines) == model.n_clumps_ + 2
    assert axes.get_xlabel() == "x2"
    diagonal = MemoryBoundedHDP("diag", max_items=10).fit(documents_of("full"))
    assert len(plots.plot_clumps(diagonal).axes[0].lines) == diagonal.n_clumps_ + 2
    with pytest.raises(ValueError, match="features must be two columns"):
        plots.plot_clumps(model, (0, 9))
    words = MemoryBoundedHDP("multinomial").fit(documents_of("multinomial"))
    with pytest.raises(ValueError, match="Gaussian topics"):
        plots.plot_clumps(words)


def test_retrieval_shows_images_by_id(model: MemoryBoundedHDP) -> None:
    copy = model.copy()
    copy.compress(max_items=10)
    documents = documents_of("full")
    copy.index(documents[:4], list("abcd"))
    found = copy.retrieve(documents[:1], 3)
    images = {name: np.full((3, 3), float(k)) for k, name in enumerate("abcd")}
    figure = plots.plot_retrieval(images["a"], found, images)
    shown = [axes.images[0].get_array()[0, 0] for axes in figure.axes[1:]]
    assert shown == [images[name][0, 0] for name in found.ids[0].tolist()]
    assert figure.get_size_inches().tolist() == pytest.approx([1.5 * 4, 1.9])
    with pytest.raises(ValueError, match="results must be a Retrieved"):
        plots.plot_retrieval(images["a"], 3, images)


def test_tradeoffs_have_a_curve_each() -> None:
    figure = plots.plot_tradeoff([1e3, 1e4], {"a": [1, 2], "b": [3, 4]})
    assert [line.get_label() for line in figure.axes[0].lines] == ["a", "b"]
    with pytest.raises(ValueError, match="limits must be"):
        plots.plot_tradeoff([0, 1], [1, 2])


def test_other_models_are_refused() -> None:
    for name in ("plot_free_energy", "plot_memory_by_epoch", "plot_epoch_seconds"):
        plot = getattr(plots, name)
        with pytest.raises(ValueError, match="model must be a MemoryBoundedHDP"):
            plot(OnlineDPGMM())
        with pytest.raises(ValueError, match="has seen no documents"):
            plot(MemoryBoundedHDP())
