"""Groups clean lines into messages: what one writer said in one go.

Takes ``LogLine``s in reading order, gives ``Message``s in the order of their decisive line. Knows Python tracebacks
(chains, interleaved ones, lost indentation), C++ messages with continuation lines, ``terminate called``, faulthandler
dumps and torchrun's failure table. Knows no signatures.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from logsig import digits
from logsig.late import late
from logsig.model import Frame, LogLine, Message, Writer
from logsig.record import dataclass

MAX_CONTINUATION = 60
"""Lines that an exception's message may go on for. CUDA and NCCL texts with a C++ backtrace stay below."""
MAX_LINKS = 100
"""Tracebacks of one chain; what follows is a message of its own. Each link holds the lines before it."""
MAX_BARE_CONTINUATION = 14
"""The same where lines carry no rank at all, so that other ranks' output may stand in between."""

_HEAD = "Traceback (most recent call last)"
_TRACEBACK = late(r"^\W*(?:[\w .:/()\[\]-]{0,80}: )?(?:Original )?Traceback \(most recent call last\):?")
_FRAME = late(r'^\s*File "(?P<path>[^"\n]+)", line (?P<line>\d+)(?:,? in (?P<function>.+))?')
_HEADLESS = late(r'^  File "[^"\n]+", line \d+, in \S')
"""A frame whose traceback's first line is lost."""
_UNREADABLE = late(r'^  File "[^"\n]+", line \d+$')
"""Where Python could not read a program: nothing had run, so there is no traceback."""
_EXCEPTION = late(
    r"^(?P<type>(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Interrupt|Exit|Warning|Failure|Failed|Timeout|"
    r"Closed|Stop\w*|NotFound\w*|Fault|Abort\w*|OutOfResources|Empty|Full|Panic\w*)\w*"
    r"|(?:[A-Za-z_]\w*\.)+[A-Z]\w*|[A-Z]\w*(?=: ))(?::(?:\s|$)|\s*$)"
)
_CHAIN = late(
    r"^(?:During handling of the above exception, another exception occurred:"
    r"|The above exception was the direct cause of the following exception:)"
)
_CARETS = late(r"^\s*[~^\s|]+$")
_ANNOUNCED = late(
    r"^-- Process (?P<p>\d+) terminated with the following error"
    r"|\[Rank (?P<s>\d+) Error Snippet\]|-Begin global rank (?P<c>\d+) STD"
    r"|Traceback \(most recent call last\): \(RANK (?P<d>\d+)\)"
)
_ANNOUNCING = ("-- Process", "Rank ", "(RANK ", "global rank ")
_TABLE_RANK = late(r"^\s*rank\s*: (?P<rank>\d+) \(local_rank: (?P<local>\d+)\)")
_TABLE_TRACEBACK = late(r"^\s*traceback\s*: (?P<rest>Traceback \(most recent call last\):.*)")
_TABLE_END = late(r"^(?:-{20,}|={20,}|\s*\[\d+\]:$|Root Cause )")
_ANNOUNCEMENT = (
    r"Exception ignored\b|Exception in thread |--- Logging error ---|Error in atexit|Error in sys\.excepthook"
    r"|(?:\[W [\d :,-]+\] )?Trial \d+ failed with parameters: "
)
_BEGINS = late(
    r"^(?:terminate called|Fatal Python error|\*\*\* SIG|\*\*\* Aborted at|srun: |slurmstepd|\[rank\d|={5,}|-{20,}|"
    r"Killed$|[A-Z][a-z]+(?: [a-z]+)? \(core dumped\)|Failures:"
    r"|\$ |Name:\s{3}|\(\w+(?: pid=\d[^)]*)?\) |(?:\S{1,64} )?kernel: |=>> PBS|"
    r"(?:[^\n]{0,64}?[\s\]])?(?:NVRM: |oom-kill:|(?:Memory cgroup )?[Oo]ut of memory: Kill)|"
    r"\S{1,64}: line \d+: {1,3}\d+ |(?:free|malloc|realloc|munmap_chunk)\(\): |double free or corruption|"
    r"(?:[a-z_]\w*\.)+[A-Z]\w*(?:Error|Exception): "
    r"|\d+ (?:passed|failed|skipped|deselected)\b"
    r'|  File "[^"\n]+", line \d+$'
    r"|(?:[Ee]poch|[Ss]tep|[Ii]ter(?:ation)?)\b[^\n]{0,20}\d|\{'(?:loss|eval|train)|"
    rf"{_ANNOUNCEMENT}|"
    r"[\w./-]+:\d+: \w*Warning: |NCCL version |\S+:\d+:\d+ \[\d+\] )"
)
_STARTS_ALONE = late(r"^(?:terminate called after|Fatal Python error: |\*\*\* SIG\w+ received)")
_CPP = frozenset(("c10", "c10-plain", "glog"))
_MILD = ("W", "I")
"""Levels of C++ loggers below an error."""
_ASIDE = re.compile(rf"\s*(?:{_ANNOUNCEMENT})")
"""Announces a traceback that doesn't end the process."""
_EXCEPTHOOK = "rank"
_OUTER = ("rank", "local_rank", "node", "node_rank", "task", "pid")
"""What an outer layer may say of the writer."""
_FINALIZERS = "_run_finalizers"
"""Function of ``multiprocessing`` that prints what it caught while the interpreter ends, and goes on."""
_STEP = late(r"\b(?:step|iter(?:ation)?|epoch)s?\b\s*[:=]?\s*\[?\s*\d+", re.IGNORECASE)


