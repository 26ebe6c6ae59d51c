"""Replaces secrets, and identities where asked, by typed placeholders. Takes and gives text or a ``Diagnosis``.

Secrets are known by their form (a provider's prefix, the name they are assigned to, their place in an address), so
others may remain: nothing here calls a text safe. Identities (hosts, addresses, users, GPUs, pods) become numbered
placeholders, the same one for the same name, so that who did what to whom stays legible.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from logsig.late import late
from logsig.record import dataclass

if TYPE_CHECKING:
    from logsig.model import Diagnosis, Evidence

What = Literal["secrets", "all"]


@dataclass(frozen=True, slots=True)
class Form:
    """How one kind of text is known."""

    kind: str
    triggers: tuple[str, ...]
    """Text without any of these (in lower case) is not searched."""
    pattern: re.Pattern[str]
    """What matches is replaced, except a group ``keep`` at its start."""


def _form(kind: str, triggers: str, pattern: str, flags: int = 0) -> Form:
    return Form(kind, tuple(triggers.split()), re.compile(pattern, re.MULTILINE | flags))


_NAMED = late(
    r"(?:[A-Z0-9_]*_)?(?:API_?KEY|ACCESS_?KEY|SECRET_?KEY|PRIVATE_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE)"
    r"|[A-Z][A-Z0-9_]*_(?:KEY|PASS|PWD|AUTH|CREDENTIALS?)|AccountKey|SharedAccessKey|SharedAccessSignature"
    r"|(?:[a-z0-9]+[_-])*(?:(?:api|access|secret|private)[_-]?key|(?:client[_-]?)?secret|password|passwd|passphrase"
    r"|(?:access|auth|refresh|id|hf|bearer|api|user|session|login)[_-]?token)"
)
"""Names to which a secret is assigned. ``token`` or ``key`` alone are words of training."""
_OPTION = r"--(?:[a-z0-9]+[_-]){0,3}(?:token|password|secret|key)\s+(?!-)"
_QUERY = (
    r"(?:[?&](?:sig|signature|token|access_token|key|api_key|code)|x-amz-(?:signature|credential|security-token)"
    r"|x-goog-(?:signature|credential)|awsaccesskeyid)="
)
_HARMLESS = late(
    r"(?i:none|null|true|false|\*+|x+|<.*|\$.*|\d+(?:\.\d+)?|unset|redacted|masked|not|missing|\w*error|/.*)$"
)
_PEM_BEGIN = late(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY")
_PEM_END = late(r"-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----")
_PEM_BODY = late(r"[A-Za-z0-9+/=]{16,}|[A-Za-z0-9+/]+={0,2}\s*$")

ASSIGNED = _form(
    "secret",
    "key token secret pass pwd auth credential sharedaccess",
    rf"(?P<keep>(?<![\w-])(?P<name>[\w-]{{3,80}})[\"']?\s*[=:]\s*[\"']?|{_OPTION})[^\s\"'`,;&<>(){{}}\[\]]{{4,}}",
)
SECRETS: tuple[Form, ...] = (
    _form(
        "private key",
        "-----begin",
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----|$)",
    ),
    _form(
        "authorization",
        "authorization bearer",
        r"(?P<keep>authorization[\"']?\s*[:=]\s*[\"']?)[^\s\"'][^\"'\r\n]*|(?P<keep2>\bbearer )[A-Za-z0-9._~+/=-]{12,}",
        re.IGNORECASE,
    ),
    _form("JSON web token", "eyj", r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    _form("Hugging Face token", "hf_ api_org_", r"\b(?:hf|api_org)_[A-Za-z0-9]{16,}"),
    _form("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"\b(?:gh[pousr]|github_pat)_[A-Za-z0-9_]{20,}"),
    _form("GitLab token", "gl", r"\bgl(?:pat|ptt|rt|dt|cbt|ft|imt|agent|oas|soat|ffct)-[A-Za-z0-9_.-]{16,}"),
    _form("AWS key", "akia asia abia acca aroa aida", r"\b(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z0-9]{16}\b"),
    _form(
        "Google key",
        "aiza ya29. gocspx-",
        r"\b(?:AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{16,}|GOCSPX-[A-Za-z0-9_-]{16,})",
    ),
    _form(
        "Slack token",
        "xox xapp- hooks.slack.com",
        r"\b(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}|(?P<keep>hooks\.slack\.com/services/)[A-Za-z0-9/_-]+",
    ),
    _form(
        "API key",
        "sk- nvapi- pypi- npm_",
        r"\b(?:sk|nvapi)-[A-Za-z0-9_-]{20,}|\bpypi-[A-Za-z0-9_-]{40,}|\bnpm_[A-Za-z0-9]{30,}",
    ),
    _form(
        "W&B key",
        "wandb local-",
        r"\bwandb_v\d_[A-Za-z0-9_]{16,}|\blocal-[0-9a-f]{40}\b|(?P<keep>wandb login |wandb: api key: )[0-9a-f]{40}\b",
        re.IGNORECASE,
    ),
    _form("address with credentials", "://", r"(?P<keep>://)[^\s/:@\"'<>]*:[^\s/@\"'<>]+(?=@)"),
    _form("signed address", "? & x-amz x-goog awsaccesskeyid", rf"(?P<keep>{_QUERY})[^\s&\"'<>]{{4,}}", re.IGNORECASE),
    ASSIGNED,
    _form(
        "e-mail address",
        "@",
        r"(?<![\w.+/:@-])(?!git@)[A-Za-z0-9][\w.+-]*@(?!\w+\.(?:local|internal|cluster|lan)\b)"
        r"[A-Za-z0-9][\w-]*(?:\.[A-Za-z][\w-]*)+",
    ),
)
_OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
IDENTITIES: tuple[Form, ...] = (
    _form("gpu", "gpu-", r"\bGPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"),
    _form("ip", ".", rf"(?<![\w.-])(?!127\.0\.0\.1\b|0\.0\.0\.0\b){_OCTET}(?:\.{_OCTET}){{3}}(?!\.?\w)"),
    _form(
        "ip",
        ":",
        r"(?<![\w:.])(?:(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}|(?:[0-9a-f]{1,4}:){1,6}(?::[0-9a-f]{1,4}){1,6})(?![\w:])",
    ),
    _form("user", "/home/ /users/ \\users\\", r"(?P<keep>/home/|/Users/|/scratch/users/|C:\\Users\\)[\w.-]+"),
    _form("host", "ip-", r"\bip-\d{1,3}(?:-\d{1,3}){3}(?:\.[\w.-]*\w)?"),
)
_HOST_FACTS = ("host", "peer", "address", "node")


class Masker:
    """Replaces what it knows; remembers which placeholder stands for which name, and what it has replaced."""

    def __init__(self, what: What = "secrets", names: Mapping[str, str] = MappingProxyType({})) -> None:
        """``names`` are identities known beforehand: name -> kind."""
        self._forms = (*SECRETS, *IDENTITIES) if what == "all" else SECRETS
        self._identities = frozenset(form.kind for form in IDENTITIES)
        self._names = dict(names) if what == "all" else {}
        longest_first = sorted(self._names, key=len, reverse=True)
        self._known = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, longest_first)) or '(?!)'})(?![\w-])")
        self._placeholders: dict[str, str] = {}
        self._seen: dict[str, set[str]] = {}
        self.what = what
        self.in_key = False
        """Inside a private key whose lines come one by one."""

    def text(self, text: str) -> str:
        """Gives the text with placeholders; lines of a private key are recognised across calls."""
        lower = text.lower()
        if self.in_key or "-----begin" in lower:
            text = self._key(text)
        for form in self._forms:
            if any(trigger in lower for trigger in form.triggers):
                text = form.pattern.sub(partial(self._replace, form), text)
        return self._known.sub(self._named, text) if self._names else text

    def said(self) -> str | None:
        """Says what was masked, and that more may remain."""
        if not self._seen:
            return None
        kinds = ", ".join(f"{kind} ({len(seen)})" for kind, seen in sorted(self._seen.items()))
        return f"Masked by their form: {kinds}. What has no known form was not recognised."

    def _key(self, text: str) -> str:
        """Masks the body of a private key, whose lines may come one by one."""
        out = []
        for line in text.split("\n"):
            begins = _PEM_BEGIN.search(line)
            out.append(line if begins or not self.in_key else _PEM_BODY.sub("<private-key>", line))
            self.in_key = bool((self.in_key or begins) and not _PEM_END.search(line))
        return "\n".join(out)

    def _replace(self, form: Form, found: re.Match[str]) -> str:
        groups = found.groupdict()
        keep = groups.get("keep") or groups.get("keep2") or ""
        text = found.group()[len(keep) :]
        if form is ASSIGNED and ((groups["name"] and not _is_named(groups["name"])) or _is_harmless(text, keep)):
            return found.group()
        if form.kind in self._identities:
            return keep + self._identity(text, form.kind)
        return keep + self._placeholder(text, form.kind)

    def _named(self, found: re.Match[str]) -> str:
        return self._identity(found.group(), self._names[found.group()])

    def _placeholder(self, text: str, kind: str) -> str:
        self._seen.setdefault(kind, set()).add(text)
        return f"<{re.sub(r'[^a-z0-9]+', '-', kind.lower())}>"

    def _identity(self, name: str, kind: str) -> str:
        if name not in self._placeholders:
            self._seen.setdefault(kind, set()).add(name)
            self._placeholders[name] = f"<{kind}-{len(self._seen[kind])}>"
        return self._placeholders[name]


@lru_cache(maxsize=4096)
def _is_named(name: str) -> bool:
    return bool(_NAMED.fullmatch(name))


def _is_harmless(value: str, before: str) -> bool:
    """Tells a value that is no secret: a number, a word that says that there is none, a short word after a colon."""
    return bool(_HARMLESS.match(value)) or (value.isalpha() and len(value) < 8 and before.rstrip(" '\"").endswith(":"))


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


_CLOSED = {
    *("signature", "family", "title", "severity", "confidence", "retryable", "outcome", "rank_confidence", "grade"),
    *("scope", "state", "kind", "unit", "library_digest"),
}
"""Fields whose words come from closed lists or from the library."""


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


def triggers(what: What) -> list[str]:
    """Gives literals of which a line must hold one to be worth a closer look, in the usual cases of letters."""
    forms = (*SECRETS, *IDENTITIES) if what == "all" else SECRETS
    found = {trigger for form in forms for trigger in form.triggers}
    return sorted({spelled for text in found for spelled in (text, text.upper(), text.title(), text.capitalize())})


def names_in(nodes: Iterable[str]) -> dict[str, str]:
    """Gives node names as identities known beforehand."""
    return {name: "host" for name in nodes if name and not re.fullmatch(r"[\d.:]+|localhost", name)}
