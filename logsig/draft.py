"""A first draft of a signature file from a failure that nobody described yet.

Takes a log and the lines meant, gives the text of a YAML file: literals and pattern proposed, what varies masked, the
lines embedded as example. What only a person can say is marked ``FILL``, and the checker refuses the mark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from logsig import digits
from logsig._version import __version__
from logsig.errors import InputError
from logsig.model import Excerpt, Message, Origin
from logsig.signature import CAPTURES, Family

FILL = "FILL"
"""Begins every text that a person has to write."""
BEFORE, AFTER = 24, 4
"""Lines around those that are meant, in which their message may begin and end."""
NEIGHBOURS = 2
"""Lines around a message that are shown with it."""
MAX_TEXT = 240
MAX_EXAMPLE_LINES = 14


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a message: constant text, or something that varies."""

    text: str
    pattern: str
    varies: bool


@dataclass(frozen=True, slots=True)
class Proposal:
    """What can be read off the message."""

    literals: tuple[str, ...]
    pattern: str
    captures: dict[str, str] = field(default_factory=dict)


def draft(
    path: str, span: tuple[int, int] | None = None, identity: str | None = None, family: str | None = None
) -> str:
    """Write the draft for the failure on the given lines, or for the one that the log tells."""
    from logsig import lines, messages

    if span is None:
        path, number = told(path)
        span = number, number
    rows, first = _rows(path, span)
    data = "\n".join(rows).encode("utf-8", "surrogateescape")
    reading = lines.read([Excerpt(Origin(path), first, 0, data, "hit")])
    chosen = choose(messages.group(reading.lines), span)
    if chosen is None:
        raise InputError(f"{path}: found no message there, expected the lines of a failure")
    proposal = propose(chosen)
    name = identity or slug(chosen)
    is_cut = span[0] < span[1]
    example = rows[span[0] - first : span[1] + 1 - first] if is_cut else example_lines(rows, first, chosen)
    return write(name, family or guess_family(chosen), proposal, example, chosen)


def split_target(target: str) -> tuple[str, tuple[int, int] | None]:
    """Split ``LOG:LINES`` (``train.log:120`` or ``train.log:118-125``)."""
    found = re.fullmatch(r"(.+):(\d+)(?:-(\d+))?", target, re.DOTALL)
    if not found:
        return target, None
    first, last = digits.number(found[2]), digits.number(found[3] or found[2])
    if first < 1 or last < first:
        raise InputError(f"{target}: found lines {first}-{last}, expected FIRST-LAST, counted from 1")
    return found[1], (first, last)


def told(path: str) -> tuple[str, int]:
    """Say in which file and line the log tells its failure; a word such as "error" in a job that ended well is none."""
    import logsig
    from logsig import diagnosis
    from logsig.batch import unknown
    from logsig.scan import scan
    from logsig.understand import understand

    catalog = logsig.load_catalog()
    seen = scan([path], catalog.scan_engine())
    job = understand(seen.excerpts, catalog, (path,), seen.doubts).job
    found = diagnosis.diagnose(job, catalog)
    line = unknown.telling_line(found, job, catalog)
    source = line.source if line else found.root_cause.evidence[0].source if found.root_cause else None
    if source is None:
        raise InputError(f"{path}: found no failure ({found.outcome}), expected one; {path}:FIRST-LAST names its lines")
    return source.path, source.line


def _rows(path: str, span: tuple[int, int]) -> tuple[list[str], int]:
    """Read the lines meant and their neighbours; give the number of the first."""
    first = max(1, span[0] - BEFORE)
    try:
        with open(path, "rb") as log:
            rows = [row for number, row in enumerate(log, 1) if first <= number <= span[1] + AFTER]
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    if len(rows) < span[0] - first + 1:
        raise InputError(f"{path}: found no line {span[0]}, expected a log at least that long")
    return [_decoded(row) for row in rows], first


def _decoded(row: bytes) -> str:
    return row.decode("utf-8", "replace").rstrip("\r\n")


# ---------------------------------------------------------------- which message


def choose(found: Sequence[Message], span: tuple[int, int]) -> Message | None:
    """Pick the message of a failure on these lines: a traceback before other messages, the last one before others."""
    there = [message for message in found if any(span[0] <= line.source.line <= span[1] for line in message.lines)]
    spoken = [message for message in there if message.text.strip()]
    candidates = [message for message in spoken if message.exception] or spoken
    return candidates[-1] if candidates else None


def example_lines(rows: Sequence[str], first: int, message: Message) -> list[str]:
    """Cut the message and its neighbours out of the log."""
    numbers = [line.source.line for line in message.lines]
    start = max(min(numbers), max(numbers) - MAX_EXAMPLE_LINES)
    cut = list(rows[max(0, start - NEIGHBOURS - first) : max(numbers) + NEIGHBOURS + 1 - first])
    while cut and not cut[-1].strip():
        cut.pop()
    return cut


# ---------------------------------------------------------------- literals and pattern

