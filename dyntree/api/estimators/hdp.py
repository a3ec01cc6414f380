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
from dyntree.api.estimators.base import Estimator
from dyntree.api.estimators.rows import checked_rows, refuse_sparse
from dyntree.encoding.values import Matrix, Vector
from dyntree.errors import ArgumentError, Message
from dyntree.mixtures import MemoryBoundedHDP

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


@params.derived(MemoryBoundedHDP, without=["seed", "threads", "callback"])
class MemoryBoundedTopics(
    Estimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """Topics shared by documents in bounded memory, for scikit-learn.

    Rows are points, and `groups` assigns each point to a document. Without `groups`,
    all rows are one document, and the model is an online Bayesian mixture of Gaussians.
    With ``family="multinomial"``, rows are documents, and columns count words.

    Parameters
    ----------
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
    weights_ : ndarray of shape (n_topics,)
        Share of all points in each topic.
    means_, covariances_ : ndarray
        Of Gaussian topics.
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
        family: str = "auto",
        *,
        random_state: Any = None,
        n_jobs: int | None = None,
        **options: Any,
    ) -> None: ...

    def _fresh(self) -> MemoryBoundedHDP:
        """A model with these parameters that has seen nothing."""
        random = check_random_state(self.random_state)
        seed = int(random.randint(np.iinfo(np.int32).max))
        options, threads = (
            params.model_options(self, MemoryBoundedHDP),
            threads_of(self.n_jobs),
        )
        return MemoryBoundedHDP(**options, seed=seed, threads=threads)

    @property
    def _is_words(self) -> bool:
        return bool(self.family == "multinomial")

    def _checked(self, X: Any, reset: bool) -> Any:
        """X as scikit-learn checks it: counts may be sparse."""
        is_text = isinstance(X, list | tuple) and X and isinstance(X[0], str)
        if is_text:
            raise ArgumentError(
                "X",
                "must be counts of words, a document in each row",
                Message("text, {x!r}", x=X[0]),
                "Count words first, as scikit-learn's CountVectorizer does, for "
                "family='multinomial'.",
            )
        if not self._is_words:
            refuse_sparse(X, self.family, "family='multinomial'")
        return checked_rows(
            self, X, reset, dtype=np.float64,
            accept_sparse="csr" if self._is_words else False,
        )  # fmt: skip

    def _documents(
        self, rows: Any, groups: Any, ids: Any, sample_weight: Any
    ) -> dict[str, Any]:
        """What the model learns: without groups, rows of numbers are one document."""
        if groups is None and not self._is_words:
            groups = np.zeros(len(rows), dtype=np.int64)
        more = {"ids": ids, "sample_weight": sample_weight}
        return {"documents": rows, "groups": groups} | more

    def fit(
        self,
        X: Any,
        y: Any = None,
        groups: Any = None,
        ids: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Learn rows; what was learned before is dropped.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), or sparse counts of words
        y : object, optional
            Ignored.
        groups : array_like of shape (n_rows,), optional
            The document of each row.
        ids : sequence, optional
            Names of the documents, as in `MemoryBoundedHDP.fit`.
        sample_weight : array_like of shape (n_rows,), optional
            Number of points that each row represents, > 0.

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
        documents = self._documents(rows, groups, ids, sample_weight)
        model = self._fresh().fit(**documents, progress=False)
        return self._store_fit(model, rows, groups)

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        groups: Any = None,
        ids: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Learn one more epoch on top of what was learned before.

        Parameters
        ----------
        X, y, groups, ids, sample_weight
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
        model.threads = params.n_threads(threads_of(self.n_jobs))
        documents = self._documents(rows, groups, ids, sample_weight)
        model.partial_fit(**documents, progress=False)
        return self._store_fit(model, rows, groups)

    def _store_fit(self, model: MemoryBoundedHDP, rows: Any, groups: Any) -> Self:
        self.model_ = model
        self.labels_ = self._labels(rows, groups)
        return self

    def _labels(self, rows: Any, groups: Any) -> Ids:
        """Most probable topic of each row, by its document too if there are groups."""
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

    @property
    def weights_(self) -> Vector:
        """Share of all points in each topic, shape (n_topics,)."""
        check_is_fitted(self)
        return self.model_.topic_weights_

    @property
    def means_(self) -> Matrix:
        """Means of Gaussian topics, shape (n_topics, n_features)."""
        check_is_fitted(self)
        return self.model_.means_

    @property
    def covariances_(self) -> Matrix:
        """Covariances of Gaussian topics; their diagonals with ``family="diag"``."""
        check_is_fitted(self)
        return self.model_.covariances_

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

    def fit_predict(
        self,
        X: Any,
        y: Any = None,
        groups: Any = None,
        ids: Any = None,
        sample_weight: Any = None,
    ) -> Ids:
        """Learn rows and return the topic of each, as in `labels_`.

        Parameters
        ----------
        X, y, groups, ids, sample_weight
            As in `fit`.

        Returns
        -------
        ndarray of int64 of shape (n_rows,)
        """
        return self.fit(X, y, groups, ids, sample_weight).labels_

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

    def sample(self, n_samples: int = 1) -> tuple[Matrix, Ids]:
        """Rows drawn from Gaussian topics, weighted by their overall shares.

        Parameters
        ----------
        n_samples : int, default 1

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        labels : ndarray of int64 of shape (n_samples,)
            Topics of the rows. A second call returns the same rows, until the model has
            learned more.

        Raises
        ------
        AttributeError
            If X counts words. ``model_.sample`` draws documents of words.
        """
        check_is_fitted(self)
        if self._is_words:
            raise AttributeError(
                "only Gaussian topics have sample; model_.sample draws documents."
            )
        n = params.count("n_samples", n_samples, 1)
        rows, labels = self.model_.sample(n, 1)
        return np.concatenate(rows), np.concatenate(labels)

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
            density = self.model_.score_documents(rows)
        else:
            density = self.model_.log_density(rows)
        return density

    def score(
        self, X: Any, y: Any = None, groups: Any = None, given: Any = None
    ) -> float:
        """Mean of `score_samples`; where X counts words, the mean per word.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features), or sparse counts of words
        y : object, optional
            Ignored.
        groups : array_like of shape (n_rows,), optional
            The document of each row, whose proportions then replace overall shares.
        given : optional
            Other documents, one for each of X, that determine the proportions.

        Returns
        -------
        float
        """
        check_groups(groups)
        if not self._is_words and groups is given is None:
            return float(np.mean(self.score_samples(X)))
        return self.model_.score(self._rows(X), groups=groups, given=given)

    def score_documents(self, X: Any, groups: Any = None, given: Any = None) -> Vector:
        """Log predictive density of each document, summed over its points.

        Parameters
        ----------
        X, groups, given
            As in `score`.

        Returns
        -------
        ndarray of shape (n_documents,)
        """
        check_groups(groups)
        return self.model_.score_documents(self._rows(X), groups=groups, given=given)

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
