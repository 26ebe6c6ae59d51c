"""Replaces secrets, and identities where asked, by typed placeholders. Takes and gives text or a ``Diagnosis``.

Secrets are known by their form (a provider's prefix, the name they are assigned to, their place in an address), so
others may remain: nothing here calls a text safe. Identities (hosts, addresses, users, GPUs, pods) become numbered
placeholders, the same one for the same name, so that who did what to whom stays legible.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from logsig.model import Diagnosis, Evidence

What = Literal["secrets", "all"]

_VALUE = r"[^\s\"'`,;&<>(){}\[\]]"
_NAMED = (
    r"(?:[A-Z0-9_]*_)?(?:API_?KEY|ACCESS_?KEY|SECRET_?KEY|PRIVATE_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE)"
    r"|[A-Z][A-Z0-9_]*_(?:KEY|PASS|PWD|AUTH|CREDENTIALS?)|AccountKey|SharedAccessKey|SharedAccessSignature"
)
_NAMED_LOW = (
    r"(?:[a-z0-9]+[_-])*(?:(?:api|access|secret|private)[_-]?key|(?:client[_-]?)?secret|password|passwd|passphrase"
    r"|(?:access|auth|refresh|id|hf|bearer|api|user|session|login)[_-]?token)"
)
_AFTER_AUTHORIZATION = (
    r"(?i:(?<=authorization: )|(?<=authorization:)|(?<=authorization=)|(?<=authorization\": \")|(?<=authorization': '))"
)
_SECRETS: dict[str, str] = {
    "private key": r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----|$)",
    "JSON web token": r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    "Hugging Face token": r"\b(?:hf|api_org)_[A-Za-z0-9]{16,}",
    "GitHub token": r"\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}",
    "GitLab token": r"\bgl(?:pat|ptt|rt|dt|cbt|ft|imt|agent|oas|soat|ffct)-[A-Za-z0-9_.-]{16,}",
    "AWS key": r"\b(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z0-9]{16}\b",
    "Google key": r"\bAIza[A-Za-z0-9_-]{30,}|\bya29\.[A-Za-z0-9_-]{16,}|\bGOCSPX-[A-Za-z0-9_-]{16,}",
    "Slack token": (
        r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-[A-Za-z0-9-]{10,}|(?<=hooks\.slack\.com/services/)[A-Za-z0-9/_-]+"
    ),
    "API key": r"\b(?:sk|nvapi)-[A-Za-z0-9_-]{20,}|\bpypi-[A-Za-z0-9_-]{40,}|\bnpm_[A-Za-z0-9]{30,}",
    "W&B key": (
        r"\bwandb_v\d_[A-Za-z0-9_]{16,}|\blocal-[0-9a-f]{40}\b"
        r"|(?i:(?<=wandb login )|(?<=wandb: api key: ))[0-9a-f]{40}\b"
    ),
    "authorization": (
        _AFTER_AUTHORIZATION + r"(?i:(?:bearer|basic|token|digest|negotiate|aws4-hmac-sha256) +)?[^\s\"'][^\"'\r\n]*"
        r"|(?i:(?<=\bbearer ))[A-Za-z0-9._~+/=-]{12,}"
    ),
    "credentials in an address": r"(?<=://)[^\s/:@\"'<>]*:[^\s/@\"'<>]+(?=@)",
    "signature in an address": (
        r"(?i:(?<=[?&]sig=)|(?<=[?&]signature=)|(?<=x-amz-signature=)|(?<=x-amz-credential=)"
        r"|(?<=x-amz-security-token=)|(?<=x-goog-signature=)|(?<=x-goog-credential=)|(?<=awsaccesskeyid=)"
        r"|(?<=[?&]token=)|(?<=[?&]access_token=)|(?<=[?&]key=)|(?<=[?&]api_key=)|(?<=[?&]code=))[^\s&\"'<>]{4,}"
    ),
    "e-mail address": (
        r"(?<![\w.+/:@-])[A-Za-z0-9][\w.+-]*@(?!\w+\.(?:local|internal|cluster|lan)\b)"
        r"[A-Za-z0-9][\w-]*(?:\.[A-Za-z][\w-]*)+"
    ),
}
"""Kind -> the form by which it is known."""
_ASSIGNED = re.compile(
    rf"(?P<name>(?<![A-Za-z0-9_])(?:{_NAMED})|(?<![A-Za-z0-9_-])(?:{_NAMED_LOW}))"
    rf"(?P<sign>[\"']?\s*(?:=|:)\s*[\"']?)(?P<value>{_VALUE}{{4,}})"
)
_HARMLESS = re.compile(
    r"(?i:none|null|true|false|\*+|x+|<.*|\$.*|\d+(?:\.\d+)?|unset|redacted|masked|not|missing|\w*error|/.*)$"
)
_PEM_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----")
_PEM_BODY = re.compile(r"[A-Za-z0-9+/=]{16,}")

_OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_IDENTITIES: tuple[tuple[str, str], ...] = (
    ("gpu", r"\bGPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"),
    ("ip", rf"(?<![\w.-])(?!127\.0\.0\.1\b|0\.0\.0\.0\b){_OCTET}(?:\.{_OCTET}){{3}}(?!\.?\w)"),
    ("ip", r"(?<![\w:.])(?:[0-9a-f]{1,4}:){1,6}(?:(?::[0-9a-f]{1,4}){1,3}(?:%\w+)?|(?<=:\w{4}:)[0-9a-f]{4})(?![\w:])"),
    ("user", r"(?<=/home/)[\w.-]+|(?<=/Users/)[\w.-]+|(?<=/scratch/users/)[\w.-]+|(?<=C:\\Users\\)[\w.-]+"),
    ("host", r"\bip-\d{1,3}(?:-\d{1,3}){3}(?:\.[\w.-]*\w)?"),
)
_HOST_FACTS = ("host", "peer", "address", "node")


class Masker:
    """Replaces what it knows; remembers how often, and which placeholder stands for which name."""

    def __init__(self, what: What = "secrets", names: Mapping[str, str] = MappingProxyType({})) -> None:
        """``names`` are identities known beforehand: name -> kind."""
        self._seen: dict[str, set[str]] = {}
        self._placeholders: dict[str, str] = {}
        self._in_key = False
        patterns = [*_SECRETS.items(), *(_IDENTITIES if what == "all" else ())]
        known = sorted((name for name in names if len(name) > 1), key=len, reverse=True) if what == "all" else []
        self._names = {name: names[name] for name in known}
        parts = [f"(?P<k{at}>{pattern})" for at, (_, pattern) in enumerate(patterns)]
        parts += [rf"(?P<name>(?<![\w.-])(?:{'|'.join(map(re.escape, known))})(?![\w-]))"] if known else []
        self._kinds = [kind for kind, _ in patterns]
        self._pattern = re.compile("|".join(parts), re.MULTILINE)

    def text(self, text: str) -> str:
        """Gives the text with placeholders; lines of a private key are recognised across calls."""
        if self._in_key or _PEM_BEGIN.search(text):
            text = self._key(text)
        text = _ASSIGNED.sub(self._assigned, text)
        return self._pattern.sub(self._found, text)

    def said(self) -> str | None:
        """Says what was masked, and that more may remain."""
        if not self._seen:
            return None
        kinds = ", ".join(
            f"{len(seen)} {kind}{'' if len(seen) == 1 else 's'}" for kind, seen in sorted(self._seen.items())
        )
        return f"Masked by their form: {kinds}. What has no known form was not recognised."

    def _key(self, text: str) -> str:
        """Masks the body of a private key, whose lines may come one by one."""
        out = []
        for line in text.split("\n"):
            begins = _PEM_BEGIN.search(line)
            out.append(line if begins or not self._in_key else _PEM_BODY.sub("<private-key>", line))
            self._in_key = bool((self._in_key or begins) and not _PEM_END.search(line))
        return "\n".join(out)

    def _assigned(self, found: re.Match[str]) -> str:
        value = found["value"]
        if _HARMLESS.match(value) or (value.isalpha() and len(value) < 8 and found["sign"].strip() == ":"):
            return found.group()
        return f"{found['name']}{found['sign']}{self._placeholder(value, 'secret')}"

    def _found(self, found: re.Match[str]) -> str:
        group, text = found.lastgroup or "", found.group()
        if group == "name":
            return self._identity(text, self._names[text])
        kind = self._kinds[int(group[1:])]
        return self._placeholder(text, kind) if kind in _SECRETS else self._identity(text, kind)

    def _placeholder(self, text: str, kind: str) -> str:
        self._seen.setdefault(kind, set()).add(text)
        return f"<{re.sub(r'[^a-z0-9]+', '-', kind.lower())}>"

    def _identity(self, name: str, kind: str) -> str:
        if name not in self._placeholders:
            self._seen.setdefault(kind, set()).add(name)
            self._placeholders[name] = f"<{kind}-{len(self._seen[kind])}>"
        return self._placeholders[name]


def mask(found: Diagnosis, what: What = "secrets") -> Diagnosis:
    """Masks every text of a diagnosis, and says in its doubts what was masked."""
    masker = Masker(what, _names_of(found) if what == "all" else {})
    masked: Diagnosis = _rewrite(found, masker.text)
    said = masker.said()
    return replace(masked, doubts=(*masked.doubts, said)) if said else masked


def _names_of(found: Diagnosis) -> dict[str, str]:
    """Collects the identities that the analysis knows."""
    names: dict[str, str] = dict.fromkeys((*found.job.nodes, *(state.node or "" for state in found.ranks)), "host")
    for cause in (found.root_cause, *found.other_causes):
        for name, value in cause.facts.items() if cause else ():
            if isinstance(value, str) and name in (*_HOST_FACTS, "pod", "container", "user", "uuid"):
                kind = {"uuid": "gpu", "container": "pod"}.get(name, "host" if name in _HOST_FACTS else name)
                names.setdefault(value, kind)
    return {name: kind for name, kind in names.items() if name and not re.fullmatch(r"[\d.:]+|localhost", name)}


def _rewrite(value: Any, change: Callable[[str], str]) -> Any:
    """Gives the same value with every text changed; closed words and the library's own texts stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, tuple | list):
        return type(value)(_rewrite(item, change) for item in value)
    if isinstance(value, Mapping):
        return MappingProxyType({key: _rewrite(item, change) for key, item in value.items()})
    if is_dataclass(value) and not isinstance(value, type):
        if type(value).__name__ == "Evidence":
            return _rewrite_evidence(value, change)  # type: ignore[arg-type]
        changed = {each.name: getattr(value, each.name) for each in fields(value) if each.name not in _CLOSED}
        return replace(value, **{name: _rewrite(each, change) for name, each in changed.items()})
    return value


