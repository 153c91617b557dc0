"""Benchmarks: ratios measured in one run, never asserted. `python -m tests.benchmarks -h`."""
