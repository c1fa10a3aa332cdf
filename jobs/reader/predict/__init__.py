"""Predictions: a cost model that is fitted to runs and records of the bench, and what it says of other numbers of
ranks, links and batches (docs/predict.md). The model itself is the program's, which is asked by base/ask.py."""
