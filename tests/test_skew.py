"""Clocks of nodes are compared by common steps."""

from __future__ import annotations

import pytest

from logsig.skew import comparable, estimate


@pytest.mark.parametrize("shift", [0.05, -0.05, 3.0, -47.0, 3600.0])
def test_skew_is_found_within_a_fifth_of_a_second(shift: float) -> None:
    """Steps finish together; the median difference is the clocks' difference."""
    first = {step: 100.0 + step for step in range(20)}
    second = {step: 100.0 + step + shift + (0.02 if step % 3 else -0.03) for step in range(19)}
    assert estimate({"a": first, "b": second})["b"].offset == pytest.approx(-shift, abs=0.2)


def test_too_few_common_steps_compare_nothing() -> None:
    """Two common steps are no evidence."""
    found = estimate({"a": {1: 1.0, 2: 2.0, 3: 3.0}, "b": {1: 9.0, 2: 10.0}})
    assert comparable(found, "a", "b") is None