@dataclass(slots=True)
class _Open:
    """A message that may still go on."""

    lines: list[LogLine]
    kind: str
    """``frames`` (inside a traceback), ``text`` (after its exception), ``cpp``, ``dump``."""
    frames: list[Frame] = field(default_factory=list)
    head: int = 0
    exception: str | None = None
    links: list[Message] = field(default_factory=list)
    pending_link: bool = False
    rank: int | None = None
    code_next: bool = False
    order: int = 0
    more: int = 0
    dedent: int = 0
    aside: bool = False
    headless: bool = False
    """Begun by a frame or an exception whose traceback's first line is lost."""
    bare_until: int = -1
    """Reading order of the last line, where labelled lines may be followed by bare ones."""
    exception_layers: tuple[str, ...] = ()


def group(lines: Iterable[LogLine]) -> tuple[Message, ...]:
    """Returns the messages of all writers, ordered by the place of their decisive line."""
    grouper = _Grouper()
    for order, line in enumerate(lines):
        grouper.take(order, line)
    return grouper.finish()


class _Grouper:
    def __init__(self) -> None:
        self.done: list[tuple[int, int, Message]] = []
        self.open: dict[Writer, list[_Open]] = {}
        self.table_rank: dict[Writer, int] = {}
        self.announced: dict[Writer, int] = {}
        self.said: dict[Writer, str] = {}
        self.last: tuple[Writer, _Open] | None = None
        self.order = 0

    def take(self, order: int, line: LogLine) -> None:
        self.order = order
        writer = line.writer
        if line.gap:
            self.close_file(line.source.path)
        text = line.text
        if "ank" in text or "RANK" in text or "-- Process" in text:
            self._note_rank(writer, text)
        if self.last is not None and (self._continues_cpp(line, text) or self._continues_bare(order, line, text)):
            return
        stack = self.open.get(writer)
        if stack and self._feed(writer, stack, line, text):
            return
        self._begin(writer, line, text)

    def _note_rank(self, writer: Writer, text: str) -> None:
        """Remembers whose traceback is announced: by torchrun's table, ``mp.spawn``, Ray's snippets, Composer."""
        if "local_rank" in text and (table := _TABLE_RANK.match(text)):
            self.table_rank[writer] = digits.number(table["rank"])
        elif any(words in text for words in _ANNOUNCING) and (found := _ANNOUNCED.search(text)):
            self.announced[writer] = digits.number(next(value for value in found.groups() if value is not None))

    # -------------------------------------------------------- continuing

    def _continues_cpp(self, line: LogLine, text: str) -> bool:
        """C++ loggers print the prefix on the first line only: a bare line right below belongs to that message."""
        if self.last is None or not text.strip():
            return False
        _, message = self.last
        first = message.lines[0]
        if (
            not _is_bare_behind(line, first)
            or first.source.path != line.source.path
            or message.kind not in ("cpp", "dump")
            or message.more >= MAX_BARE_CONTINUATION
        ):
            return False
        if first.level in _MILD and not text[0].isspace():
            return False  # warnings fit on one line
        if _opens(text) or _BEGINS.match(text) or _STEP.search(text) or _is_pythons(text):
            return False
        message.lines.append(line)
        message.more += 1
        return True

    def _continues_bare(self, order: int, line: LogLine, text: str) -> bool:
        """Some loggers label a traceback's first line only: bare frames right below a labelled head are its own."""
        if self.last is None:
            return False
        _, message = self.last
        head = message.lines[0]
        if message.bare_until != order - 1 or head.source.path != line.source.path:
            return False
        if not head.layers or not _is_bare_behind(line, head):
            return False
        if message.kind == "frames":
            if not message.frames and not _FRAME.match(text):
                return False
            taken = self._feed_frames([message], line, text)
        else:
            taken = bool(text.strip()) and self._goes_on(message, line, text)
            if taken:
                message.lines.append(line)
                message.more += 1
        if taken:
            message.bare_until = order
        return taken

    def _feed(self, writer: Writer, stack: list[_Open], line: LogLine, text: str) -> bool:
        """Gives the line to the open message of the writer that expects it; true when one took it."""
        if stack[-1].kind == "frames":
            return self._feed_frames(stack, line, text)
        current = _whose_turn(stack)
        if current.kind == "text" and current.more < 3 and _is_remote(current) and _FRAME.match(text):
            self._reopen(current)  # a remote traceback: frames and the real exception follow
            return self._feed_frames(stack, line, text)
        if self._links_on(current, line, text):
            return True
        if current.kind == "text" and not text.strip() and current.exception is not None:
            current.more += 1
            if current.more <= MAX_CONTINUATION:
                current.lines.append(line)
                return True
        if self._goes_on(current, line, text):
            current.lines.append(line)
            current.more += 1
            return True
        self._close(writer, current)
        inside = self.open.get(writer, [])  # a traceback into which the process' C++ side had spoken
        return bool(inside) and inside[-1].kind == "frames" and self._feed_frames(inside, line, text)

    def _links_on(self, current: _Open, line: LogLine, text: str) -> bool:
        """True for a line between two tracebacks of one chain, and for the head of the second, which becomes a link."""
        if len(current.links) < MAX_LINKS and _CHAIN.match(text.strip()):
            current.pending_link = True
            current.more = 0
            return True
        if current.pending_link and _opens(text):
            self._link(current, line)
            return True
        return current.pending_link and not text.strip()

    def _reopen(self, current: _Open) -> None:
        """What looked like the end was the head of a remote traceback (Ray's ``RayTaskError(ValueError): ray::…``)."""
        current.kind, current.exception, current.frames = "frames", None, []
        current.more, current.code_next, current.dedent = 0, False, 0

    def _link(self, current: _Open, line: LogLine) -> None:
        """A further traceback of the same chain: what stood open becomes a link of it."""
        current.links.append(_message(current, ()))
        current.lines = [*current.lines, line]
        current.kind, current.frames, current.exception = "frames", [], None
        current.pending_link, current.more, current.code_next = False, 0, False
        current.dedent = _indent(line.text)

    def _goes_on(self, current: _Open, line: LogLine, text: str) -> bool:
        limit = (
            MAX_CONTINUATION
            if (line.rank is not None or line.local_rank is not None or line.task is not None)
            else MAX_BARE_CONTINUATION
        )
        if current.kind == "line":
            return False
        if current.more >= limit or line.gap or _in_table(text):
            return False
        if current.kind == "dump":
            return line.layers == current.exception_layers and not _opens(text) and not _BEGINS.match(text)
        nested = "Original Traceback (most recent call last)" in text or (
            current.exception is not None and "Caught " in current.lines[current.head].text
        )
        if _opens(text) and not nested:
            return False
        if current.kind == "cpp":
            return line.layers == current.exception_layers and not _is_cpp(line) and not _STEP.search(text)
        if _is_marked_on(line, current):
            return True
        if line.layers != current.exception_layers or _is_record(line, current.lines[current.head]):
            return False
        if nested:
            return True
        return not _BEGINS.match(text) and not (limit == MAX_BARE_CONTINUATION and _STEP.search(text))

    def _feed_frames(self, stack: list[_Open], line: LogLine, text: str) -> bool:
        """Inside tracebacks: several may be open where ranks without prefixes interleave line by line."""
        stripped = text.strip()
        inside = [item for item in stack if item.kind == "frames"]
        if _opens(text) and not (stripped.startswith("Original")):
            return False
        if _is_cpp(line) and not _is_cpp(inside[-1].lines[-1]):
            return False
        frame = _FRAME.match(text)
        if frame:
            target = min(inside, key=lambda item: len(item.frames))
            target.frames.append(Frame(frame["path"], digits.number(frame["line"]), (frame["function"] or "").strip()))
            target.code_next = True
            target.lines.append(line)
            return True
        target = next((item for item in inside if item.code_next), inside[0])
        if not stripped or _CARETS.match(text):
            target.lines.append(line)
            return True
        indented = _indent(text) > target.dedent
        looks = _EXCEPTION.match(stripped)
        if target.code_next and (indented or not looks):
            target.code_next = False
            last = target.frames[-1]
            target.frames[-1] = Frame(last.path, last.line, last.function, stripped)
            target.lines.append(line)
            return True
        if indented and (not looks or (target.frames and _indent(text) > target.dedent + 2)):
            target.lines.append(line)
            return True
        if not looks and target.headless:
            self._close(line.writer, target)
            return False
        if looks or not indented:
            ready = next((item for item in inside if item.frames and not item.code_next), target)
            return self._raise(ready, line, stripped, looks)
        return False

    def _raise(self, target: _Open, line: LogLine, stripped: str, looks: re.Match[str] | None) -> bool:
        """The exception line ends the frames."""
        target.kind = "text"
        target.head = len(target.lines)
        target.lines.append(line)
        target.exception = looks["type"] if looks else stripped.split(":", 1)[0].split("(", 1)[0][:80]
        target.order, target.more = self.order, 0
        target.exception_layers = line.layers
        return True

    # -------------------------------------------------------- beginning

    def _begin(self, writer: Writer, line: LogLine, text: str) -> None:
        within = _in_table(text)
        if within or _opens(text):
            message = _Open([line], "frames", order=self.order, dedent=_indent(text) if not within else 2)
            message.rank = self.table_rank.get(writer) if within else self.announced.pop(writer, None)
            message.aside = self._is_aside(writer)
            self._push(writer, message, keep_frames=True)
            return
        if text.startswith('  File "') and (
            _UNREADABLE.match(text) or (self._lost_head(writer) and _HEADLESS.match(text))
        ):
            message = _Open([line], "frames", order=self.order, headless=True)
            self._push(writer, message, keep_frames=True)
            self._feed_frames([message], line, text)
            return
        if _STARTS_ALONE.match(text.strip()) or "terminate called after throwing" in text:  # also glued to a bar
            self._push(writer, _Open([line], "dump", order=self.order, exception_layers=line.layers))
            return
        if _is_cpp(line):
            message = _Open([line], "cpp", order=self.order, exception_layers=line.layers)
            self._push(writer, message, keep_frames=True)
            return
        aside = bool(text.strip()) and self._is_aside(writer)
        may_be_bare = text[:1].isalpha() and (aside or "Error" in text or "Exception" in text)
        bare = _EXCEPTION.match(text) if may_be_bare else None
        if bare and (aside or "Error" in bare["type"] or "Exception" in bare["type"]):
            message = _Open([line], "text", order=self.order, exception=bare["type"], exception_layers=line.layers)
            message.aside = aside
            message.headless = is_by_hook(line) and self._lost_head(writer)
            self._push(writer, message)
            return
        if text.strip():
            self.said[writer] = text
            self.last = None
            self.done.append((self.order, len(self.done), Message((line,), text)))

    def _is_aside(self, writer: Writer) -> bool:
        """True right behind words that announce an exception which ends nothing; they announce one only."""
        if not (said := self.said.get(writer)) or not _ASIDE.match(said):
            return False
        self.said[writer] = ""
        return True

    def _lost_head(self, writer: Writer) -> bool:
        """True at the first words of a writer, but for lines of code: a traceback's beginning may be cut off."""
        return self.said.get(writer, "    ").startswith("    ")

    def _push(self, writer: Writer, message: _Open, keep_frames: bool = False) -> None:
        stack = self.open.setdefault(writer, [])
        for item in list(stack):
            if not (keep_frames and item.kind == "frames" and (writer.rank is None or message.kind == "cpp")):
                self._close(writer, item)
        self.open.setdefault(writer, []).append(message)
        self.last = (writer, message)
        message.bare_until = self.order

    # -------------------------------------------------------- ending

    def _close(self, writer: Writer, item: _Open) -> None:
        stack = self.open.get(writer, [])
        if item in stack:
            stack.remove(item)
        self.done.append((item.order, len(self.done), _message(item, tuple(item.links))))
        if self.last and self.last[1] is item:
            self.last = None

    def close_file(self, path: str) -> None:
        for writer, stack in self.open.items():
            for item in list(stack):
                if item.lines[0].source.path == path:
                    self._close(writer, item)

    def finish(self) -> tuple[Message, ...]:
        for writer in list(self.open):
            for item in list(self.open[writer]):
                self._close(writer, item)
        self.done.sort(key=lambda entry: entry[:2])
        return tuple(message for _, _, message in self.done)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" \t"))


