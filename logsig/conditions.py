"""Puts a remedy's condition into words: ``find_unused_on and not differing`` for people who don't read Jinja2.

Takes the expression and the signature's words for its captures; gives a clause that can follow "if". What it
doesn't know it leaves as it is written. Evaluates nothing; that is ``remedy``'s.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import TemplateError, nodes

from logsig.signature import CAPTURES, CONTEXT


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement: of whom, what, about which values, and whether it is denied."""

    subject: str
    """The name of the expression that it is about."""
    text: str
    """With ``{}`` where the values stand."""
    values: tuple[str, ...] = ()
    other: str | None = None
    """The name it is compared with."""

    def __str__(self) -> str:
        return self.text.replace("{}", _listed(self.values, "or"))


@dataclass(frozen=True, slots=True)
class Several:
    """Statements that all hold, or of which one does."""

    word: str
    """``and`` or ``or``."""
    parts: tuple[Phrase, ...]

    def __str__(self) -> str:
        shown = [f"({part})" if isinstance(part, Several) else str(part) for part in self.parts]
        return _listed(shown, self.word)


Phrase = Claim | Several


def in_words(expression: str, captures: Mapping[str, str]) -> str:
    """Gives the condition in words."""
    from logsig.remedy import environment

    environment().renew()
    try:
        tree = environment().parse(f"{{% if {expression} %}}{{% endif %}}")
    except TemplateError:
        return expression
    test = next(tree.find_all(nodes.If)).test
    try:
        return str(_Speaker(captures).say(test, holds=True))
    except _UnknownError:
        return expression


class _UnknownError(Exception):
    """An expression of a kind that nobody put into words."""


# ---------------------------------------------------------------- what is known of names

_FLAGS = {
    "find_unused_on": ("find_unused_parameters=True is on already", "find_unused_parameters isn't on yet"),
    "static_graph_on": ("static_graph=True is on", "static_graph isn't on"),
    "debug_names": ("the message lists names", "the message lists no names"),
    "reentrant": ("re-entrant checkpointing is in the log", "re-entrant checkpointing isn't in the log"),
    "checkpointing": ("checkpointing is in the traceback", "checkpointing isn't in the traceback"),
    "lightning": ("the wording is Lightning's", "the wording isn't Lightning's"),
    "uncorrectable": ("the hardware error can't be corrected", "the hardware corrected the error"),
    "gaps": ("ranks below the highest that waited don't speak", "every rank below the highest that waited speaks"),
    "all_ranks": ("every rank raised the same", "not every rank raised the same"),
    "in_backward": ("it failed in the backward pass", "it failed outside of the backward pass"),
    "in_forward": ("it failed in the forward pass", "it failed outside of the forward pass"),
    "in_dataloader": ("it failed in the data loader", "it failed outside of the data loader"),
    "in_checkpoint_save": ("it failed while saving a checkpoint", "it didn't fail while saving a checkpoint"),
    "first_step": ("no step had finished yet", "at least one step had finished"),
    "differing": ("the ranks printed different values", "the ranks printed the same values"),
    "suspects": ("the ledger points at a rank", "the ledger points at no rank"),
    "silent_ranks": ("some ranks are silent", "no rank is silent"),
    "waiting_ranks": ("other ranks only waited", "no other rank waited"),
    "failed_ranks": ("the failed ranks are known", "the failed ranks aren't known"),
    "user_frame": ("the traceback shows your own code", "the traceback shows none of your own code"),
}
"""Names that are true or false, or of which only that is asked: what is said of them."""
_NOUNS = {
    "framework": "the framework",
    "launcher": "the launcher",
    "variant": "the wording",
    "first_rank": "the rank that failed first",
    "first_node": "the node that failed first",
    "last_step": "the last step",
    "user_function": "the function of your innermost frame",
    "user_code": "the line of your innermost frame",
    "world_size_read": "the world size",
    "torch": "the torch version",
    "nccl": "the NCCL version",
    "cuda": "the CUDA version",
}
_SCOPES = {
    "one-rank": "one rank",
    "several-ranks": "several ranks",
    "all-ranks": "all ranks",
    "not-a-rank": "no rank",
    "unknown": "unknown",
}
_PROPER = {
    "accelerate": "Accelerate",
    "deepspeed": "DeepSpeed",
    "fsdp": "FSDP",
    "kubernetes": "Kubernetes",
    "lightning": "Lightning",
    "megatron": "Megatron",
    "nemo": "NeMo",
    "ray": "Ray",
    "transformers": "Transformers",
}
_ARTICLES = re.compile(r"(?:the|an?|its|what|which|whether|other|older|how|who|all)\b|\S+'s?\s", re.IGNORECASE)
_TOLD, _UNTOLD = "the log tells {}", "the log doesn't tell {}"
_SIGNS = {
    "eq": ("is", "isn't"),
    "ne": ("isn't", "is"),
    "gt": ("is more than", "is at most"),
    "gteq": ("is at least", "is less than"),
    "lt": ("is less than", "is at least"),
    "lteq": ("is at most", "is more than"),
}


