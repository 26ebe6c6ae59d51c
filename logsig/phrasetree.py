"""Makes the trees that ``phrase`` fills: takes a signature's text as written, gives lists that JSON can hold.

Jinja2 parses. A text that uses more of it than most do (loops, macros, rare filters) gets no tree and stays Jinja2's
at every run (``remedy``). Runs when the library is built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jinja2 import TemplateError, nodes
from jinja2.parser import Parser

from logsig import phrase
from logsig.phrase import Tree

Make = Callable[[Any], Tree]
MOST_ARGUMENTS = {"trim": 1, "replace": 2, "join": 1, "int": 1, "float": 1, "short": 1}
"""Of filters that take any."""


class _OtherError(Exception):
    """More of Jinja2 than a tree holds."""


def tree_of(text: str, env: Any, *, is_condition: bool = False) -> Tree | None:
    """Gives the tree of a text, or of a condition, by the parser of ``env``; None where Jinja2 itself is needed."""
    try:
        if not is_condition:
            return _pieces(env.parse(text).body, env, is_whole=True)
        parser = Parser(env, text, state="variable")
        tree = parser.parse_expression()
        return _expression(tree, env) if parser.stream.eos else None
    except (TemplateError, _OtherError):
        return None


def _pieces(body: Sequence[Any], env: Any, is_whole: bool = False) -> Tree:
    pieces: Tree = []
    for node in body:
        if isinstance(node, nodes.If):
            pieces.append(_branch(node.test, node.body, node.elif_, node.else_, env))
        elif isinstance(node, nodes.Output):
            for part in node.nodes:
                pieces.append(part.data if isinstance(part, nodes.TemplateData) else _expression(part, env))
        elif isinstance(node, nodes.Assign) and isinstance(node.target, nodes.Name) and is_whole:
            pieces.append(["set", node.target.name, _expression(node.node, env)])
        else:
            raise _OtherError
    return pieces


def _branch(test: Any, body: Sequence[Any], further: Sequence[Any], last: Sequence[Any], env: Any) -> Tree:
    other = [_branch(further[0].test, further[0].body, further[1:], last, env)] if further else _pieces(last, env)
    return ["if", _expression(test, env), _pieces(body, env), other]


def _expression(node: Any, env: Any) -> Tree:
    make = _MAKERS.get(type(node).__name__)
    if make is None:
        raise _OtherError
    return make(node, lambda part: _expression(part, env), env)


def _name_of(node: Any, _make: Make, env: Any) -> Tree:
    if node.name in env.globals:
        raise _OtherError
    return ["name", node.name]


def _compare_of(node: Any, make: Make, _env: Any) -> Tree:
    return ["compare", make(node.expr), *([part.op, make(part.expr)] for part in node.ops)]


def _filter_of(node: Any, make: Make, _env: Any) -> Tree:
    if node.name not in phrase.FILTERS or node.kwargs or node.dyn_args or node.dyn_kwargs or node.node is None:
        raise _OtherError
    if len(node.args) > MOST_ARGUMENTS.get(node.name, 0):
        raise _OtherError
    return ["filter", node.name, make(node.node), *map(make, node.args)]


def _test_of(node: Any, make: Make, _env: Any) -> Tree:
    if node.name not in phrase.TESTS or node.args or node.kwargs or node.dyn_args or node.dyn_kwargs:
        raise _OtherError
    return ["is", node.name, make(node.node)]


def _call_of(node: Any, make: Make, _env: Any) -> Tree:
    method = node.node
    if type(method).__name__ != "Getattr" or method.attr not in phrase.METHODS:
        raise _OtherError
    if node.kwargs or node.dyn_args or node.dyn_kwargs:
        raise _OtherError
    return ["call", make(method.node), method.attr, *map(make, node.args)]


def _field_of(node: Any, make: Make, _env: Any) -> Tree:
    if getattr(node.node, "name", None) != "flags" or hasattr(dict, node.attr):
        raise _OtherError
    return ["item", make(node.node), ["const", node.attr]]


def _item_of(node: Any, make: Make, _env: Any) -> Tree:
    if type(node.arg).__name__ == "Slice":
        ends = (node.arg.start, node.arg.stop, node.arg.step)
        return ["slice", make(node.node), *(["const", None] if end is None else make(end) for end in ends)]
    key = make(node.arg)
    if key[0] == "const" and not isinstance(key[1], int):  # a text there may also be the name of an attribute
        raise _OtherError
    return ["item", make(node.node), key]


def _pick_of(node: Any, make: Make, _env: Any) -> Tree:
    if node.expr2 is None:
        raise _OtherError
    return ["pick", make(node.test), make(node.expr1), make(node.expr2)]


def _neg_of(node: Any, make: Make, _env: Any) -> Tree:
    number = make(node.node)
    return ["const", -number[1]] if number[0] == "const" and isinstance(number[1], int) else ["neg", number]


def _math_of(node: Any, make: Make, _env: Any) -> Tree:
    return ["math", type(node).__name__, make(node.left), make(node.right)]


_MAKERS: Mapping[str, Callable[[Any, Make, Any], Tree]] = {
    "Name": _name_of,
    "Const": lambda node, _make, _env: ["const", node.value],
    "List": lambda node, make, _env: ["list", *map(make, node.items)],
    "Dict": lambda node, make, _env: ["dict", *([make(pair.key), make(pair.value)] for pair in node.items)],
    "Tuple": lambda node, make, _env: ["tuple", *map(make, node.items)],
    "And": lambda node, make, _env: ["and", make(node.left), make(node.right)],
    "Or": lambda node, make, _env: ["or", make(node.left), make(node.right)],
    "Not": lambda node, make, _env: ["not", make(node.node)],
    "Compare": _compare_of,
    "Filter": _filter_of,
    "Test": _test_of,
    "Call": _call_of,
    "Getattr": _field_of,
    "Getitem": _item_of,
    "CondExpr": _pick_of,
    "Neg": _neg_of,
    "Concat": lambda node, make, _env: ["concat", *map(make, node.nodes)],
    **dict.fromkeys(phrase.MATH, _math_of),
}
