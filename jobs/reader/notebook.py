"""Finished runs for a notebook: tables as DataFrames, each chart by one call (docs/report.md)."""

import os
from functools import cached_property

from .runs.frames import frame_of_epochs, frame_of_runs, frame_of_steps
from .runs.places import load_study
from .start import Unusable
from .study.figures import evaluate
from .study.frames import frame_of_points, frame_of_series
from .study.observation import observe_all
from .study.remarks import remarks_on_study
from .study.series import make_series


class Runs:
    """What lies below the directories of a study. Tables are made when they are first asked for."""

    def __init__(self, places):
        self.places = [os.path.abspath(place) for place in places]
        self.study = load_study(self.places)

    def __len__(self):
        return len(self.study.runs)

    def __repr__(self):
        return f"<{len(self)} runs in {', '.join(self.places)}>"

    @cached_property
    def runs(self):
        """A row for each run with a finished epoch."""
        return frame_of_runs(self.study.runs)

    @cached_property
    def epochs(self):
        """A row for each epoch of each run."""
        return frame_of_epochs(self.study.runs)

    @cached_property
    def steps(self):
        """A row for each step of each rank, where the run has a steps.csv."""
        return frame_of_steps(self.study.runs)

    @cached_property
    def figures(self):
        """[SeriesFigures], of which `series` and `points` are made."""
        return evaluate(make_series(observe_all(self.study.runs)))

    @cached_property
    def series(self):
        """A row for each series: runs that differ in the number of ranks alone."""
        return frame_of_series(self.figures)

    @cached_property
    def points(self):
        """A row for each number of ranks of each series: speedup, efficiency, its factors, what was lost."""
        return frame_of_points(self.figures)

    @cached_property
    def report(self):
        """The content of report.json."""
        from .findings.report_json import report_json
        from .report import command_line, make_report

        options = command_line().parse(self.places)
        return report_json(make_report(options, self.study, observe_all(self.study.runs)))

    @cached_property
    def findings(self):
        """[{about, code, text, figures}]: what the report concludes."""
        return self.report["findings"]

    @cached_property
    def remarks(self):
        """[Remark]: records that do not fit together."""
        return remarks_on_study(self.study, self.places)

    @cached_property
    def _charts(self):
        from .charts.every_chart import charts_of

        return {chart.name: chart for chart in charts_of(self.report)}

    @property
    def charts(self):
        """The names that chart() takes."""
        return list(self._charts)

    def chart(self, name):
        """matplotlib's Figure of a chart by its name, or of the first whose name ends with this word: "speedup" is
        "weak-speedup" of a study with one kind of scaling. Raises Unusable, with the names that there are."""
        found = (self._charts.get(name)
                 or next((self._charts[one] for one in self._charts if one.endswith(f"-{name}")), None))
        if found is None:
            raise Unusable(f"there is no chart {name}; give one of {', '.join(self._charts)}")
        return found.figure()


def load(*places):
    """The runs below these directories (run directories, or the directory of a study). Raises Unusable."""
    return Runs(places)
