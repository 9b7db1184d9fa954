"""The week in sentences: for the page and the mail. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

from clusterbench.base.run_ids import asked_at
from clusterbench.base.words import THIN_SPACE, number, percent, plural, quantity
from clusterbench.history.change_test import State
from clusterbench.history.confirmation import Word
from clusterbench.report.week.week import ExperimentRun, SeriesVerdict, Week, day
from clusterbench.report.week.why import why

T = TypeVar("T")

MAIL_WORSE, MAIL_OTHERS = 5, 3
"""Results, or experiments, of a kind in the mail; its attachment has more."""
COMMON_MIN = 3
FEW_SHOWN = 6
LINE_MAX = 240
"""Characters of a line in the mail."""
CHANGE_MAX, WHY_MAX = 340, 120
"""Of one that tells a change, and of these for why: what else is said is cut off before that."""
CERTAINTY = ((0.001, "almost certainly real"), (0.01, "very likely real"), (0.05, "probably real"))
NOT_FOLLOWED = (
    "Nothing is followed over time here: this installation has no history database, so no result is compared with "
    "earlier weeks. To have that, add the connection clusterbench_history (docs/history.md)."
)
AGAIN: dict[Word, str] = {"confirmed": "confirmed", "not confirmed": "not confirmed", "not enough": "still unclear"}
WORDS: dict[State, tuple[str, str]] = {"regression": ("slower", "worse"), "improvement": ("faster", "better")}


def title(week: Week) -> str:
    part = ", a part of each experiment" if week.is_part else ""
    return f"Week of {day(week.started_at)}, {week.scale} scale{part}"


def headline(week: Week) -> str:
    """ "2 results got slower, 1 got faster, 96 show no change; 1 of 6 experiments did not complete"."""
    return f"{_results(week)}; {_experiments(week.ran)}"


def _results(week: Week) -> str:
    if not week.judged:
        return "no result was compared with earlier weeks"
    if len(week.of("too_few")) == len(week.judged):
        return f"{plural(len(week.judged), 'result')}, none judged yet for want of earlier runs"
    parts = [_changed(week.of(state), state) for state in WORDS if week.of(state)]
    if still := len(week.of("no_change")):
        parts.append(f"{still} {'shows' if still == 1 else 'show'} no change")
    if missing := len(week.of("no_number")):
        parts.append(f"{missing} {'is' if missing == 1 else 'are'} missing")
    if few := len(week.of("too_few")):
        parts.append(f"{few} {'is' if few == 1 else 'are'} not judged yet")
    count, rest = parts[0].split(" ", 1)
    noun = "result" if count == "1" else "results"
    first = f"{count} {noun} {rest}" if week.of("regression") else f"nothing got slower: {count} {noun} {rest}"
    return ", ".join([first, *parts[1:]])


def _changed(found: Sequence[SeriesVerdict], state: State) -> str:
    known = sum(one.is_known for one in found)
    said = "" if not known else " (told last week, too)" if known == len(found) else f" ({known} told last week, too)"
    return f"{len(found)} got {verb(found, state)}{said}"


def _experiments(ran: Sequence[ExperimentRun]) -> str:
    unfinished = sum(one.is_valid is None for one in ran)
    invalid = sum(one.is_valid is False for one in ran)
    of_all = f"of {plural(len(ran), 'experiment')}"
    if not ran:
        return "no experiment was run"
    if unfinished == len(ran):
        return f"none {of_all} completed"
    said = []
    if unfinished:
        said.append(f"{unfinished} {of_all} did not complete")
    if invalid:
        said.append(f"{invalid} {'more ' if unfinished else of_all + ' '}completed but {_be(invalid)} not valid")
    return ", ".join(said) or (f"all {plural(len(ran), 'experiment')} completed" if len(ran) > 1 else "it completed")


def verb(found: Sequence[SeriesVerdict], state: State) -> str:
    """ "slower" where all of them are times or rates, else "worse"."""
    return WORDS[state][0 if all(one.is_speed for one in found) else 1]


# One result that changed.


def what(one: SeriesVerdict) -> str:
    """Where it was measured: "concurrency: 200 clients, warm"."""
    return one.series.label


def amount(one: SeriesVerdict) -> str:
    """ "Throughput fell by 7.9 %"."""
    change = one.change.change_percent
    if change is None:
        return f"{one.title} changed"
    return f"{one.title} {'rose' if change > 0 else 'fell'} by {percent(abs(change))}"


def levels(one: SeriesVerdict) -> str:
    """ "from 14 200 to 13 080 1/s"."""
    change = one.change
    if change.before is None or change.after is None:
        return ""
    return f"from {number(change.before, 4)} to {quantity(change.after, one.series.unit, 4)}"


def interval(one: SeriesVerdict) -> str:
    """ "95 % interval: 6.1 to 9.8 %"; with signs where it may be either way."""
    bounds = one.change.interval_95_percent
    if bounds is None:
        return "no interval: too few runs for one"
    low, high = sorted(bounds)
    if low * high > 0:
        low, high = sorted((abs(low), abs(high)))
        return f"95 % interval: {number(low, 2)} to {percent(high)}"
    below = ("\u2212" if low < 0 else "") + number(abs(low), 2)
    return f"95 % interval: {below} to {percent(high, is_signed=True)}"


def since(one: SeriesVerdict) -> str:
    """ "since the run of 7 November 2026, 3 runs ago"; the first run of the new level."""
    when = _day_since(one)
    said = f"since the run of {when}" if when else f"since run {one.change.at_run_id}"
    runs = one.change.runs_after
    if runs:
        said += f", {'this week' if runs == 1 else f'{runs} runs at the new level'}"
    if one.confirmation and one.confirmation.word == "confirmed":
        said += f", confirmed by {one.confirmation.runs} runs at once"
    return f"{said} (told last week, too)" if one.is_known else said


def certainty(one: SeriesVerdict) -> str:
    """A p-value in words."""
    p = one.change.p_value
    if p is None:
        return "how certain is not known"
    return next((words for limit, words in CERTAINTY if p < limit), "may be chance")


def chance(one: SeriesVerdict) -> str:
    """What the p-value means: how often noise alone would do this."""
    p = one.change.p_value
    if p is None:
        return ""
    if p >= 0.5:
        return f"Noise alone does this as often as not (p = {number(p, 2)})."
    odds = f"less than once in {_round(1e6)}" if p < 1e-6 else f"about once in {_round(1 / p)}"
    return f"Noise alone would look like this {odds} results (p {_p(p)})."


def _p(p: float) -> str:
    return "< 0.000001" if p < 1e-6 else f"= {p:.6f}".rstrip("0") if p < 0.001 else f"= {number(p, 2)}"


def _round(value: float) -> str:
    """ "3 200": two digits say enough of a chance."""
    return number(float(f"{value:.2g}"), 2)


def counted(rest: Sequence[SeriesVerdict]) -> str:
    """Those that are not told one by one: "12 of key_value on lab_db1, 8 of retail on lab_db2"."""
    counts = Counter((one.series.experiment, one.series.platform) for one in rest)
    return ", ".join(f"{count} of {experiment} on {platform}" for (experiment, platform), count in counts.most_common())


def common(found: Sequence[SeriesVerdict]) -> str:
    """Where most of them have platform and date in common: they may have one cause."""
    seen = Counter((one.series.platform, _day_since(one)) for one in found if _day_since(one))
    if not seen:
        return ""
    (platform, when), count = seen.most_common(1)[0]
    if count < COMMON_MIN or 2 * count <= len(found):
        return ""
    which = f"All {count}" if count == len(found) else f"{count} of these {len(found)}"
    return f"{which} are on {platform} and began on {when}: look for one cause first."


def _day_since(one: SeriesVerdict) -> str:
    when = asked_at(one.change.at_run_id or "")
    return day(when) if when else ""


# Runs.


def duration(seconds: float | None) -> str:
    if seconds is None:
        return "\u2013"
    if seconds < 90:
        return f"{seconds:.0f}{THIN_SPACE}s"
    minutes = round(seconds / 60)
    return (
        f"{minutes}{THIN_SPACE}min" if minutes < 90 else f"{minutes // 60}{THIN_SPACE}h {minutes % 60}{THIN_SPACE}min"
    )


def state_of(ran: ExperimentRun) -> str:
    return ran.state.value


def left_out(week: Week) -> str:
    """ "Left out this time: smoke (declares no part)"."""
    said = ", ".join(f"{experiment} ({why})" for experiment, why in week.left_out.items())
    return f"Left out this time: {said}." if said else ""


def measured_again(week: Week) -> str:
    """ "3 results looked worse and were measured again at once: 1 confirmed, 2 not confirmed."."""
    counts = Counter(one.confirmation.word for one in week.judged if one.confirmation)
    said = ""
    if again := sum(counts.values()):
        words = ", ".join(f"{counts[word]} {AGAIN[word]}" for word in AGAIN if counts[word])
        said = (
            f"{plural(again, 'result')} looked worse and {_be(again, 'was', 'were')} measured again at once: {words}. "
        )
    if week.without_time:
        named = f": {'; '.join(week.unmeasured)}" if week.unmeasured else ""
        more = "; …" if named and len(week.unmeasured) < week.without_time else ""
        said += (
            f"There was no time to measure {plural(week.without_time, 'other')} again that looked worse{named}{more}."
        )
    return said.strip()


def against(ran: ExperimentRun) -> str:
    """Beside the run before: "12 min, 75 of 75"."""
    before = ran.before
    if before is None:
        return "\u2013"
    trials = f"{before.completed} of {before.planned} trials"
    return f"{duration(before.took_s)}, {trials}" if before.took_s is not None else trials


def _be(count: int, one: str = "is", more: str = "are") -> str:
    return one if count == 1 else more


def missing_why(one: SeriesVerdict) -> str:
    """What regression detection says, and why nothing completed."""
    return f"{one.change.says.rstrip('.')}, because: {one.why}" if one.why else one.change.says


def few(week: Week) -> str:
    """Which results have too short a history to be judged, and how short."""
    found = week.of("too_few")
    if not found:
        return ""
    alike: dict[str, Counter[str]] = {}
    for one in found:
        alike.setdefault(one.change.says.rstrip("."), Counter())[one.series.experiment] += 1
    said = "; ".join(
        f"{says} ({', '.join(f'{experiment} {count}' for experiment, count in of.most_common())})"
        for says, of in list(alike.items())[:FEW_SHOWN]
    )
    more = len(alike) - FEW_SHOWN
    rest = f"; and {more} more" if more > 0 else ""
    return f"{plural(len(found), 'result')} {_be(len(found))} not judged yet: {said}{rest}."


# The mail.


def text(week: Week) -> str:
    """The plain-text mail. Below 5 kB however bad the week was; the page is attached."""
    worse, nicer = week.of("regression"), week.of("improvement")
    failed = [one for one in week.ran if one.is_valid is not True]
    said = [
        f"{title(week)}: {headline(week)}.",
        *_listed(f"Got {verb(worse, 'regression')}", worse, _line, MAIL_WORSE, CHANGE_MAX),
        *_listed("Missing", week.of("no_number"), lambda one: f"{place(one)}: {missing_why(one)}", MAIL_OTHERS),
        *_listed("Did not complete, or not valid", failed, _failed, MAIL_OTHERS),
        *_listed(f"Got {verb(nicer, 'improvement')}", nicer, _line, MAIL_OTHERS, CHANGE_MAX),
        "",
    ]
    if again := measured_again(week):
        said += [again, ""]
    if not week.is_followed:
        said += [NOT_FOLLOWED, ""]
    elif week.without_history:
        said += [_short(f"The history database was away: {week.without_history}"), ""]
    return "\n".join([*said, f"The whole report, also attached: {week.url}report.html", ""])


def _listed(head: str, found: Sequence[T], say: Callable[[T], str], most: int, line_max: int = LINE_MAX) -> list[str]:
    if not found:
        return []
    more = [f"- and {len(found) - most} more"] if len(found) > most else []
    return ["", f"{head}:", *(f"- {_short(say(one), line_max)}" for one in found[:most]), *more]


def _line(one: SeriesVerdict) -> str:
    lines = [f"{amount(one)} ({interval(one)})", since(one), levels(one), certainty(one)]
    head, cause = f"{place(one)}: {', '.join(filter(None, lines))}", cut(why(one)[0], WHY_MAX)
    return f"{cut(head, CHANGE_MAX - len(cause) - 2)}. {cause}"


def place(one: SeriesVerdict) -> str:
    return f"{one.series.experiment} on {one.series.platform}, {what(one)}"


def _failed(ran: ExperimentRun) -> str:
    return f"{ran.experiment}: {ran.reason or state_of(ran)}"


def _short(text: str, most: int = LINE_MAX) -> str:
    return cut(" ".join(text.replace(THIN_SPACE, " ").split()), most)


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}\u2026"
