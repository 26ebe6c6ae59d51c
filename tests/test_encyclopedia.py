"""The encyclopedia: every page stands alone, answers what it can, links only to what exists, and asks for nothing."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import packs
import pytest

from logsig import buckets, encyclopedia, match_text
from logsig.catalog import Catalog
from logsig.cli import run
from logsig.signature import Picture

MISSION = (
    "ddp-reduction-not-finished",
    "ddp-reducer-internal-assert",
    "autograd-backward-twice",
    "nccl-collective-timeout",
)
VOID = {"meta", "input", "br", "rect", "path", "link"}


@pytest.fixture(scope="module")
def site(catalog: Catalog) -> dict[str, str]:
    return dict(encyclopedia.build(catalog, match_text))


class Outline(HTMLParser):
    """Collects what a page consists of and refuses tags that aren't closed in their order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.ids: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append((tag, found))
        self.ids += [found["id"]] if "id" in found else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def test_every_signature_has_a_page_and_a_row(site: dict[str, str], catalog: Catalog) -> None:
    assert set(site) == {"index.html", *(f"{name}.html" for name in catalog.signatures)}
    rows = re.findall(r'<td><a href="([a-z0-9-]+)\.html">', site["index.html"])
    assert sorted(rows) == sorted(catalog.signatures)


def test_every_page_is_well_formed_and_every_link_leads_somewhere(site: dict[str, str]) -> None:
    outlines = {name: Outline(text) for name, text in site.items()}
    for name, outline in outlines.items():
        assert len(outline.ids) == len(set(outline.ids)), name
        for _, attributes in outline.tags:
            target = attributes.get("href") or ""
            if target and not target.startswith("http"):
                page, _, anchor = target.partition("#")
                assert page in ("", *site), (name, target)
                assert not anchor or anchor in outlines[page or name].ids, (name, target)


def test_no_page_asks_for_anything(site: dict[str, str]) -> None:
    for name, text in site.items():
        outline = Outline(text)
        assert not {tag for tag, _ in outline.tags} & {"link", "img", "iframe", "object", "form", "base"}, name
        assert not any({"src", "srcset", "action", "style", "onclick"} & set(found) for _, found in outline.tags), name
        assert "url(" not in text
        assert "@import" not in text


def test_only_our_own_script_and_style_may_run(site: dict[str, str]) -> None:
    for name in ("index.html", "cuda-oom.html"):
        policy = next(
            found["content"]
            for tag, found in Outline(site[name]).tags
            if found.get("http-equiv", "").startswith("Content")
        )
        assert policy is not None
        assert policy.startswith("default-src 'none';")
        for tag in ("script", "style"):
            for body in re.findall(rf"<{tag}>(.*?)</{tag}>", site[name], re.DOTALL):
                digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
                assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "<script" not in site["cuda-oom.html"]


@pytest.mark.parametrize("name", MISSION)
def test_the_four_first_signatures_answer_every_question(site: dict[str, str], name: str) -> None:
    text, outline = site[f"{name}.html"], Outline(site[f"{name}.html"])
    asked = {
        "symptom",
        "what",
        "mechanism",
        "scale",
        "hardware_or_software",
        "confirm",
        "remedies",
        "prevention",
        "alert",
    }
    asked |= {"resembles", "time_to_fix", "training_or_inference", "facts", "references"}
    assert asked <= set(outline.ids)
    assert all(f"<dt>{reader}</dt>" in text for reader in ("Management", "On call", "Engineer"))
    assert '<pre class="said">' in text
    assert "<pre><code>" in text
    assert all(
        word in outline.text
        for word in ("Cost:", "Verify:", "If ", "retry: restart after the fix", "wordings seen in torch")
    )
    scale = outline.text.partition("At 1, 8 and 1,000 GPUs ")[2].partition("Hardware or software")[0]
    assert re.search(r"\b(?:1|one)\b.*\b8\b.*1,000", scale, re.IGNORECASE)


