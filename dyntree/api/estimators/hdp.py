"""Memory-bounded topic models for scikit-learn: clusterers and transformers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from dyntree import params
from dyntree.api.estimators.arguments import threads_of
from dyntree.api.estimators.rows import checked_rows
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures import HDPOptions, HDPPrior, MemoryBoundedHDP
from dyntree.mixtures.hdp.options import HDP_SETTINGS

Ids = NDArray[np.int64]


def check_groups(groups: Any) -> None:
    """Refuse the name of a column: scikit-learn's tables come without it."""
    if isinstance(groups, str):
        raise ArgumentError(
            "groups",
            "must be a label for each row",
            Message("the text {groups!r}", groups=groups),
            "Give the column itself, groups=X[{groups!r}], and X without it.",
            groups=groups,
        )


class MemoryBoundedTopics(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """Topics shared by documents in bounded memory, for scikit-learn.

    Rows are points, and `groups` assigns each point to a document. Without `groups`,
    all rows are one document, and the model is an online Bayesian mixture of Gaussians.
    With ``family="multinomial"``, rows are documents, and columns count words.

    Parameters
    ----------
    family, memory_limit, max_items, max_groups, epoch_size, expected_documents
        As in `dyntree.mixtures.MemoryBoundedHDP`.
    expected_points, init_topics, max_topics, min_gain, prior, options, compat
        As in `dyntree.mixtures.MemoryBoundedHDP`.
    random_state : int, RandomState or None, default None
        Seed of k-means++ and of the births of topics.
    n_jobs : int, optional
        Number of threads; -1 means all cores. Results do not depend on it.

    Attributes
    ----------
    model_ : MemoryBoundedHDP
        The fitted model, with all of its methods.
    labels_ : ndarray of int64 of shape (n_rows,)
        Topic of each row of the last call. For words, the largest topic of each
        document.
    components_ : ndarray of shape (n_topics, n_features)
        Means of the topics. For words, the expected number of times that each topic
        used each word, plus the counts of the prior, as in `LatentDirichletAllocation`.
    n_topics_, n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if X had column names that are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> from dyntree.api.estimators import MemoryBoundedTopics
    >>> rng = np.random.default_rng(1)
    >>> groups = np.repeat(np.arange(30), 20)
    >>> X = rng.normal(size=(600, 2)) + 10 * rng.integers(3, size=(600, 1))
    >>> fit = MemoryBoundedTopics(memory_limit="8kB", random_state=0)
    >>> fit = fit.fit(X, groups=groups)
    >>> fit.n_topics_, fit.transform(X).shape
    (3, (600, 3))
    """

    def __init__(
        self,
        family: str = "full",
        *,
        memory_limit: int | str | None = None,
        max_items: int | None = None,
        max_groups: int | None = None,
        epoch_size: int | str = "auto",
        expected_documents: int | None = None,
        expected_points: int | None = None,
        init_topics: int | str = "auto",
        max_topics: int | None = None,
        min_gain: float = 0.0,
        prior: HDPPrior | None = None,
        options: HDPOptions | None = None,
        compat: str | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.family = family
        self.memory_limit = memory_limit
        self.max_items = max_items
        self.max_groups = max_groups
        self.epoch_size = epoch_size
        self.expected_documents = expected_documents
        self.expected_points = expected_points
        self.init_topics = init_topics
        self.max_topics = max_topics
        self.min_gain = min_gain
        self.prior = prior
        self.options = options
        self.compat = compat
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fresh(self) -> MemoryBoundedHDP:
        """A model with these parameters that has seen nothing."""
        random = check_random_state(self.random_state)
        seed = int(random.randint(np.iinfo(np.int32).max))
        given = params.given_options(self.get_params(deep=False), HDP_SETTINGS)
        return MemoryBoundedHDP(**given, seed=seed, n_threads=threads_of(self.n_jobs))

    @property
    def _is_words(self) -> bool:
        return self.family == "multinomial"

    def _checked(self, X: Any, reset: bool) -> Any:
        """X as scikit-learn checks it: counts may be sparse."""
        is_text = isinstance(X, list | tuple) and X and isinstance(X[0], str)
        if self._is_words and is_text:
            raise ArgumentError(
                "X",
                "must be counts of words, a document in each row",
                Message("text, {x!r}", x=X[0]),
                "Count words first, as scikit-learn's CountVectorizer does.",
            )
        return checked_rows(
            self, X, reset, dtype=np.float64,
            accept_sparse="csr" if self._is_words else False,
        )  # fmt: skip

    def _documents(self, rows: Any, groups: Any) -> dict[str, Any]:
        """What the model takes."""
        if self._is_words:
            return {"documents": rows}
        n = len(rows)
        return {
            "documents": rows,
            "groups": np.zeros(n, dtype=np.int64) if groups is None else groups,
        }

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Learn rows; what was learned before is dropped.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), or sparse counts of words
        y : object, optional
            Ignored.
        groups : array_like of shape (n_rows,), optional
            The document of each row.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If rows or parameters are bad.
        """
        check_groups(groups)
        rows = self._checked(X, True)
        model = self._fresh().fit(**self._documents(rows, groups), progress=False)
        return self._kept(model, rows, groups)

    def partial_fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Learn one more epoch on top of what was learned before.

        Parameters
        ----------
        X, y, groups
            As in `fit`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If rows or parameters are bad. The model is then as it was before the call.
        """
        check_groups(groups)
        first = not hasattr(self, "model_")
        rows = self._checked(X, first)
        model = self._fresh() if first else self.model_
        model.n_threads = params.n_threads(threads_of(self.n_jobs))
        model.partial_fit(**self._documents(rows, groups), progress=False)
        return self._kept(model, rows, groups)

    def _kept(self, model: MemoryBoundedHDP, rows: Any, groups: Any) -> Self:
        self.model_ = model
        self.labels_ = self._labels(rows, groups)
        return self

    def _labels(self, rows: Any, groups: Any) -> Ids:
        """Topics of rows, where there are groups in the light of their document."""
        labels: Ids
        if self._is_words:
            labels = self.model_.transform(rows).argmax(axis=1)
        elif groups is None:
            labels = self.model_.topic_proba(rows).argmax(axis=1)
        else:
            labels = self.model_.predict(rows, groups=groups).labels
        return labels

    def _rows(self, X: Any) -> Any:
        """Rows to answer for."""
        check_is_fitted(self)
        return self._checked(X, False)

    @property
    def n_topics_(self) -> int:
        """Number of topics."""
        check_is_fitted(self)
        return self.model_.n_topics_

    @property
    def _n_features_out(self) -> int:
        return self.n_topics_

    @property
    def components_(self) -> Matrix:
        """Counts of words in topics, or means of Gaussian topics; see the class."""
        check_is_fitted(self)
        model = self.model_
        if not self._is_words:
            return model.means_
        counts = model.topic_counts_ + model.n_columns_ * model.settings.prior.word
        return model.topic_words_ * counts[:, None]

    def predict(self, X: Any, groups: Any = None) -> Ids:
        """Best topic of each row; where X counts words, of each document.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), or sparse counts of words
        groups : array_like of shape (n_rows,), optional
            The document of each row. By default topics have their weights in all points
            together.

        Returns
        -------
        ndarray of int64 of shape (n_rows,)
        """
        check_groups(groups)
        return self._labels(self._rows(X), groups)

    def fit_predict(self, X: Any, y: Any = None, groups: Any = None) -> Ids:
        """Learn rows and return the topic of each, as in `labels_`.

        Parameters
        ----------
        X, y, groups
            As in `fit`.

        Returns
        -------
        ndarray of int64 of shape (n_rows,)
        """
        return self.fit(X, y, groups).labels_

    def predict_proba(self, X: Any, groups: Any = None) -> Matrix:
        """Topic probabilities of each row or, where X counts words, of each document.

        Parameters
        ----------
        X, groups
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_rows, n_topics)
        """
        check_groups(groups)
        rows = self._rows(X)
        if self._is_words:
            return self.model_.transform(rows)
        if groups is None:
            return self.model_.topic_proba(rows)
        return self.model_.predict_proba(rows, groups=groups)

    def transform(self, X: Any, groups: Any = None) -> Matrix:
        """Topic probabilities of rows; where X counts words, proportions in documents.

        Parameters
        ----------
        X, groups
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_rows, n_topics)
            The type of table is the one that ``set_output`` selects.
        """
        return self.predict_proba(X, groups)

    def score_samples(self, X: Any) -> Vector:
        """Log density of each row under the topics, weighted by their overall shares.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), or sparse counts of words
            For words, the result is the log probability of each document under its own
            proportions.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        rows = self._rows(X)
        density: Vector
        if self._is_words:
            density = self.model_.score(rows, per="document")
        else:
            density = self.model_.log_density(rows)
        return density

    def score(self, X: Any, y: Any = None) -> float:
        """Mean of `score_samples`; where X counts words, the mean per word.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), or sparse counts of words
        y : object, optional
            Ignored.

        Returns
        -------
        float
        """
        if self._is_words:
            return float(self.model_.score(self._rows(X)))
        return float(np.mean(self.score_samples(X)))

    def perplexity(self, X: Any) -> float:
        """Perplexity, exp(-score): per word where X counts words, otherwise per row.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), or sparse counts of words

        Returns
        -------
        float
        """
        return float(np.exp(-self.score(X)))
