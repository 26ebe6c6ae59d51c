"""Records made quickly: the ``dataclass`` of the standard library, whose methods are written when first needed.

The standard one compiles six methods per class at import, which for the records of this package took longer than
reading a log. Here ``dataclasses`` still collects the fields (so ``fields``, ``replace`` and ``match`` work as ever);
comparing, hashing and showing are shared functions, and ``__init__`` is compiled when instances prove to be many.
Type checkers see the standard decorator. Knows ``frozen``, ``slots``, ``eq`` and ``kw_only``, and no ``InitVar``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

SLOW_ONES = 8
"""Instances of a class that are made without a method of its own: of most there are no more."""

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(
        cls: type | None = None, /, *, frozen: bool = False, slots: bool = False, eq: bool = True, kw_only: bool = False
    ) -> Any:
        """Makes a class a record; to be used as the standard decorator."""
        if cls is None:
            return lambda late: dataclass(late, frozen=frozen, slots=slots, eq=eq, kw_only=kw_only)
        cls.__doc__ = cls.__doc__ or cls.__name__  # else the standard one writes a signature, with a tokenizer
        made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
        own = vars(made)
        _complete(made, "__init__", _late_init(made, frozen, slots), own)
        _complete(made, "__repr__", _shown, own)
        if eq:
            _add_comparison(made, frozen, own)
        if frozen:
            _freeze(made, slots, own)
        return made


def _complete(cls: type, name: str, method: object, own: Any) -> None:
    """Adds a method unless the class has written its own."""
    if name not in own:
        setattr(cls, name, method)


# ---------------------------------------------------------------- making


def _late_init(cls: type, frozen: bool, slots: bool) -> Callable[..., None]:
    """A method that sets field after field; the busy ones get one that is compiled for their class."""
    left = SLOW_ONES

    def make(self: Any, *args: Any, **given: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0 or not _set_fields(self, args, given):
            made = _init(cls, frozen, slots)
            cls.__init__ = made  # type: ignore[misc]  # the class's own method from now on
            made(self, *args, **given)

    return make


def _set_fields(record: Any, args: tuple[Any, ...], given: dict[str, Any]) -> bool:
    """Sets all fields; False where the arguments don't fit, which the compiled method says better."""
    fields = dataclasses.fields(record)
    positional = [one.name for one in fields if not one.kw_only]
    values = {**dict(zip(positional, args, strict=False)), **given}
    if len(args) > len(positional) or len(values) < len(args) + len(given):
        return False
    for one in fields:
        if one.name in values:
            value = values.pop(one.name)
        elif one.default is not dataclasses.MISSING:
            value = one.default
        elif one.default_factory is not dataclasses.MISSING:
            value = one.default_factory()
        else:
            return False
        object.__setattr__(record, one.name, value)
    if values:
        return False
    if hasattr(record, "__post_init__"):
        record.__post_init__()
    return True


def _init(cls: Any, frozen: bool, slots: bool) -> Callable[..., None]:
    """Compiles the method that sets all fields."""
    known: dict[str, Any] = {"_absent": object(), "_set": object.__setattr__}
    head: list[str] = ["self"]
    named: list[str] = []
    body: list[str] = []
    for one in dataclasses.fields(cls):
        name, value = one.name, one.name
        parameter = name
        if one.default is not dataclasses.MISSING:
            known[f"_default_{name}"] = one.default
            parameter = f"{name}=_default_{name}"
        elif one.default_factory is not dataclasses.MISSING:
            known[f"_make_{name}"] = one.default_factory
            parameter = f"{name}=_absent"
            value = f"_make_{name}() if {name} is _absent else {name}"
        (named if one.kw_only else head).append(parameter)
        if not frozen:
            body.append(f" self.{name} = {value}")
        elif slots:
            known[f"_set_{name}"] = getattr(cls, name).__set__
            body.append(f" _set_{name}(self, {value})")
        else:
            body.append(f" _set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    parameters = ", ".join([*head, *(["*", *named] if named else [])])
    exec(f"def __init__({parameters}):\n" + ("\n".join(body) or " pass"), known)  # noqa: S102  (our own field names)
    made: Callable[..., None] = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


# ---------------------------------------------------------------- comparing and showing


def _add_comparison(cls: type, frozen: bool, own: Any) -> None:
    values = _values_of(cls)

    def equals(self: Any, other: object) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: Any) -> int:
        return hash(values(self))

    if "__eq__" not in own:
        cls.__eq__ = equals  # type: ignore[assignment]
        cls.__hash__ = hashed if frozen else None  # type: ignore[assignment]


def _values_of(cls: Any) -> Callable[[Any], tuple[Any, ...]]:
    """Gives what takes the values of all fields that count in comparisons."""
    names = [one.name for one in dataclasses.fields(cls) if one.compare]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda one: tuple(getattr(one, name) for name in names)


def _shown(self: Any) -> str:
    parts = (f"{one.name}={getattr(self, one.name)!r}" for one in dataclasses.fields(self) if one.repr)
    return f"{self.__class__.__qualname__}({', '.join(parts)})"


# ---------------------------------------------------------------- frozen


def _freeze(cls: Any, slots: bool, own: Any) -> None:
    cls.__setattr__, cls.__delattr__ = _refuse_set, _refuse_delete
    if slots:
        _complete(cls, "__getstate__", _state, own)
        _complete(cls, "__setstate__", _restore, own)


def _refuse_set(_self: object, name: str, _value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_delete(_self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    """What is pickled: the values in order."""
    return [getattr(self, one.name) for one in dataclasses.fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for one, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)
