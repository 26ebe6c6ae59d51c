"""A Jinja2 sandbox in which all work is paid for in advance: no template runs, or grows, without end.

Takes templates that others wrote (packs, ``--template``). Every pass of a loop, call, filter, operator and printed
value takes from one purse at least what it may make, before it makes it; ``SpentError`` ends a template whose purse is
empty, however it came there. Of what Jinja2's own sandbox allows it takes away ``str.format``, ``str.encode`` and
``lipsum``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sized
from functools import wraps
from math import prod
from typing import Any

from jinja2 import nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.runtime import Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment

from logsig.late import late

SOURCE = 40
"""Units for a character of a template: to compile it costs far more than to print it."""
WIDEST = 6
"""Digits of a number in a format; more are built to harm."""
PAY, CHARGE = "pay for", "charge"
"""Filters that stand in metered templates: for a value as it passes, and for a fixed number of units."""

_HEADS = (
    "length count first last default d attr items boolean callable defined escaped false filter float integer iterable",
    "mapping none number odd even sameas sequence string test true undefined",
)
FREE = frozenset(" ".join(_HEADS).split())
"""Filters and tests that look at no more than a value's head."""
_SUMS = (
    "batch center dictsort groupby in map max min reject rejectattr select selectattr slice sort truncate unique",
    "wordwrap",
)
SUM = frozenset(" ".join(_SUMS).split())
"""Those that make no more than all they are given together; what ``map`` calls is paid for by itself."""
_COMPARISONS = "== eq equalto != ne > gt greaterthan >= ge < lt lessthan <= le divisibleby"
COMPARISONS = frozenset(_COMPARISONS.split())
"""Tests for which a number counts by its digits, not by its size."""
SQUARE = frozenset(("sum", "striptags"))
"""Those that may begin anew with every item. All others may make each part of one for each part of another."""
REFUSED = frozenset(("format", "format_map", "encode"))
"""Methods of text whose work isn't told by their arguments; ``%`` does the same as the first."""
_COMPUTED_WIDTH = late(r"%[^a-zA-Z%]*\*")
_BRANCHES = (nodes.For, nodes.Macro, nodes.CallBlock, nodes.Block)
"""What has a body that may run more than once."""
_COSTLY = (nodes.For, nodes.Concat, nodes.Compare, nodes.Operand, nodes.Pair, nodes.Getitem)
"""What makes Python go through whole values."""


class SpentError(SecurityError):
    """A template wants more work or memory than any honest one needs."""

    def __init__(self) -> None:
        super().__init__("more work or text than a template may make (a loop, a repetition, a number without bounds)")