def test_the_buckets_are_drawn_where_they_explain(site: dict[str, str], catalog: Catalog) -> None:
    drawn = {name.removesuffix(".html") for name, text in site.items() if '<svg class="buckets"' in text}
    assert drawn == {name for name in catalog.signatures if "picture" in catalog.page(name).guide}
    assert {"ddp-reduction-not-finished", "ddp-marked-ready-twice", "ddp-reducer-internal-assert"} <= drawn
    said = Outline(site["ddp-reduction-not-finished.html"]).text
    assert "1 of 2 missing: never starts" in said
    assert "ready, but waits its turn" in said


@pytest.mark.parametrize("scene", list(Picture))
def test_a_drawing_keeps_inside_its_canvas(scene: Picture) -> None:
    drawn = buckets.picture(scene)
    assert len(drawn.buckets) == 3
    for box in (*drawn.buckets, *drawn.steps):
        assert box.x >= 0
        assert box.x + box.wide <= drawn.width
        assert box.y + box.high <= drawn.height
    for step in drawn.steps:
        assert all(len(line) * 7.2 < step.wide for line in step.lines), step.lines
    for bucket in drawn.buckets:
        assert all(len(chip.name) * 7.3 + len(chip.mark) * 7 < bucket.wide - 34 for chip in bucket.chips)


def test_a_framework_shows_its_own_code(site: dict[str, str]) -> None:
    text = site["ddp-reduction-not-finished.html"]
    plain, _, rest = text.partition("<h4>With Accelerate</h4>")
    assert "DDPStrategy" not in plain.partition('id="remedies"')[2]
    assert "DistributedDataParallelKwargs(static_graph=True)" in rest
    assert "<h4>With Lightning</h4>" in rest


def test_what_nobody_wrote_is_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    text = packs.edited(
        ("guide:\n  mechanism: Warm things attract cats.\n", ""), ('confirm: ["Look at the keyboard."]\n', "")
    )
    pages = dict(encyclopedia.build(packs.catalog_of(packs.write(tmp_path / "pack", text)), match_text))
    ids = Outline(pages["cat-on-keyboard.html"]).ids
    assert ids == ["main", "symptom", "what", "remedies", "captures", "facts", "references"]


def test_hostile_text_of_a_pack_is_harmless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    bad = '"<script>alert(1)</script><img src=x onerror=y>\\e[31m\\u202e"'
    text = packs.edited(("Warm things attract cats.", bad), ("title: A cat walked over the keyboard", f"title: {bad}"))
    pages = dict(encyclopedia.build(packs.catalog_of(packs.write(tmp_path / "pack", text)), match_text))
    for page in pages.values():
        assert "alert(1)" in page
        assert "<script>alert" not in page
        assert "<img" not in page
        assert "\x1b" not in page
        assert "\u202e" not in page


def test_the_symptom_is_the_message_without_its_prefixes(site: dict[str, str]) -> None:
    line = re.search(r'<pre class="said">([^<]+)</pre>', site["ddp-reduction-not-finished.html"])
    assert line is not None
    assert line[1].startswith("RuntimeError: Expected to have finished reduction in the prior iteration")


def test_who_names_whom_is_seen_from_both_sides(site: dict[str, str], catalog: Catalog) -> None:
    entry = next(entry for entry in catalog.signatures.values() if entry.explains)
    other = entry.explains[0][0]
    assert f'<a href="{other}.html">' in site[f"{entry.id}.html"].partition('id="effects"')[2]
    assert f'<a href="{entry.id}.html">' in site[f"{other}.html"].partition('id="causes"')[2]


def test_the_same_library_gives_the_same_bytes(site: dict[str, str], catalog: Catalog) -> None:
    assert dict(encyclopedia.build(catalog, match_text)) == site


def test_the_command_writes_the_site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "deep" / "site"
    assert run(["encyclopedia", str(target)]) == 0
    assert "pages; open " in capsys.readouterr().out
    assert (target / "index.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert (target / "cuda-oom.html").exists()


def test_a_file_is_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "site").write_text("x")
    assert run(["encyclopedia", str(tmp_path / "site")]) == 2
    assert "is a file" in capsys.readouterr().err
