"""Profiles: ci is small and always the same; HYPOTHESIS_PROFILE=long searches."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile(
    "ci",
    max_examples=250,
    stateful_step_count=20,
    deadline=None,
    derandomize=True,
    database=None,
)
settings.register_profile(
    "long", max_examples=3000, stateful_step_count=30, deadline=None
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
