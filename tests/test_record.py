"""Records are dataclasses to everybody who looks, only made faster."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import field

import pytest

from logsig.record import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    """Two numbers and what they are called."""

    x: int
    y: int = 2
    names: tuple[str, ...] = field(default_factory=tuple)
    note: str = field(default="", repr=False, compare=False)


@dataclass(slots=True)
class Counting:
    """What changes."""

    seen: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What can only be named."""

    name: str


def test_fields_are_given_by_place_by_name_or_left_out() -> None:
    assert Point(1) == Point(x=1, y=2, names=())
    assert (Named(name="a").name, Counting().seen) == ("a", [])
    assert Counting().seen is not Counting().seen


@pytest.mark.parametrize("make", [Point, lambda: Point(1, z=3), lambda: Named("a")])
def test_wrong_arguments_are_refused(make) -> None:
    for _ in range(2):  # the first instance and a later one
        with pytest.raises(TypeError, match="__init__"):
            make()


def test_a_frozen_record_stays_as_it_is() -> None:
    point = Point(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.x = 5  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del point.x
    assert point.x == 1


def test_equal_records_are_one_key_and_others_are_not() -> None:
    assert {Point(1): "a"}[Point(1, note="not compared")] == "a"
    assert Point(1) != Point(3)
    assert Named(name="a") != ("a",)
    with pytest.raises(TypeError, match="unhashable"):
        hash(Counting())


def test_dataclasses_knows_records() -> None:
    assert dataclasses.is_dataclass(Point)
    assert [one.name for one in dataclasses.fields(Point)] == ["x", "y", "names", "note"]
    assert dataclasses.replace(Point(1), y=7) == Point(1, 7)
    assert dataclasses.asdict(Point(1)) == {"x": 1, "y": 2, "names": (), "note": ""}
    match Point(3, 4):
        case Point(x, y):
            assert (x, y) == (3, 4)


def test_records_are_copied_and_pickled() -> None:
    point = Point(1, 3, ("a",), "b")
    for same in (copy.copy(point), copy.deepcopy(point), pickle.loads(pickle.dumps(point))):  # noqa: S301
        assert (same, same.note) == (point, "b")


def test_a_record_shows_its_fields() -> None:
    assert repr(Point(1)) == "Point(x=1, y=2, names=())"


def test_a_class_keeps_what_it_has_written_itself() -> None:
    @dataclass(frozen=True, slots=True)
    class Loud:
        """Equal to all."""

        name: str

        def __repr__(self) -> str:
            return "LOUD"

        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = object.__hash__

    assert (repr(Loud("a")), Loud("a") == Loud("b")) == ("LOUD", True)