_CLOSED = frozenset(
    (
        "signature",
        "family",
        "title",
        "severity",
        "confidence",
        "retryable",
        "outcome",
        "rank_confidence",
        "grade",
        "scope",
    )
    + ("state", "kind", "unit", "library_digest")
)


def _rewrite_evidence(evidence: Evidence, change: Callable[[str], str]) -> Evidence:
    """Changes a quoted line and its neighbours in order, and finds the match again where it is whole."""
    numbers = [number for number, _ in evidence.context]
    texts = [change(raw) for _, raw in evidence.context]
    at = numbers.index(evidence.source.line) if evidence.source.line in numbers else None
    text = texts[at] if at is not None and evidence.context[at][1] == evidence.text else change(evidence.text)
    span = _moved(evidence, text, change) if evidence.match else None
    return replace(
        evidence,
        source=_rewrite(evidence.source, change),
        text=text,
        node=change(evidence.node) if evidence.node else evidence.node,
        match=span,
        context=tuple(zip(numbers, texts, strict=True)),
    )


def _moved(evidence: Evidence, text: str, change: Callable[[str], str]) -> tuple[int, int] | None:
    start, end = evidence.match or (0, 0)
    if text == evidence.text:
        return start, end
    body = change(evidence.text[start:end])
    found = text.find(body, max(0, start - (len(evidence.text) - len(text)) - 1)) if body else -1
    found = text.find(body) if found < 0 and body else found
    return (found, found + len(body)) if found >= 0 else None


def names_in(nodes: Iterable[str]) -> dict[str, str]:
    """Gives node names as identities known beforehand."""
    return {name: "host" for name in nodes if name and not re.fullmatch(r"[\d.:]+|localhost", name)}
