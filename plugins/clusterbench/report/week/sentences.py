"""The week in sentences: for the page and the mail. Pure."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

from clusterbench.base.run_ids import asked_at
from clusterbench.base.words import THIN_SPACE, number, percent, plural, quantity
from clusterbench.history.change_test import State
from clusterbench.history.changes import WORSE
from clusterbench.history.confirmation import Word
from clusterbench.report.week.week import ExperimentRun, SeriesVerdict, Week, day
from clusterbench.report.week.why import why
from clusterbench.results.run_state import RunState

T = TypeVar("T")

MAIL_WORSE, MAIL_OTHERS = 5, 3
"""Results, or experiments, of a kind in the mail; its attachment has more."""
COMMON_MIN = 3
FEW_SHOWN = 6
LINE_MAX = 240
"""Characters of a line in the mail."""
CHANGE_LINE_MAX, WHY_MAX = 130, 120
"""Of each line about a change, and of the words after "Why:"."""
EVIDENCE = ((0.001, "very strong evidence"), (0.01, "strong evidence"), (0.05, "some evidence"))
"""Words for a p-value. It is no probability that the change is real, so no word may sound like one."""
WHAT_TO_DO = "What each part means and what to do: docs/journeys/mail.md of clusterbench"
NOT_FOLLOWED = (
    "Nothing is followed over time here: this installation has no history database, so no result is compared with "
    "earlier weeks. To have that, add the connection clusterbench_history (docs/history.md)."
)
AGAIN: dict[Word, str] = {"confirmed": "confirmed", "not confirmed": "not confirmed", "not enough": "still unclear"}
KNOWN = "also in last week's report"
WORDS: dict[State, tuple[str, str]] = {"regression": ("slower", "worse"), "improvement": ("faster", "better")}


def title(week: Week) -> str:
    part = ", a part of each experiment" if week.is_part and not week.measured_nothing else ""
    nothing = ", nothing was measured: these are the newest runs there were" if week.measured_nothing else ""
    return f"Week of {day(week.started_at)}, {week.scale} scale{part}{nothing}"


def headline(week: Week) -> str:
    """ "2 results got slower, 1 got faster, 96 show no change. Of 6 experiments, 1 did not complete".

    Two sentences without the last full stop, as results and experiments are counted in each by itself.
    """
    return f"{_results(week)}. {_experiments(week.ran)}"


def _results(week: Week) -> str:
    if not week.judged:
        return "no result was compared with earlier weeks"
    if len(week.of("too_few")) == len(week.judged):
        return f"{plural(len(week.judged), 'result')}, all with too few runs for a verdict"
    parts = [_changed(week.of(state), state) for state in WORDS if week.of(state)]
    if still := len(week.of("no_change")):
        parts.append(f"{still} {'shows' if still == 1 else 'show'} no change")
    if missing := len(week.of("no_number")):
        parts.append(f"{missing} {'has' if missing == 1 else 'have'} no number")
    if few := len(week.of("too_few")):
        parts.append(f"{few} {'has' if few == 1 else 'have'} too few runs")
    count, rest = parts[0].split(" ", 1)
    noun = "result" if count == "1" else "results"
    first = f"{count} {noun} {rest}" if week.of("regression") else f"nothing got slower: {count} {noun} {rest}"
    return ", ".join([first, *parts[1:]])


def _changed(found: Sequence[SeriesVerdict], state: State) -> str:
    known = sum(one.is_known for one in found)
    said = "" if not known else f" ({KNOWN})" if known == len(found) else f" ({known} of them {KNOWN})"
    return f"{len(found)} got {verb(found, state)}{said}"


def _experiments(ran: Sequence[ExperimentRun]) -> str:
    unfinished = sum(one.is_valid is None for one in ran)
    invalid = sum(one.is_valid is False for one in ran)
    of_all = f"of {plural(len(ran), 'experiment')}"
    if not ran:
        return "No experiment was run"
    if unfinished == len(ran):
        return f"None {of_all} completed"
    said = [f"{unfinished} did not complete"] if unfinished else []
    said += [f"{invalid} {_be(invalid)} not valid"] if invalid else []
    if said:
        return f"O{of_all[1:]}, {' and '.join(said)}"
    warned = sum(one.has_warnings for one in ran)
    all_of = f"All {plural(len(ran), 'experiment')} are" if len(ran) > 1 else "The experiment is"
    if warned == len(ran):
        return f"{all_of} {RunState.WARNINGS.value}"
    return f"{all_of} valid{f', {warned} of them with warnings' if warned else ''}"


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
    return f"{said} ({KNOWN})" if one.is_known else said


def certainty(one: SeriesVerdict) -> str:
    """A p-value in words."""
    p = one.change.p_value
    if p is None:
        return "how certain is not known"
    return next((words for limit, words in EVIDENCE if p < limit), "weak evidence")


def chance(one: SeriesVerdict) -> str:
    """What the p-value means: how often noise alone would do this."""
    p = one.change.p_value
    if p is None:
        return ""
    if p >= 0.5:
        return f"Noise alone does this as often as not (p = {number(p, 2)})."
    return f"Noise alone would look like this {_odds(p)} results (p {_p(p)})."


def _odds(p: float) -> str:
    return f"less than once in {_round(1e6)}" if p < 1e-6 else f"about once in {_round(1 / p)}"


def _evidence(one: SeriesVerdict) -> str:
    """ "strong evidence: noise alone looks like this about once in 240 results", for a line of the mail."""
    p = one.change.p_value
    if p is None or p >= 0.5:
        return certainty(one)
    return f"{certainty(one)}: noise alone looks like this {_odds(p)} results"


def _p(p: float) -> str:
    return "< 0.000001" if p < 1e-6 else f"= {p:.6f}".rstrip("0") if p < 0.001 else f"= {number(p, 2)}"


def _round(value: float) -> str:
    """ "3 200": two digits say enough of a chance."""
    return number(float(f"{value:.2g}"), 2)


def counted(rest: Sequence[SeriesVerdict]) -> str:
    """Those that are not listed one by one: "12 of key_value on lab_db1, 8 of retail on lab_db2"."""
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
            f"{plural(week.without_time, 'result')} that {_be(week.without_time, 'looks', 'look')} worse "
            f"{_be(week.without_time, 'was', 'were')} not measured again this week{named}{more}."
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
    """What its history shows, and why nothing completed."""
    return f"{one.change.says.rstrip('.')}, because: {one.why}" if one.why else one.change.says


def few(week: Week) -> str:
    """Which results have too few runs for a verdict, and how many they have."""
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
    return f"{plural(len(found), 'result')} {'has' if len(found) == 1 else 'have'} too few runs: {said}{rest}."


# The mail.


def text(week: Week) -> str:
    """The plain-text mail. Below 7 kB however bad the week was; the page is attached."""
    worse, nicer = week.of("regression"), week.of("improvement")
    failed = [one for one in week.ran if one.is_valid is not True]
    said = [
        f"{title(week)}: {headline(week)}.",
        *filter(None, [common(worse)]),
        *_listed(f"Got {verb(worse, 'regression')}", worse, _lines, MAIL_WORSE),
        *_listed("No number", week.of("no_number"), lambda one: [f"{place(one)}: {missing_why(one)}"], MAIL_OTHERS),
        *_listed("Did not complete, or not valid", failed, _failed, MAIL_OTHERS),
        *_listed(f"Got {verb(nicer, 'improvement')}", nicer, _lines, MAIL_OTHERS),
        "",
    ]
    if again := measured_again(week):
        said += [again, ""]
    if not week.is_followed:
        said += [NOT_FOLLOWED, ""]
    elif week.without_history:
        said += [_short(f"The history database was away: {week.without_history}"), ""]
    said += [f"The whole report, also attached: {week.url}report.html", WHAT_TO_DO, ""]
    return "\n".join(said)


def _listed(head: str, found: Sequence[T], say: Callable[[T], list[str]], most: int) -> list[str]:
    """``say``: the lines of an entry."""
    if not found:
        return []
    more = [f"- and {len(found) - most} more"] if len(found) > most else []
    entries = ("\n  ".join(_short(line) for line in say(one)) for one in found[:most])
    return ["", f"{head}:", *(f"- {entry}" for entry in entries), *more]


def _lines(one: SeriesVerdict) -> list[str]:
    changed = ", ".join(filter(None, [f"{amount(one)} ({interval(one)})", levels(one)]))
    lines = [place(one), changed, since(one), _evidence(one)]
    commands = [f"Measure again: {repeat(one)}", f"Compare: {compare(one)}" if compare(one) else ""]
    return [
        *(cut(line, CHANGE_LINE_MAX) for line in lines),
        f"Why: {cut(why(one)[0], WHY_MAX)}",
        *(line for line in commands if line and one.change.state in WORSE and len(line) <= LINE_MAX),  # never cut
    ]


def compare(one: SeriesVerdict) -> str:
    """The command that shows the run before beside the first one of the new level; empty if they are not known."""
    runs = [point.run_id for point in one.points if point.median is not None]
    if one.change.at_run_id not in runs[1:]:
        return ""
    at = runs.index(one.change.at_run_id)
    return shlex.join(["clusterbench", "compare", *(f"{one.series.experiment}/{run}" for run in runs[at - 1 : at + 1])])


def repeat(one: SeriesVerdict) -> str:
    """The command that measures this cell once more, as an ordinary run."""
    of = one.series
    return shlex.join(
        ["clusterbench", "run", of.experiment, "--scale", of.scale, "--platform", of.platform, "--cell", of.label]
    )


def place(one: SeriesVerdict) -> str:
    return f"{one.series.experiment} on {one.series.platform}, {what(one)}"


def _failed(ran: ExperimentRun) -> list[str]:
    return [
        f"{ran.experiment} {'is ' if ran.is_valid is False else ''}{state_of(ran)}: {ran.reason or 'no reason known'}"
    ]


def _short(text: str, most: int = LINE_MAX) -> str:
    return cut(" ".join(text.replace(THIN_SPACE, " ").split()), most)


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}\u2026"
