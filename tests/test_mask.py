"""Masking: planted secrets never reach a format that goes to others, and the diagnosis stays what it was."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from diagnoses import key_error, quote, unused_one

import logsig
from logsig import cli
from logsig.mask import Masker, mask
from logsig.report import formats, is_shareable

PEM = "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MhgHcTz6sE2I2yPB"
SECRETS = {
    "huggingface": ("login with hf_AbCdEfGhIjKlMnOpQrStUvWx", "hf_AbCdEfGhIjKlMnOpQrStUvWx"),
    "wandb": ("WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567", "0123456789abcdef0123456789abcdef01234567"),
    "wandb-login": ("wandb login 0123456789abcdef0123456789abcdef01234567", "0123456789abcdef0123456789abcdef01234567"),
    "github": ("ghp_0123456789abcdefghijABCDEFGHIJ012345 used", "ghp_0123456789abcdefghijABCDEFGHIJ012345"),
    "github-fine": (
        "github_pat_11ABCDEFG0123456789_abcdefghijklmnop",
        "github_pat_11ABCDEFG0123456789_abcdefghijklmnop",
    ),
    "gitlab": ("token glpat-AbCdEfGhIjKlMnOpQrSt", "glpat-AbCdEfGhIjKlMnOpQrSt"),
    "aws": ("key AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
    "aws-secret": (
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    ),
    "gcp": ("AIzaSyA-1234567890abcdefghijklmnopqrstu", "AIzaSyA-1234567890abcdefghijklmnopqrstu"),
    "azure-sas": ("https://x.blob.core.windows.net/c?sv=2022&sig=aBcD%2Fefgh%3D", "aBcD%2Fefgh%3D"),
    "azure-key": ("AccountName=a;AccountKey=QWxhZGRpbjpvcGVuIHNlc2FtZQ==;E=f", "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
    "slack": ("xoxb-123456789012-AbCdEfGhIj", "xoxb-123456789012-AbCdEfGhIj"),
    "slack-hook": ("https://hooks.slack.com/services/T00/B00/XyZ123", "T00/B00/XyZ123"),
    "openai": ("sk-proj-AbCdEfGhIjKlMnOpQrStUvWx", "sk-proj-AbCdEfGhIjKlMnOpQrStUvWx"),
    "jwt": ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.dozjgNryP4J3jKmv", "eyJzdWIiOiIxMjM0NTYifQ"),
    "assigned": ("MY_SERVICE_TOKEN=correct-horse", "correct-horse"),
    "password": ("PASSWORD: 'hunter2!x'", "hunter2!x"),
    "json": ('{"client_secret": "battery-staple"}', "battery-staple"),
    "option": ("train.py --hf-token s3cr3tvalue", "s3cr3tvalue"),
    "header": ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA=="),
    "bearer": ("curl -H 'authorization: Bearer abcdef.ghijkl-mnop'", "abcdef.ghijkl-mnop"),
    "url": ("fetch https://alice:open-sesame@mirror.example/x", "open-sesame"),
    "signed": ("https://b.s3.amazonaws.com/k?X-Amz-Credential=AKIDX&X-Amz-Signature=deadbeef01", "deadbeef01"),
    "mail": ("contact jane.doe+ml@example.com", "jane.doe+ml@example.com"),
    "pem": (f"-----BEGIN PRIVATE KEY-----\\n{PEM}\\n-----END PRIVATE KEY-----", PEM),
}


def planted(text):
    """A diagnosis whose texts hold a secret wherever a log can bring one."""
    base = unused_one()
    cause = replace(
        base.root_cause,
        summary=f"{base.root_cause.summary} {text}",
        evidence=(quote(31, text, context=((30, text), (31, text)), rank=1), *base.root_cause.evidence),
        facts={"message": text, "keys": [text]},
    )
    states = tuple(replace(state, what=text) for state in base.ranks)
    return replace(base, root_cause=cause, ranks=states, because=(text,), doubts=(text,), unexplained=(quote(1, text),))


@pytest.mark.parametrize("name", SECRETS)
def test_no_secret_reaches_a_shareable_format(name, monkeypatch, tmp_path):
    """The canary: planted everywhere, found nowhere, by the command line's own defaults."""
    text, secret = SECRETS[name]
    monkeypatch.setattr(logsig, "analyze", lambda *_, **__: planted(text))
    monkeypatch.setattr(logsig, "load_catalog", lambda *_, **__: SimpleNamespace(doubts=()))
    monkeypatch.chdir(tmp_path)
    shareable = [each for each in formats() if is_shareable(each)]
    assert set(shareable) == {"html", "markdown", "sarif", "junit", "github", "gitlab", "k8s"}
    assert cli.run(["x.log", "-o", "out.txt", *(word for each in shareable for word in ("-O", f"{each}={each}"))]) == 0
    assert [each for each in shareable if secret in (tmp_path / each).read_text()] == []
    assert secret in (tmp_path / "out.txt").read_text()


