"""Reads finished runs: reports, predictions, charts and pages."""
