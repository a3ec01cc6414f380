"""Data of the benchmarks of topic models, from packages: images, digits, news."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dyntree.datasets import image_points, patch_points


def colour_images() -> list[Any]:
    """Photographs that scikit-image, scikit-learn and matplotlib bring along."""
    import matplotlib.cbook
    import matplotlib.pyplot as plt
    from skimage import data
    from sklearn.datasets import load_sample_image

    names = (
        "astronaut", "chelsea", "coffee", "rocket", "retina", "hubble_deep_field",
        "immunohistochemistry",
    )  # fmt: skip
    found = []
    for name in names:
        try:
            found.append(np.asarray(getattr(data, name)())[..., :3])
        except Exception:  # not in the wheel, and no network
            continue
    found += [load_sample_image("china.jpg"), load_sample_image("flower.jpg")]
    found.append(plt.imread(matplotlib.cbook.get_sample_data("grace_hopper.jpg")))
    return found


def crops(n: int, width: int, height: int, seed: int = 0) -> list[Any]:
    """Documents: random crops with sides 50-90 %, resized, as points."""
    from skimage.transform import resize

    rng, images = np.random.default_rng(seed), colour_images()
    out = []
    for _ in range(n):
        image = images[rng.integers(len(images))]
        share = rng.uniform(0.5, 0.9)
        h, w = (int(share * side) for side in image.shape[:2])
        top = rng.integers(image.shape[0] - h + 1)
        left = rng.integers(image.shape[1] - w + 1)
        cut = image[top : top + h, left : left + w]
        small = resize(cut, (height, width), anti_aliasing=True)
        out.append(image_points(np.clip(small, 0.0, 1.0)))
    return out


def faces(n: int = 100) -> list[Any]:
    """Grey faces of scikit-image as points (grey, x, y)."""
    from skimage import data

    out = []
    for face in data.lfw_subset()[:n]:
        y, x = np.mgrid[: face.shape[0], : face.shape[1]].astype(float)
        out.append(np.stack([face.ravel() * 100, x.ravel(), y.ravel()], axis=1))
    return out


def digits(n_train: int = 1000, n_test: int = 400, weight: float = 0.5) -> Any:
    """Patches of scikit-learn's digits: 8 principal components, weighted position."""
    from sklearn.datasets import load_digits

    found = load_digits()
    order = np.random.default_rng(0).permutation(len(found.images))[: n_train + n_test]
    patches = [patch_points(image, 4, 1) for image in found.images[order]]
    train = np.concatenate([one[:, :16] for one in patches[:n_train]])
    mean = train.mean(0)
    axes = np.linalg.svd(train - mean, full_matrices=False)[2][:8]
    spread = ((train - mean) @ axes.T).std(0)[0]  # of the first: the others vary less
    place = np.concatenate([one[:, 16:] for one in patches[:n_train]]).std(0)
    documents = [
        np.concatenate(
            [(one[:, :16] - mean) @ axes.T / spread, weight * one[:, 16:] / place],
            axis=1,
        )
        for one in patches
    ]
    labels = found.target[order]
    return documents[:n_train], labels[:n_train], documents[n_train:], labels[n_train:]


def news(n_train: int = 240, seed: int = 0) -> Any:
    """Counts of gensim's 300 news items; test documents are cut into halves."""
    from pathlib import Path

    import gensim
    from sklearn.feature_extraction.text import CountVectorizer

    path = Path(gensim.__file__).parent / "test" / "test_data" / "lee_background.cor"
    texts = path.read_text(encoding="utf-8").splitlines()
    counts = CountVectorizer(stop_words="english", min_df=4, max_df=0.3)
    matrix = counts.fit_transform(texts).tocsr()
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(texts))
    train, test = matrix[order[:n_train]], matrix[order[n_train:]].toarray()
    half = rng.binomial(test, 0.5)
    return train, half, test - half


def bars(
    n_docs: int, n_words: int, side: int = 5, alpha: float = 0.2, seed: int = 0
) -> Any:
    """Counts of words whose topics are rows and columns of a square; and the topics."""
    rng = np.random.default_rng(seed)
    topics = np.zeros((2 * side, side, side))
    for i in range(side):
        topics[i, i], topics[side + i, :, i] = 1.0, 1.0
    topics = topics.reshape(2 * side, -1) / side
    shares = rng.dirichlet(np.full(2 * side, alpha), n_docs) @ topics
    return np.stack([rng.multinomial(n_words, p / p.sum()) for p in shares]), topics


def halved(counts: Any, n_train: int, rng: np.random.Generator) -> Any:
    """Documents to learn, and halves of the words of the others."""
    from scipy.sparse import csr_matrix

    half = rng.binomial(counts[n_train:], 0.5)
    return csr_matrix(counts[:n_train]), half, counts[n_train:] - half


def zipf_topics(n_train: int, seed: int, n_words: int = 120) -> Any:
    """Documents of 40 topics over 2,000 words, a few common and most rare."""
    rng = np.random.default_rng([seed, 77])
    lengths = np.full(n_train + 150, n_words)
    return halved(of_topics(40, 2000, 20.0, lengths, rng), n_train, rng)


def short_topics(n_train: int, seed: int) -> Any:
    """Documents of 4 to 15 words, of 20 topics over 1,000 words."""
    rng = np.random.default_rng([seed, 78])
    lengths = rng.integers(4, 16, n_train + 150)
    return halved(of_topics(20, 1000, 5.0, lengths, rng), n_train, rng)


def of_topics(
    n_topics: int, n_words: int, alike: float, lengths: Any, rng: np.random.Generator
) -> Any:
    """Counts of words of topics, the more `alike` the larger it is."""
    common = 1.0 / np.arange(1, n_words + 1) ** 0.9
    topics = rng.dirichlet(alike * rng.permutation(common / common.sum()), n_topics)
    share = rng.dirichlet(np.full(n_topics, 2.0))
    shares = rng.dirichlet(0.08 * n_topics * share, len(lengths))
    pairs = zip(lengths, shares @ topics, strict=True)
    return np.stack([rng.multinomial(n, p) for n, p in pairs])


@cache
def docstring_words() -> list[list[str]]:
    """Words of all docstrings of 60 words or more in a few packages."""
    import ast
    import importlib
    import re
    from pathlib import Path

    found = []
    for package in ("scipy", "sklearn", "numpy", "pandas", "statsmodels", "matplotlib"):
        folder = Path(str(importlib.import_module(package).__file__)).parent
        for path in sorted(folder.rglob("*.py")):
            if "tests" in path.parts:
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                    text = ast.get_docstring(node) or ""
                    found.append(re.findall("[a-z]{3,}", text.lower()))
    return [words for words in found if len(words) >= 60]


def docstrings(n_train: int, seed: int, n_words: int = 120) -> Any:
    """Counts of the first words of docstrings, but for words of more than 15 %."""
    from collections import Counter

    rng = np.random.default_rng([seed, 5])
    every = docstring_words()
    chosen = rng.permutation(len(every))[: n_train + 150]
    documents = [every[i][:n_words] for i in chosen]
    among = Counter(word for one in documents[:n_train] for word in set(one))
    names = [w for w, c in among.most_common() if 3 <= c <= 0.15 * n_train][:3000]
    place = {word: k for k, word in enumerate(names)}
    counts = np.zeros((len(documents), len(names)), dtype=np.int64)
    for row, words in zip(counts, documents, strict=True):
        np.add.at(row, [place[word] for word in words if word in place], 1)
    return halved(counts, n_train, rng)