class Metered(ImmutableSandboxedEnvironment):
    """The environment; ``budget`` units fill the purse at each ``renew``."""

    intercepted_binops = frozenset(("+", "-", "*", "/", "//", "**", "%"))

    def __init__(self, budget: int, finalize: Callable[[Any], Any] = lambda value: value, **options: Any) -> None:
        super().__init__(**options, optimized=False)
        self._budget = budget
        self._purse = [budget]  # a list, because overlays share it
        self.finalize = pass_context(lambda _context, value: finalize(self.pay(value)))  # with a context: never folded
        filters: dict[str, Any] = self.filters
        tests: dict[str, Any] = self.tests
        self.filters = {name: self._priced(name, function) for name, function in filters.items()}
        self.tests = {name: self._priced(name, function) for name, function in tests.items()}
        self.filters |= {PAY: self.pay, CHARGE: self.charge}
        del self.globals["lipsum"]

    def renew(self) -> None:
        """Fills the purse: before each whole that may fail for itself."""
        self._purse[0] = self._budget

    def charge(self, units: int) -> str:
        """Takes units out of the purse."""
        self._purse[0] -= units
        if self._purse[0] < 0:
            raise SpentError
        return ""

    def pay(self, value: Any) -> Any:
        """Takes a value's weight out of the purse and gives the value."""
        self.charge(self._weight(value))
        return value

    def _weight(self, value: Any) -> int:
        """Characters, items and digits in a value, everywhere in it; stops where the purse would be empty."""
        if isinstance(value, (str, bytes)):
            return 1 + len(value)
        if isinstance(value, int):
            return 1 + value.bit_length() // 32
        if isinstance(value, range):
            return 1 + len(value)
        parts: Any = ()
        if isinstance(value, Mapping):
            parts = (part for pair in value.items() for part in pair)
        elif isinstance(value, (list, tuple, set, frozenset)):
            parts = value
        total = 1
        for part in parts:
            total += self._weight(part)
            if total > self._purse[0]:
                raise SpentError
        return total

    def _price(self, name: str, subject: Any, *others: Any) -> int:
        """The most that a function may make of these."""
        if name == "format":
            return self._format_price(str(subject), others)
        if name in COMPARISONS:
            return self._weight((subject, *others))
        sizes = [max(1, abs(other)) if isinstance(other, int) else self._weight(other) for other in others]
        units = self._weight(subject)
        if name in SUM:
            return units + sum(sizes)
        return units * prod(sizes) + (units * units // 100 if name in SQUARE else 0)

    def _format_price(self, text: str, values: Any) -> int:
        """The same for ``%`` and ``format``, whose widths stand in the text."""
        widths = re.findall(r"\d+", text)
        if _COMPUTED_WIDTH.search(text) or any(len(width) > WIDEST for width in widths):
            raise SpentError
        return (len(text) + sum(map(int, widths))) * self._weight(values)

    # -------------------------------------------------------- what a template does

    def _priced(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Puts a price on a filter or test."""
        if name in FREE:
            return function
        first = 1 if getattr(function, "jinja_pass_arg", None) is not None else 0

        @wraps(function)
        def priced(*given: Any, **named: Any) -> Any:
            given = tuple(list(value) if isinstance(value, Iterator) else value for value in given)
            subject, others = given[first] if len(given) > first else None, (*given[first + 1 :], *named.values())
            self.charge(self._price(name, subject, *others))
            return function(*given, **named)

        return priced

    def call(self, context: Any, called: Any, *args: Any, **named: Any) -> Any:
        """Calls a method, a macro or a function of the analysis."""
        subject = getattr(called, "__self__", None)
        args = tuple(list(value) if isinstance(value, Iterator) else value for value in args)
        if called is self.globals["range"] or isinstance(subject, (str, bytes, int, float, list, tuple)):
            self.charge(self._price("", subject, *args, *named.values()))
        else:
            self.charge(1 + sum(len(value) for value in args if isinstance(value, Sized)))
        result = super().call(context, called, *args, **named)
        return self.pay(result) if isinstance(called, Macro) or isinstance(result, str) else result

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Computes."""
        if operator == "%" and isinstance(left, str):
            self.charge(self._format_price(left, right))
        elif operator == "**" or (operator == "*" and not (isinstance(left, int) and isinstance(right, int))):
            one, other = (right, left) if operator == "*" and isinstance(left, int) else (left, right)
            self.charge(self._price(operator, one, other))
        elif operator in "+-":
            self.charge(self._weight(left) + self._weight(right))
        else:
            self.charge(self._weight(left) * self._weight(right))
        return super().call_binop(context, operator, left, right)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Refuses some methods of text."""
        if isinstance(obj, str) and attribute in REFUSED:
            return self.unsafe_undefined(obj, attribute)
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Refuses them by their name in brackets, too; a key is paid for, as it is compared."""
        if isinstance(argument, str):
            return super().getitem(obj, argument) if not isinstance(obj, str) else self.getattr(obj, argument)
        return super().getitem(obj, self.pay(argument))

    def unsafe_undefined(self, obj: Any, attribute: str) -> Any:
        """Refuses at once: what stands for unknown facts would let it pass."""
        raise SecurityError(f"access to attribute {attribute!r} of {type(obj).__name__!r} object is unsafe")

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Refuses them to filters, too."""
        is_refused = isinstance(obj, str) and attr in REFUSED
        return not is_refused and super().is_safe_attribute(obj, attr, value)

    # -------------------------------------------------------- what is compiled

    def _generate(self, source: nodes.Template, *rest: Any, **named: Any) -> str:
        """Puts payments into the tree, where Jinja2 goes on to make code of it."""
        branches: list[Any] = list(source.find_all(_BRANCHES))
        for branch in branches:
            branch.body.insert(0, self._fee(branch))
        for node in list(source.find_all(_COSTLY)):
            self._meter(node)
        return super()._generate(source, *rest, **named)

    def _fee(self, branch: Any) -> nodes.Node:
        """Makes the payment for one pass through a body: its steps and its plain text."""
        units = 1
        for node in branch.find_all(nodes.Node):
            text = getattr(node, "data", None) or getattr(node, "value", None)
            units += 1 + (len(text) if isinstance(text, str) else 0)
        line = branch.lineno
        return nodes.ExprStmt(self._filtered(nodes.Const(units, lineno=line), CHARGE, line), lineno=line)

    def _meter(self, node: Any) -> None:
        """Makes a node pay for the values that Python itself will go through."""
        if isinstance(node, nodes.For):
            node.iter = self._filtered(node.iter, PAY, node.lineno)
        elif isinstance(node, nodes.Concat):
            node.nodes = [self._filtered(part, PAY, node.lineno) for part in node.nodes]
        elif isinstance(node, nodes.Pair):
            node.key = self._filtered(node.key, PAY, node.lineno)
        elif not isinstance(node, nodes.Getitem):
            node.expr = self._filtered(node.expr, PAY, node.lineno)
        elif isinstance(node.arg, nodes.Slice):
            node.node = self._filtered(node.node, PAY, node.lineno)

    def _filtered(self, node: Any, name: str, line: int) -> nodes.Filter:
        return nodes.Filter(node, name, [], [], None, None, lineno=line, environment=self)

    def from_string(self, source: Any, *rest: Any, **named: Any) -> Any:
        """Compiles a template, for a price."""
        self.charge(SOURCE * (len(source) if isinstance(source, str) else 1))
        return super().from_string(source, *rest, **named)