def _message(item: _Open, links: tuple[Message, ...]) -> Message:
    lines = item.lines
    item.aside = item.aside or (bool(item.frames) and item.frames[0].function == _FINALIZERS)
    if item.kind == "frames":  # the log ends, or goes elsewhere, before the exception's own line
        text = lines[0].text.strip()
        fatal = is_by_hook(lines[0]) and not item.aside
        return Message(tuple(lines), text, tuple(item.frames), None, links, item.rank, None, fatal, 0, item.aside)
    text = "\n".join(line.text.strip("\n") for line in lines[item.head :]).strip()
    fatal = item.kind == "dump" or (is_by_hook(lines[item.head]) and not item.aside)
    frames, raised = tuple(item.frames), bool(item.frames) or item.headless
    return Message(
        tuple(lines), text, frames, item.exception, links, item.rank, None, fatal, item.head, item.aside, raised
    )


def _is_cpp(line: LogLine) -> bool:
    """True for a line of a C++ logger."""
    return not _CPP.isdisjoint(line.layers)


def _is_pythons(text: str) -> bool:
    """True for the last line of a Python exception; NCCL's and torch's own words look alike and go on a C++ message."""
    found = _EXCEPTION.match(text) if text[:1].isalpha() and ("Error" in text or "Exception" in text) else None
    return found is not None and not found["type"].startswith(("nccl", "torch.", "c10"))