def test_terminal_and_json_mask_on_request(monkeypatch, capsys):
    """``--mask`` holds for every format, also bare before a path."""
    text, secret = SECRETS["huggingface"]
    monkeypatch.setattr(logsig, "analyze", lambda *_, **__: planted(text))
    monkeypatch.setattr(logsig, "load_catalog", lambda *_, **__: SimpleNamespace(doubts=()))
    for form in ("text", "json", "jsonl", "gcc"):
        assert cli.run(["-f", form, "--mask", "x.log"]) == 0
        assert secret not in capsys.readouterr().out


def test_what_was_masked_is_said():
    """A sentence in the doubts says what was masked, and doesn't call it safe."""
    said = mask(planted(SECRETS["slack"][0])).doubts[-1]
    assert said == "Masked by their form: Slack token (1). What has no known form was not recognised."


def test_private_key_over_several_lines():
    """The lines of a key are masked one by one, also behind a prefix; what follows is not."""
    masker = Masker()
    lines = [
        "[rank0]: -----BEGIN RSA PRIVATE KEY-----",
        f"[rank0]: {PEM}",
        "[rank0]: abcd=",
        "[rank0]: -----END RSA PRIVATE KEY-----",
    ]
    masked = [masker.text(line) for line in lines]
    assert PEM not in " ".join(masked)
    assert "abcd=" not in " ".join(masked)
    assert masker.text(f"digest {PEM}") == f"digest {PEM}"


@pytest.mark.parametrize(
    "text",
    [
        "KeyError: 'labels'",
        "step=12 tokens=64 token: 5 key: value",
        "PASSWORD=None API_KEY=*** HF_TOKEN=$HF_TOKEN SECRET=<redacted>",
        "tokenizer_key=abcdef cache_key=0123abcd",
        "[default3]:[rank3]:[E711 14:30:02.120608166 ProcessGroupNCCL.cpp:629] [Rank 3] Watchdog caught",
        '  File "/opt/train/train.py", line 88, in collate',
        "@record def main(): # see git@github.com:org/repo.git",
        "https://pytorch.org/docs/stable/elastic/errors.html",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "RuntimeError: size mismatch, key layers.0.attn.k_proj.weight: torch.Size([4, 4])",
    ],
)
def test_ordinary_lines_stay(text):
    """What only looks like a secret is left alone, and so is every mark that tells a rank or a cause."""
    assert Masker().text(text) == text


def test_identities_become_stable_placeholders():
    """The same name is the same placeholder everywhere, so that who did what stays legible."""
    base = key_error()
    evidence = quote(
        19, "node-0: connect to 10.1.2.3 from /home/alice/x failed; 10.1.2.4", "failed", node="node-0", rank=1
    )
    masked = mask(replace(base, root_cause=replace(base.root_cause, evidence=(evidence,))), "all")
    shown = masked.root_cause.evidence[0]
    assert shown.text == "<host-1>: connect to <ip-1> from /home/<user-1>/x failed; <ip-2>"
    assert shown.text[slice(*shown.match)] == "failed"
    assert (shown.node, masked.first_failing_node, masked.ranks[0].node) == ("<host-1>",) * 3


def test_match_is_found_again_behind_a_secret():
    """The span of the match moves with the text."""
    text = "HF_TOKEN=hf_AbCdEfGhIjKlMnOpQrStUvWx then KeyError: x"
    base = key_error()
    masked = mask(replace(base, root_cause=replace(base.root_cause, evidence=(quote(1, text, "KeyError: x"),))))
    shown = masked.root_cause.evidence[0]
    assert shown.text[slice(*shown.match)] == "KeyError: x"


LOG = """\
node-7: export HF_TOKEN=hf_AbCdEfGhIjKlMnOpQrStUvWx
[rank1]: Traceback (most recent call last):
[rank1]:   File "/home/alice/train.py", line 88, in collate
[rank1]:     labels = batch["labels"]
[rank1]: KeyError: 'labels'
"""


def test_masked_log_gives_the_same_answer(tmp_path, capsys):
    """``logsig mask LOG`` keeps every line, and its diagnosis."""
    (tmp_path / "a.log").write_text(LOG)
    assert cli.run(["mask", str(tmp_path / "a.log"), "-o", str(tmp_path / "b.log")]) == 0
    masked = (tmp_path / "b.log").read_text()
    assert masked.splitlines()[1:] == LOG.splitlines()[1:]
    assert masked.splitlines()[0] == "node-7: export HF_TOKEN=<hugging-face-token>"
    assert "Hugging Face token (1)" in capsys.readouterr().err
    first, second = (logsig.diagnose([tmp_path / name]) for name in ("a.log", "b.log"))
    assert first.root_cause.signature == second.root_cause.signature
    assert (first.first_failing_rank, first.grade) == (second.first_failing_rank, second.grade)


def test_mask_all_masks_users(tmp_path, capsys):
    """``--all`` replaces identities as well."""
    (tmp_path / "a.log").write_text(LOG)
    assert cli.run(["mask", "--all", str(tmp_path / "a.log")]) == 0
    assert "/home/<user-1>/train.py" in capsys.readouterr().out
