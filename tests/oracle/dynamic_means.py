"""Dynamic Means (Campbell et al. 2013), row by row in plain Python.

Clusters are dicts; every step is computed from the rows of each cluster anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class DynamicMeansOracle:
    """Phases one after the other, each from one or more orders of its rows."""

    def __init__(self, lambda_: float, T_Q: float, k_tau: float) -> None:
        self.lambda_, self.Q = lambda_, lambda_ / T_Q
        self.tau = (T_Q * (k_tau - 1.0) + 1.0) / (T_Q - 1.0)
        self.old: list[dict[str, Any]] = []  # id, phi, w, absent
        self.next_id = 0

    def gamma(self, k: dict[str, Any]) -> float:
        return 1.0 / (1.0 / k["w"] + k["absent"] * self.tau)

    def centre(self, k: dict[str, Any], rows: Any) -> Any:
        """Where a cluster with these rows costs least."""
        if "phi" not in k:
            return np.mean(rows, axis=0)
        g = self.gamma(k)
        return (g * k["phi"] + np.sum(rows, axis=0)) / (g + len(rows))

    def costs(self, x: Any, all: list[dict[str, Any]]) -> list[float]:
        """What a row costs in each cluster there is."""
        out = []
        for k in all:
            if k["rows"]:
                out.append(float(((x - k["theta"]) ** 2).sum()))
            elif "phi" in k:
                g = self.gamma(k)
                square = float(((x - k["phi"]) ** 2).sum())
                out.append(self.Q * k["absent"] + g / (g + 1.0) * square)
            else:
                out.append(np.inf)
        return out

    def total(self, X: Any, all: list[dict[str, Any]]) -> float:
        cost = 0.0
        for k in all:
            if not k["rows"]:
                continue
            cost += float(((X[sorted(k["rows"])] - k["theta"]) ** 2).sum())
            if "phi" in k:
                cost += self.Q * k["absent"]
                cost += self.gamma(k) * float(((k["theta"] - k["phi"]) ** 2).sum())
            else:
                cost += self.lambda_
        return cost

    def descended(self, X: Any, order: Any) -> tuple[list[dict[str, Any]], float]:
        """Clusters at a local minimum, and what they cost."""
        all = [dict(k, rows=set()) for k in self.old]
        cost = np.inf
        while True:
            for i in order:
                for k in all:
                    k["rows"].discard(i)
                costs = self.costs(X[i], all)
                best = int(np.argmin(costs)) if costs else -1
                if best < 0 or self.lambda_ < costs[best]:
                    all = [k for k in all if k["rows"] or "phi" in k]
                    all.append({"rows": set()})
                    best = len(all) - 1
                k = all[best]
                if not k["rows"]:
                    k["theta"] = self.centre(k, [X[i]])
                k["rows"].add(i)
            for k in all:
                if k["rows"]:
                    k["theta"] = self.centre(k, X[sorted(k["rows"])])
            before, cost = cost, self.total(X, all)
            if not cost < before * (1.0 - 1e-12):
                return all, cost

    def update(self, X: Any, orders: Any) -> list[int]:
        """Learn a phase; returns the ids of the clusters of its rows."""
        for k in self.old:
            k["absent"] += 1
        self.old = [k for k in self.old if self.Q * k["absent"] <= self.lambda_]
        tries = [self.descended(X, order) for order in orders] if len(X) else []
        if not tries:
            return []
        all, _ = min(tries, key=lambda pair: pair[1])
        live = [k for k in all if k["rows"]]
        for k in sorted(live, key=lambda k: min(k["rows"])):
            if "id" not in k:
                k["id"], self.next_id = self.next_id, self.next_id + 1
        labels = [-1] * len(X)
        for k in live:
            w = (self.gamma(k) if "phi" in k else 0.0) + len(k["rows"])
            k |= {"phi": k["theta"], "w": w, "absent": 0}
            for i in k["rows"]:
                labels[i] = k["id"]
        gone = {k["id"] for k in live}
        self.old = [k for k in self.old if k["id"] not in gone] + live
        return labels
