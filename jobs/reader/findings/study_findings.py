"""All findings of a study, in their order."""

from .balance import what_balance_would_bring
from .choice import PURPOSES, what_to_choose
from .doubts import doubts
from .losses import how_communication_shares, what_grows, what_the_loss_is, which_factor_costs_most
from .noise import how_fast_it_learns, what_a_step_teaches, which_learning_rate
from .scaling import how_far_it_scales, what_rounding_would_hide, what_steps_say, widest
from .serial import how_serial_it_is
from .waiting import what_waits

KEPT_EFFICIENCY = 0.8


def _of_widest(series, f, kept):
    yield how_far_it_scales(series, f)
    for sentence in (how_fast_it_learns, which_learning_rate, which_factor_costs_most, what_the_loss_is, what_waits,
                     what_grows, how_communication_shares, what_steps_say):  # fmt: skip
        yield sentence(series, f)
    yield what_rounding_would_hide(series, f, kept)
    yield how_serial_it_is(series)


def series_findings(series, purposes=tuple(PURPOSES), efficiency=KEPT_EFFICIENCY):
    """About one series: how far it scales, the causes of the loss, the share of communication, what whole seconds would
    have hidden, what balance would bring, the recommendation."""
    f = widest(series)
    found = list(_of_widest(series, f, efficiency)) if f else [what_a_step_teaches(series)]
    found.append(what_balance_would_bring(series, series.points[-1]))
    found.append(what_to_choose(series, purposes, efficiency))
    return [one for one in found if one]


def findings(study, figures, purposes=tuple(PURPOSES), efficiency=KEPT_EFFICIENCY):
    """[Finding] about every series, then doubts about the study. `purposes` are those of PURPOSES to choose ranks for;
    `efficiency` is the share that the last one keeps."""
    found = [one for series in figures for one in series_findings(series, purposes, efficiency)]
    return found + doubts(study, figures)
