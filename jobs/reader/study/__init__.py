"""Runs sorted into series, and the figures that follow."""
