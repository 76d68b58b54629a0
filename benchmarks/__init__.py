"""Measurements, apart from the tests: ratios against a named floor in the same run."""