# ---------------------------------------------------------------- speaking


class _Speaker:
    def __init__(self, captures: Mapping[str, str]) -> None:
        self.captures = captures

    def say(self, node: Any, *, holds: bool) -> Phrase:
        """Puts a node into words, or its denial."""
        node = _bare(node)
        if isinstance(node, nodes.Not):
            return self.say(node.node, holds=not holds)
        if isinstance(node, nodes.And | nodes.Or):
            both = isinstance(node, nodes.And) == holds
            parts = [self.say(part, holds=holds) for part in _flat(node, type(node))]
            return _joined("and" if both else "or", parts)
        if isinstance(node, nodes.Compare):
            return self._compare(node, holds)
        if isinstance(node, nodes.Test):
            return self._known(node.node, holds != (node.name == "none"))
        if isinstance(node, nodes.Call):
            return self._call(node, holds)
        return self._truth(node, holds)

    def _truth(self, node: Any, holds: bool) -> Claim:
        if isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name) and node.node.name == "flags":
            return Claim(node.attr, f"{node.attr} {_is(holds)} set in the log")
        if not isinstance(node, nodes.Name):
            raise _UnknownError
        marked = re.match(r"set where (.+)", self.captures.get(node.name, ""))
        if marked:
            return Claim(node.name, marked[1] if holds else f"it isn't so that {marked[1]}")
        if node.name in _FLAGS:
            return Claim(node.name, _FLAGS[node.name][not holds])
        return self._known(node, holds)

    def _known(self, node: Any, holds: bool) -> Claim:
        node = _bare(node)
        return Claim(_name(node), _TOLD if holds else _UNTOLD, (self._noun(node),))

    def _call(self, node: nodes.Call, holds: bool) -> Claim:
        """``x.startswith('…')`` and ``torch_at_least('…')``."""
        values = tuple(_text(argument) for argument in node.args)
        if isinstance(node.node, nodes.Getattr) and node.node.attr == "startswith":
            subject = _bare(node.node.node)
            begins = "begins" if holds else "doesn't begin"
            return Claim(_name(subject), f"{self._noun(subject)} {begins} with {{}}", values)
        if isinstance(node.node, nodes.Name) and node.node.name == "torch_at_least":
            return Claim("torch", f"torch is {values[0]} or newer" if holds else f"torch is older than {values[0]}")
        raise _UnknownError

    def _compare(self, node: nodes.Compare, holds: bool) -> Phrase:
        if len(node.ops) > 1:
            raise _UnknownError
        sign, left, right = node.ops[0].op, _bare(node.expr), _bare(node.ops[0].expr)
        if sign in ("in", "notin"):
            return self._within(left, right, holds == (sign == "in"))
        if isinstance(left, nodes.Name) and left.name == "scope" and sign in ("eq", "ne"):
            return _scope(_constant(right), holds == (sign == "eq"))
        if isinstance(right, nodes.Const) and right.value is None:
            return self._known(left, holds == (sign == "ne"))
        if isinstance(right, nodes.Name) and sign in ("eq", "ne"):
            says = "equals" if holds == (sign == "eq") else "differs from"
            return Claim(_name(left), f"{self._noun(left)} {says} {{}}", (self._noun(right),), _name(right))
        return Claim(_name(left), f"{self._noun(left)} {_SIGNS[sign][not holds]} {{}}", (self._value(right, left),))

    def _within(self, left: Any, right: Any, holds: bool) -> Phrase:
        """``'x' in reason`` says what a text contains, ``code in [1, 2]`` what a value is."""
        if isinstance(left, nodes.Const):
            return Claim(_name(right), f"{{}} {_is(holds)} in {self._noun(right)}", (_text(left),))
        if isinstance(right, nodes.List | nodes.Tuple):
            values = tuple(self._value(_bare(item), left) for item in right.items)
            return Claim(_name(left), f"{self._noun(left)} {_is(holds)} {{}}", values)
        return Claim(_name(left), f"{self._noun(left)} {_is(holds)} one of {self._noun(right)}")

    def _noun(self, node: Any) -> str:
        if isinstance(node, nodes.Sub):
            return f"{self._noun(_bare(node.left))} without {self._noun(_bare(node.right))}"
        if isinstance(node, nodes.Or):
            return f"{self._noun(_bare(node.left))} or {self._noun(_bare(node.right))}"
        if isinstance(node, nodes.Filter) and node.name == "length":
            return f"the number of {self._noun(_bare(node.node)).removeprefix('the ')}"
        if isinstance(node, nodes.Filter) and node.name in ("abs", "float"):
            return self._noun(_bare(node.node))
        if not isinstance(node, nodes.Name):
            raise _UnknownError
        words = self.captures.get(node.name, "`")
        if words.startswith(("set where", "`")):  # a mark, or values explained: no name of the thing
            words = _NOUNS.get(node.name) or CAPTURES.get(node.name, ("", ""))[1] or CONTEXT.get(node.name, "")
        if not words:
            raise _UnknownError
        noun = re.split(r"[,;:]|\. ", re.sub(r"\s*\([^)]*\)", "", words))[0].strip().removeprefix("list of ")
        return noun if _ARTICLES.match(noun) else f"the {noun}"

    def _value(self, node: Any, of: Any) -> str:
        if isinstance(node, nodes.Name):
            return self._noun(node)
        value = _constant(node)
        if value is None:
            return "none"
        if isinstance(value, str):
            return _PROPER.get(value, value) if _name(of) in ("framework", "launcher") else f"“{value}”"
        kind = CAPTURES.get(_name(of), ("", ""))[0]
        if kind == "bytes":
            return f"{value / 2**30:g} GiB" if value >= 2**30 else f"{value / 2**20:g} MiB"
        return f"{value / 1000:g} s" if _name(of).endswith("_ms") else f"{value:,}" if value > 9999 else str(value)


