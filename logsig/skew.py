"""Compares the clocks of nodes by what happened on all of them: the same training step, reported by each.

Takes step times per clock, gives seconds to add per clock. Ranks of one job finish a step together (they wait for one
another in its collectives), so the median difference over common steps is the difference of the clocks; its spread says
how far to trust it.
"""

from __future__ import annotations

from collections.abc import Mapping

from logsig.record import dataclass

MIN_COMMON = 3
MAX_SPREAD = 0.2
"""Seconds; with a larger spread over common steps the order of two clocks' events stays undecided."""


@dataclass(frozen=True, slots=True)
class Skew:
    """Seconds to add to a clock's times to bring them to the reference clock, and how sure that is."""

    offset: float
    spread: float
    common: int


def estimate(step_times: Mapping[str, Mapping[int, float]]) -> dict[str, Skew]:
    """Returns the skew of every clock that shares steps with the reference, which is the one with the most steps."""
    clocks = sorted(
        (name for name, steps in step_times.items() if steps), key=lambda name: (-len(step_times[name]), name)
    )
    if not clocks:
        return {}
    reference = step_times[clocks[0]]
    found = {clocks[0]: Skew(0.0, 0.0, len(reference))}
    for name in clocks[1:]:
        differences = sorted(reference[step] - when for step, when in step_times[name].items() if step in reference)
        if len(differences) >= MIN_COMMON:
            middle = differences[len(differences) // 2]
            deviations = sorted(abs(value - middle) for value in differences)
            found[name] = Skew(middle, deviations[len(deviations) // 2], len(differences))
    return found


def comparable(skews: Mapping[str, Skew], first: str, second: str) -> float | None:
    """Gives the uncertainty in seconds with which two clocks' corrected times compare; none where they don't."""
    if first == second:
        return 0.0
    if first not in skews or second not in skews:
        return None
    spread = skews[first].spread + skews[second].spread
    return spread if spread <= MAX_SPREAD else None