_VARIES = re.compile(
    r"(?P<uuid>\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b)"
    r"|(?P<address>\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\[[0-9a-fA-F:]{3,45}\](?::\d+)?"
    r"|(?<![\w:])(?=[0-9a-fA-F:]*(?:::|(?::[0-9a-fA-F]+){4}))[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?![\w:])"
    r"|\b(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]\b)"
    r"|(?P<hex>\b0x[0-9a-fA-F]+\b|\b(?=[a-fA-F]*\d)(?=\d*[a-fA-F])(?!\d+[eE]\d+\b)[0-9a-fA-F]{6,64}\b)"
    r"|(?P<path>(?<![\w/])(?:~|\.{1,2})?/[\w.+@=-]+(?:/[\w.+@=-]+)*)"
    r"|(?P<quoted>(?<!\w)'[^'\n]{1,200}'(?!\w)|\"[^\"\n]{1,200}\")"
    r"|(?P<number>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)"
)
_SHAPES = {
    "uuid": "[0-9a-f-]{36}",
    "hex": "(?:0x)?[0-9a-fA-F]{1,64}",
    "address": r"[^\s,;]{1,80}",
    "path": r"[^\s'\",;]{1,400}",
    "number": r"\d+(?:\.\d+)?",
}
_NAMED = {
    "rank": "rank",
    "pid": "pid",
    "port": "port",
    "step": "step",
    "iteration": "step",
    "epoch": "epoch",
    "exitcode": "exitcode",
    "errno": "errno",
    "device": "device",
    "gpu": "device",
    "signal": "signal",
}
_BUILTIN_ERRORS = {
    "RuntimeError",
    "ValueError",
    "TypeError",
    "AssertionError",
    "Exception",
    "KeyError",
    "OSError",
    "IndexError",
}


def parts_of(text: str) -> Iterator[Part]:
    """Split a message into what stays and what varies from run to run."""
    at = 0
    for found in _VARIES.finditer(text):
        if found.start() > at:
            yield _constant(text[at : found.start()])
        kind = str(found.lastgroup)
        if kind == "quoted":
            quote = found.group()[0]
            yield Part(found.group(), f"{quote}[^{quote}\\n]{{0,200}}{quote}", varies=True)
        else:
            yield Part(found.group(), r"\d+" if found.group().isdecimal() else _SHAPES[kind], varies=True)
        at = found.end()
    if at < len(text):
        yield _constant(text[at:])


def _constant(text: str) -> Part:
    words = [re.sub(r"([\\.^$*+?{}\[\]|()])", r"\\\1", word) for word in re.split(r"\s+", text)]
    return Part(text, r"\s+".join(words), varies=False)


def propose(message: Message) -> Proposal:
    """Propose literals, a pattern that begins where the error speaks, and captures with standard names."""
    text = _spoken(message)[:MAX_TEXT]
    parts = list(parts_of(text))
    pattern, captures = [], {}
    for index, part in enumerate(parts):
        name = _capture_name(parts, index)
        if name is not None and name not in captures:
            captures[name] = CAPTURES[name][1]
            pattern.append(f"(?P<{name}>{part.pattern})")
        else:
            pattern.append(part.pattern)
    return Proposal(tuple(_literals(parts)), "".join(pattern), captures)


def _spoken(message: Message) -> str:
    """Give the first line of what was said, without an exception type that says nothing."""
    text = message.text.strip().split("\n")[0]
    kind, sign, rest = text.partition(": ")
    if message.exception and sign and rest.strip() and kind.rpartition(".")[2] in _BUILTIN_ERRORS:
        return rest.strip()
    return text


def _capture_name(parts: Sequence[Part], index: int) -> str | None:
    part = parts[index]
    if not part.varies or index == 0 or parts[index - 1].varies:
        return None
    if part.text.startswith(("/", "~/", "./", "../")):
        return "path"
    before = re.search(r"([A-Za-z]+)[\s:=#]*$", parts[index - 1].text)
    return _NAMED.get(before[1].lower()) if before and part.text.isdecimal() else None


def _literals(parts: Iterable[Part]) -> list[str]:
    """Take the two longest constant pieces: cold, and one survives where the other is wrapped."""
    pieces = [
        piece.strip(" :,;.()[]{}'\"")
        for part in parts
        if not part.varies
        for piece in re.split(r"\s{2,}|\n", part.text)
    ]
    usable = sorted(
        {piece for piece in pieces if len(piece) >= 4 and re.search("[A-Za-z]{3}", piece)},
        key=lambda piece: (-len(piece), piece),
    )
    return [piece[:100].rstrip() for piece in usable[:2] if len(piece) >= 8 or piece == usable[0]]


# ---------------------------------------------------------------- names

_FAMILY_WORDS = (
    ("nccl", ("nccl", "ibv_", "infiniband")),
    ("gloo", ("gloo", "/gloo/")),
    ("rendezvous", ("rendezvous", "tcpstore", "c10d store", "master_addr")),
    ("cuda", ("cuda", "cublas", "cudnn", "hip error")),
    ("gpu", ("xid", "nvrm", "nvlink")),
    ("scheduler", ("slurm", "srun", "kubernetes", "kubelet", "ray::")),
    ("data", ("dataloader", "dataset")),
    ("checkpoint", ("checkpoint", "state_dict")),
    ("autograd", ("backward", "autograd", "gradient")),
    ("ddp", ("distributeddataparallel", "reducer")),
    ("framework", ("deepspeed", "fsdp", "megatron", "lightning", "accelerate", "transformers", "triton")),
)


