"""Messages of Python -> the words in which R speaks of the same things."""

from __future__ import annotations

import re

PYTHON_NAMES = {"lambda": "lambda_", "class": "cls"}  # R's names -> Python's
_OPTIONS = {"N": "n_particles", "minp": "min_leaf", "ab": "tree_prior"}

_NUMBER = r"-?(?:[\d.]+(?:e[-+]?\d+)?|NA|Inf)"
_NATIVE = 'options(dyntree.rules = "native")'
_RULES: tuple[tuple[str, str], ...] = (
    *((rf"\b{theirs}\b", ours) for ours, theirs in (PYTHON_NAMES | _OPTIONS).items()),
    # whole sentences
    (
        r"R's dynaTree cannot use missing values either: drop or fill such rows",
        "R's rules take no missing values: leave such rows out, or fit with " + _NATIVE,
    ),
    (
        r"Give missing values as NaN \(in R as NA\), or drop such rows",
        "Give missing values as NA, or leave such rows out",
    ),
    (r"must be a dict with keys among", "must be a list with names among"),
    (r"must have keys among", "must have names among"),
    (r"; got (?:an array of \w+|a? ?\w*Array\b)[^.]*\.", "."),
    (r"must be bounds of shape \((\d+), 2\)", r"must have \1 row(s) and 2 columns"),
    (r"of shape \((\d+), (\d+)\)", r"a matrix of \1 rows and \2 columns"),
    (r"must have shape \((\d+), (\d+)\)", r"must have \1 rows and \2 columns"),
    (r"(?:shape )?\((\d+), (\d+)\)(?= and|\.)", r"\1 rows and \2 columns"),
    (r"(?:shape )?\((\d+),\)", r"\1 values"),
    # values
    (r"\bnp\.\w+\(([^()]*)\)", r"\1"),
    (r"\bnp\.(True|False)_", r"\1"),
    (r"\bTrue\b", "TRUE"),
    (r"\bFalse\b", "FALSE"),
    (r"\bNone\b", "NULL"),
    (r"\b(?:nan|NaN)\b", "NA"),
    (r"\binf\b", "Inf"),
    (rf"(?<![\w.])({_NUMBER})\.0\b(?!\.?\d)", r"\1"),
    (rf"(?<!in )\[({_NUMBER}(?:, {_NUMBER})*)\]", r"c(\1)"),
    (rf"\bc\(({_NUMBER})\)", r"\1"),
    (rf"got \(({_NUMBER}(?:, {_NUMBER})*)\)", r"got c(\1)"),
    (r"\ban int\b", "a whole number"),
    (r"\bints\b", "whole numbers"),
    (r"\['(\w+)'\]", r"$\1"),
    (r"\b(\w+)='(\w*)'", r'\1 = "\2"'),
    (r"\b(\w+)=(TRUE|FALSE|NULL|\d+)", r"\1 = \2"),
    (r"'([^' ]*)'", r'"\1"'),
    (r"\bsample_weight\b", "weights"),
)
_COMPILED = tuple((re.compile(pattern), words) for pattern, words in _RULES)


def in_words_of_r(text: str) -> str:
    """Return a message with the names and values of R instead of those of Python.

    Parameters
    ----------
    text : str

    Returns
    -------
    str

    Examples
    --------
    >>> from rbridge.words import in_words_of_r
    >>> in_words_of_r("quants must be True or False; got None.")
    'quants must be TRUE or FALSE; got NULL.'
    """
    for pattern, words in _COMPILED:
        text = pattern.sub(words, text)
    return text
