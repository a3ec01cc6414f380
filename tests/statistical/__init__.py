"""Tests of the mathematics: exact identities, enumeration, invariance, calibration."""