def guess_family(message: Message) -> str:
    """Guess the family by the words of the message."""
    text = message.text.lower()
    for family, words in _FAMILY_WORDS:
        if any(word in text for word in words):
            return family
    return "python" if message.exception else "host"


def slug(message: Message) -> str:
    """Make an id of the first words that don't vary."""
    spoken = re.sub(r"^(?:\w+\.)+(?=[A-Z])", "", _spoken(message))
    constant = " ".join(part.text for part in parts_of(spoken) if not part.varies)
    words = [word.lower() for word in re.findall(r"[A-Za-z][A-Za-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", constant))]
    words = [word for word in words if word not in {"the", "a", "an", "is", "was", "to", "of", "in", "for", "and"}]
    return "-".join(words[:4])[:60].strip("-") or "unknown-failure"


# ---------------------------------------------------------------- the file


def write(identity: str, family: str, proposal: Proposal, example: Sequence[str], message: Message) -> str:
    """Write the YAML text."""
    literals = "".join(f"    - {quoted(literal)}\n" for literal in proposal.literals)
    captures = "".join(f"  {name}: {quoted(words)}\n" for name, words in proposal.captures.items())
    expect = _expected(example, message)
    families = ", ".join(Family)
    literal = f"'{proposal.literals[0]}'" if proposal.literals else "a literal"
    return (
        f"# A draft: replace every FILL, then run: logsig signatures check FILE\n"
        f"schema: 1\n"
        f"id: {identity}  # the file's name without .yaml\n"
        f"title: {_blank('what happened, in a few words', 2)}"
        f"family: {family}  # the folder; one of {families}\n"
        f"role: initiator  # initiator | collateral | either | witness | notice\n"
        f"severity: fatal  # fatal | error | notice\n"
        f"since: {quoted(__version__)}\n"
        f"summary: {_blank('one sentence for a tired reader on call', 2)}"
        f"explanation: {_blank('what the process saw; what that proves; what it does not prove', 2)}"
        f"match:\n"
        f"  literals:  # keep those that stand in every wording and nowhere else\n"
        f"{literals}"
        f"  pattern: {quoted(proposal.pattern)}\n"
        + (f"captures:\n{captures}" if captures else "captures: {}\n")
        + f"remedies:\n"
        f"  - title: {_blank('what to do first', 6)}"
        f"    steps:\n"
        f"      - {_blank('an imperative sentence', 8)}"
        f"    verify: {_blank('how to see that it is gone', 6)}"
        f"retryable: after-fix  # 'yes' | 'no' | after-fix | other-node\n"
        f"examples:\n"
        f"  - name: as-first-seen\n"
        f"    source: {_blank('where it comes from', 6)}"
        f"    log: {block(example, 6)}"
        f"    expect: {{{expect}}}\n"
        f"counterexamples:\n"
        f"  - name: near-miss\n"
        f"    why: {_blank('what differs from the real thing', 6)}"
        f"    near_miss: true\n"
        f"    log: {_blank(f'a log that holds {literal} and means something else', 6)}"
    )


def _blank(what: str, indent: int) -> str:
    """Ask for a text where no character of it needs a quote: an apostrophe is one."""
    if not what.isprintable():
        return _escaped(f"{FILL}: {what}") + "\n"
    return f">-\n{' ' * indent}{FILL}: {what}\n"


def _expected(example: Sequence[str], message: Message) -> str:
    decisive = message.lines[-1].raw
    spoken = _spoken(message)[:40]
    numbers = [number for number, row in enumerate(example, 1) if spoken and spoken in row]
    numbers = numbers or [number for number, row in enumerate(example, 1) if row == decisive]
    ranks = [line.rank for line in message.lines if line.rank is not None]
    rank = [f"rank: {ranks[0]}"] if ranks else []
    return ", ".join([*rank, f"lines: [{numbers[0] if numbers else 1}]"])


def quoted(text: str) -> str:
    """Write text as a YAML scalar that every reader reads alike."""
    if text.isprintable() and ("'" not in text or "\\" in text):
        return "'" + text.replace("'", "''") + "'"
    return _escaped(text)


def _escaped(text: str) -> str:
    """Write text in double quotes, with an escape for every character that can't be seen."""
    return "".join(
        char if char.isprintable() else f"\\U{ord(char):08x}" for char in json.dumps(text, ensure_ascii=False)
    )


def block(rows: Sequence[str], indent: int) -> str:
    """Write log lines as a block scalar, or as a quoted text where they hold what a block can't."""
    text = "\n".join(rows)
    if not all(character.isprintable() or character in "\n\t" for character in text) or not text.strip():
        return _escaped(text + "\n") + "\n"
    sign = "|2" if rows[0][:1] in (" ", "\t", "") else "|"
    return f"{sign}\n" + "".join(f"{' ' * indent}{row}\n" if row else "\n" for row in rows)
