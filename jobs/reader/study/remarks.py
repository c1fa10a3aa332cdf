"""What does not fit together in a study: records of single runs (runs/records.py), its plan (runs/plan.py), and runs
that cannot all be measurements of their own."""

from pathlib import Path

from ..base.definitions import PHASES
from ..base.text import counted, first_few, printable
from ..runs.plan import remarks_on_plan
from ..runs.records import Remark, remarks_on_run
from ..runs.run import NAME, folder_name

_SHOWN = 5


def _name(run):
    """Of its directory, with the one above: groups call theirs alike."""
    folder = Path(run.file).parent
    return printable("/".join(part for part in (folder.parent.name, folder.name) if part))


def _names(runs):
    return first_few(map(_name, runs), _SHOWN)


def _marks(epoch):
    """What no two epochs share unless they are one: the time to the last digit, which is that of a nanosecond, and the
    shares of the phases, which stay where somebody multiplies all times."""
    means = [epoch.phases[name].mean for name in PHASES]
    total = sum(means)
    shares = tuple(round(mean / total, 8) for mean in means) if total > 0 else None
    return {epoch.seconds, shares} - {None}


def _same_epochs(a, b):
    """Of each epoch that both have, whether it is one."""
    return [not _marks(one).isdisjoint(_marks(other)) for one, other in zip(a.epochs, b.epochs)]


def _is_copy(a, b):
    """One epoch may take as long as another's; two do not. A single one has to have begun in the same second."""
    same, fewest = sum(_same_epochs(a, b)), min(len(a.epochs), len(b.epochs))
    return same >= 2 or (same == fewest == 1 and bool(a.started_at) and a.started_at == b.started_at)


def _is_branch(a, b):
    """Whether one of them continues the other: from the first epoch on that they do not share it was resumed."""
    same = _same_epochs(a, b)
    first = same.index(False) if False in same else len(same)
    following = [run.epochs[first] for run in (a, b) if first < len(run.epochs)]
    return any(epoch.resumed_at_step is not None for epoch in following)


def copies_among(runs):
    """[[run]]: groups in which each run has epochs of the first one. Runs of several studies may be compared."""
    by_epoch, group_of, groups = {}, {}, []
    for run in runs:
        keys = [(index, mark) for index, epoch in enumerate(run.epochs) for mark in _marks(epoch)]
        others = {id(other): other for key in keys for other in by_epoch.get(key, ())}
        original = next((other for other in others.values() if _is_copy(other, run)), None)
        if original is None:
            for key in keys:
                by_epoch.setdefault(key, []).append(run)
            continue
        if id(original) not in group_of:
            group_of[id(original)] = [original]
            groups.append(group_of[id(original)])
        group_of[id(original)].append(run)
    return groups


def _remark_on_copies(group):
    begun = "began in the same second and " if len({run.started_at for run in group}) == 1 else ""
    files, count = [str(run.file) for run in group], counted(len(group), "run")
    if all(_is_branch(group[0], run) for run in group[1:]):
        return Remark("branches", files, f"{count} share the epochs before one was resumed from the other's "
                      f"checkpoint: {_names(group)}", contradiction=False)
    return Remark("copies", files, f"{count} {begun}have epochs with the same times to the last digit, or all "
                  f"multiplied by one number, so that they are copies of one: {_names(group)}")


def _machine(run):
    return tuple(sorted({rank.host for rank in run.ranks}))


def _remarks_on_machines(runs):
    """Runs on as many hosts, which are not the same ones."""
    by_hosts, remarks = {}, []
    for run in runs:
        by_hosts.setdefault(run.hosts(), {}).setdefault(_machine(run), []).append(run)
    for machines in by_hosts.values():
        if len(machines) < 2:
            continue
        usual, *others = sorted(machines, key=lambda machine: -len(machines[machine]))
        elsewhere = [run for machine in others for run in machines[machine]]
        text = (f"{counted(len(machines[usual]), 'run')} of the study ran on {printable(' and '.join(usual))}, and "
                "these on other machines: "
                f"{first_few((f'{_name(run)} on {printable(_machine(run)[0])}' for run in elsewhere), _SHOWN)}")
        remarks.append(Remark("hosts", [str(run.file) for run in elsewhere], text, contradiction=False))
    return remarks


def _remarks_on_folders(runs):
    """A run says in which directory it was to write."""
    moved = []
    for run in runs:
        asked = run.options.get("run-dir")
        if isinstance(asked, str) and asked.strip("./") and Path(asked).name != folder_name(run.file):
            moved.append(run)
    if not moved:
        return []
    text = f"{counted(len(moved), 'run')} wrote into a directory of another name: {_names(moved)}"
    return [Remark("moved", [str(run.file) for run in moved], text, contradiction=False)]


def remarks_on_runs(runs):
    """[Remark] on runs with epochs: each by itself, and all together."""
    remarks = [remark for run in runs for remark in remarks_on_run(run)]
    remarks += [_remark_on_copies(group) for group in copies_among(runs)]
    return remarks + _remarks_on_machines(runs) + _remarks_on_folders(runs)


def _remarks_on_missing(study):
    """What was found and gives no figures, so that a slow run may be hidden behind it."""
    remarks = [Remark("unreadable", [str(one.file)], one.why) for one in study.unreadable]
    files = sorted({str(Path(one.file).with_name(NAME)) for one in [*study.failed, *study.empty_runs]}
                   - {str(run.file) for run in study.runs})
    if files:
        text = f"{counted(len(files), 'run')} ended without an epoch"
        remarks.append(Remark("failed", files, text, contradiction=False))
    return remarks


def remarks_on_study(study, places):
    """[Remark] on what load_study read from these places."""
    remarks = remarks_on_runs(study.runs) + _remarks_on_missing(study)
    for place in places:
        remarks += remarks_on_plan(place, study.runs)
    return remarks
