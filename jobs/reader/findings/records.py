"""What does not fit together in the records of a study (study/remarks.py)."""

from ..study.remarks import remarks_on_study
from .finding import Finding

_SHOWN = 6
_OF_HAND_INS = ("alone", "moved", "unreadable", "failed")  # codes of what only a check of hand-ins has to know


def _finding(code, before, remarks):
    texts = [remark.text for remark in remarks[:_SHOWN]]
    left_out = len(remarks) - _SHOWN
    if left_out > 0:
        texts.append(f"and {left_out} more")
    figures = {"remarks": [{"code": remark.code, "runs": remark.runs, "figures": remark.figures} for remark in remarks]}
    return Finding("", code, f"{before}: {'; '.join(texts)}.", figures)


def _contradicts(remark):
    """A plan that is not finished, or was extended, contradicts no figure."""
    return remark.contradiction and not remark.code.startswith("plan")


def records_findings(study, places):
    """[Finding]: of records that contradict each other, and of what has only to be known."""
    remarks, found = [one for one in remarks_on_study(study, places) if one.code not in _OF_HAND_INS], []
    wrong, known = ([remark for remark in remarks if _contradicts(remark) is kind] for kind in (True, False))
    if wrong:
        found.append(_finding("contradiction",
                              "Records contradict each other, so that figures of these runs prove nothing", wrong))
    if known:
        found.append(_finding("remark", "To be known of these runs", known))
    return found