def _is_marked_on(line: LogLine, current: _Open) -> bool:
    """True for ``[ERROR] …`` inside an exception's own message (torch_npu), which excepthook writes in one go."""
    layers = current.exception_layers
    by_hook = bool(current.frames) and layers[-1:] == (_EXCEPTHOOK,)
    return by_hook and line.layers == (*layers, "level") and line.stamp is None


def _is_record(line: LogLine, head: LogLine) -> bool:
    """True for a logger's next record behind one that names an exception: of another level, or naming one too."""
    return line.level is not None and (line.level != head.level or (line.stamp is not None and _is_pythons(line.text)))


def _is_bare_behind(line: LogLine, head: LogLine) -> bool:
    """True for a line without the prefixes of the message's own writer, but for what a collector put before both."""
    outer = line.layers
    if not outer:
        return True
    if len(outer) >= len(head.layers) or head.layers[: len(outer)] != outer or outer[-1] == _EXCEPTHOOK:
        return False
    return all(getattr(line, who) in (None, getattr(head, who)) for who in _OUTER)


def _whose_turn(stack: Sequence[_Open]) -> _Open:
    """The open message that goes on: of several ranks' exceptions without labels, woven line by line, each in turn."""
    woven = [item for item in stack if item.kind == "text"]
    return min(woven, key=lambda item: item.more) if len(woven) > 1 else stack[-1]


def _is_remote(item: _Open) -> bool:
    """True where frames and the real exception follow the exception's line: Ray's remote errors."""
    return "RayTaskError" in (item.exception or "") or "ray::" in item.lines[item.head].text


def is_by_hook(line: LogLine) -> bool:
    """True for a line whose only own mark is torch's excepthook prefix ``[rank3]: `` (2.4 and newer)."""
    return bool(line.layers) and line.layers[-1] == _EXCEPTHOOK and line.stamp is None and line.level is None


def chain(message: Message) -> Iterator[Message]:
    """The links of an exception chain, first raised first, the message itself last."""
    yield from message.caused_by
    yield message


def _opens(text: str) -> bool:
    """True for the first line of a traceback."""
    return _HEAD in text and _TRACEBACK.match(text) is not None


def _in_table(text: str) -> re.Match[str] | None:
    """The first line of a traceback in torchrun's table."""
    return _TABLE_TRACEBACK.match(text) if _HEAD in text else None
