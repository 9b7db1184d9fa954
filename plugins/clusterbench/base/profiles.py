"""What processors ran, as stacks that were sampled: sums, shares, and how two profiles differ. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

IDLE = "-idle"
"""The stack of a processor that ran nothing."""
REST = "(less often)"


@dataclass(frozen=True)
class Profile:
    """``stacks``: from the process down to the function that ran, with ';' between -> samples."""

    stacks: Mapping[str, int]

    @property
    def samples(self) -> int:
        return sum(self.stacks.values())

    def own_shares(self) -> dict[str, float]:
        """``process: function`` -> share of the samples in which it itself ran, the largest first."""
        counts: Counter[tuple[str, str]] = Counter()
        for stack, times in self.stacks.items():
            process, *frames = stack.split(";")
            counts[process, frames[-1] if frames else process] += times
        total = self.samples
        return {f"{process}: {function}": times / total for (process, function), times in counts.most_common()}

    def shares(self) -> dict[str, float]:
        """``process: function`` -> share of the samples in which it ran, or something that it had called."""
        counts: Counter[tuple[str, str]] = Counter()
        for stack, times in self.stacks.items():
            process, *frames = stack.split(";")
            for function in dict.fromkeys(frames):  # one that calls itself counts once
                counts[process, function] += times
        total = self.samples
        return {f"{process}: {function}": times / total for (process, function), times in counts.items()}


def folded(profile: Profile) -> Iterator[str]:
    """Lines ``stack samples``, as tools for flame graphs read them."""
    for stack in sorted(profile.stacks):
        yield f"{stack} {profile.stacks[stack]}"


def unfolded(lines: Iterable[str]) -> Profile:
    """Raises ValueError at a line that is none."""
    counts: Counter[str] = Counter()
    for line in lines:
        stack, _, times = line.rstrip("\n").rpartition(" ")
        counts[stack] += int(times)
    return Profile(counts)


def shortened(stacks: Mapping[str, float], least: float) -> dict[str, str]:
    """Stack -> the same with all frames that are in less than this share of all samples as one.

    A picture of what is shortened stays small, and as wide.
    """
    widths: defaultdict[str, float] = defaultdict(float)
    for stack, times in stacks.items():
        for place in _ends(stack):
            widths[stack[:place]] += times
    enough, found = least * sum(stacks.values()), {}
    for stack in stacks:
        last = max((place for place in _ends(stack) if widths[stack[:place]] >= enough), default=0)
        found[stack] = ";".join(filter(None, (stack[:last], REST if last < len(stack) else "")))
    return found


def differing(before: Profile, after: Profile) -> dict[str, tuple[float, float]]:
    """Stack -> its samples in each, of as many in all as the second has: what grew took a larger share of the time."""
    scale = after.samples / before.samples
    both = sorted({*before.stacks, *after.stacks})
    return {stack: (before.stacks.get(stack, 0) * scale, float(after.stacks.get(stack, 0))) for stack in both}


def moved(before: Profile, after: Profile) -> list[tuple[str, float, float]]:
    """(function, its share before and after, with what it calls), what moved most first."""
    one, other = before.shares(), after.shares()
    rows = [(name, one.get(name, 0.0), other.get(name, 0.0)) for name in {*one, *other}]
    return sorted(rows, key=lambda row: (-abs(row[2] - row[1]), row[0]))


def _ends(stack: str) -> Iterator[int]:
    """Where each frame of a stack ends."""
    place = stack.find(";")
    while place >= 0:
        yield place
        place = stack.find(";", place + 1)
    yield len(stack)
