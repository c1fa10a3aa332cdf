"""Reads finished runs: reports, predictions, charts and pages. In a notebook: `from reader import load`
(docs/report.md)."""


def load(*places):
    """The runs below these directories (run directories, or the directory of a study), with their tables and charts.
    Needs pandas, for charts matplotlib. Raises reader.start.Unusable."""
    from .notebook import load as load_runs

    return load_runs(*places)