def _scope(scope: Any, holds: bool) -> Claim:
    return Claim("scope", f"the failure's scope {_is(holds)} {{}}", (_SCOPES.get(scope, str(scope)),))


def _is(holds: bool) -> str:
    return "is" if holds else "isn't"


# ---------------------------------------------------------------- expressions


def _bare(node: Any) -> Any:
    """Takes off what changes the letters only: ``|lower``, ``|join``, ``x or ''``, ``.lower()``."""
    while True:
        if isinstance(node, nodes.Filter) and node.name in ("lower", "upper", "join", "string", "trim"):
            node = node.node
        elif isinstance(node, nodes.Or) and isinstance(node.right, nodes.Const):
            node = node.left
        elif (
            isinstance(node, nodes.Call)
            and isinstance(node.node, nodes.Getattr)
            and node.node.attr in ("lower", "upper")
        ):
            node = node.node.node
        else:
            return node


def _flat(node: Any, kind: type[nodes.BinExpr]) -> Iterable[Any]:
    bare = _bare(node)
    if isinstance(bare, kind):
        yield from _flat(bare.left, kind)
        yield from _flat(bare.right, kind)
    else:
        yield bare


def _name(node: Any) -> str:
    """Gives the first name in an expression."""
    if isinstance(node, nodes.Name):
        return str(node.name)
    found = next(node.find_all(nodes.Name), None)
    return str(found.name) if found is not None else ""


def _constant(node: Any) -> Any:
    try:
        if isinstance(node, nodes.BinExpr) and node.operator is not None:  # the sandbox computes: ``2**30``
            left, right = _constant(node.left), _constant(node.right)
            sandbox: Any = node.environment
            return sandbox.call_binop(None, node.operator, left, right)
        return node.as_const()
    except (nodes.Impossible, TemplateError, ArithmeticError, TypeError) as error:
        raise _UnknownError from error


def _text(node: Any) -> str:
    return f"“{_constant(node)}”"


# ---------------------------------------------------------------- putting together


def _joined(word: str, parts: Sequence[Phrase]) -> Phrase:
    """Joins claims; those that differ in their value only become one, and what another claim implies is left out."""
    flat: list[Phrase] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Several) and part.word == word else [part])
    merged: dict[Any, Phrase] = {}
    for part in flat:
        key: Any = part
        if isinstance(part, Claim) and part.values and (word == "or") != _denies(part):
            key = part.text
        known = merged.get(key)
        if isinstance(known, Claim) and isinstance(part, Claim):
            merged[key] = Claim(known.subject, known.text, tuple(dict.fromkeys((*known.values, *part.values))))
        else:
            merged[key] = part
    parts = list(merged.values())
    kept = [part for part in parts if not _implied(word, part, parts)]
    return kept[0] if len(kept) == 1 else Several(word, tuple(kept))


def _denies(claim: Claim) -> bool:
    return "n't " in claim.text


def _implied(word: str, part: Phrase, others: Sequence[Phrase]) -> bool:
    """True for "the log tells X" and a claim of what X is; or "doesn't tell X" or one of what it isn't."""
    told = _TOLD if word == "and" else _UNTOLD
    if not isinstance(part, Claim) or part.text != told or len(part.values) > 1:
        return False
    return any(other is not part and _speaks_of(other, part.subject, denied=word == "or") for other in others)


def _speaks_of(phrase: Phrase, subject: str, *, denied: bool) -> bool:
    if isinstance(phrase, Several):
        every = all if (phrase.word == "or") != denied else any
        return every(_speaks_of(part, subject, denied=denied) for part in phrase.parts)
    said = phrase.text not in (_TOLD, _UNTOLD) and bool(phrase.values)
    return said and subject in (phrase.subject, phrase.other) and _denies(phrase) == denied


def _listed(texts: Sequence[str], word: str) -> str:
    if len(texts) < 2:
        return "".join(texts)
    return ", ".join(texts[:-1]) + f" {word} {texts[-1]}"
