"""Images as points: CIELAB against known colours, and patches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyntree.datasets import image_points, patch_points


@pytest.mark.parametrize(
    ("rgb", "lab"),
    [
        ((255, 0, 0), (53.24, 80.09, 67.20)),
        ((0, 255, 0), (87.73, -86.18, 83.18)),
        ((0, 0, 255), (32.30, 79.19, -107.86)),
        ((119, 119, 119), (50.03, 0.0, 0.0)),
        ((0, 0, 0), (0.0, 0.0, 0.0)),
    ],
)
def test_colours_are_those_of_tables(rgb: Any, lab: Any) -> None:
    """CIELAB of sRGB primaries under D65, as published to two digits."""
    found = image_points(np.array([[rgb]], dtype=np.uint8))
    assert found[0, :3] == pytest.approx(lab, abs=0.02)
    assert found[0, 3:].tolist() == [0.0, 0.0]


def test_places_are_centred_and_floats_are_shares() -> None:
    image = np.full((3, 4, 4), 0.5)
    points = image_points(image)
    assert points.shape == (12, 5)
    assert points[:, 3].reshape(3, 4)[0].tolist() == [-1.5, -0.5, 0.5, 1.5]
    assert points[:, 4].reshape(3, 4)[:, 0].tolist() == [-1.0, 0.0, 1.0]
    whole = np.full((3, 4, 3), 51, dtype=np.uint8)
    shares = np.full((3, 4, 3), 0.2)
    assert image_points(whole).tolist() == image_points(shares).tolist()


def test_patches_lie_where_they_were_cut() -> None:
    image = np.arange(30.0).reshape(5, 6)
    points = patch_points(image, 3, 2)
    assert points.shape == (4, 11)
    assert points[1, :9].tolist() == image[:3, 2:5].ravel().tolist()
    assert points[:, 9].tolist() == [-1.5, 0.5, -1.5, 0.5]
    assert points[:, 10].tolist() == [-1.0, -1.0, 1.0, 1.0]


def test_bad_images() -> None:
    missing = np.full((2, 2, 3), np.nan)
    for bad in (np.zeros((3, 3)), np.zeros((3, 3, 2)), [[["a"]]], missing):
        with pytest.raises(ValueError, match="rgb must"):
            image_points(bad)
    with pytest.raises(ValueError, match="image must be of shape"):
        patch_points(np.zeros((3, 3)), 4, 1)
    with pytest.raises(ValueError, match="step must be"):
        patch_points(np.zeros((3, 3)), 2, 0)
