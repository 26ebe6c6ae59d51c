"""Both literal engines: the same findings, whatever the bytes."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logsig.engine import make_engine, spellings

LITERALS = (
    "Traceback (most recent call last)",
    "CUDA error",
    "CUDA error: out of memory",
    "Error",
    "exit 1",
    "x=12",
    "'quoted' \"twice\"",
    "<NO_OTHER_FAILURES>",
    "a\\b path",
    "größe ≠ shape",
    "Watchdog caught collective operation timeout",
    "1234",
    "abab",
)
FIXTURES = Path(__file__).parent.parent / "fixtures"
LOGS = sorted(path for kind in ("*.txt", "*.log") for path in FIXTURES.rglob(kind))


def slow_search(literals, data):
    """The definition: every place where a spelling of a literal ends."""
    hits = set()
    for index, literal in enumerate(literals):
        for form in spellings(literal):
            at = data.find(form)
            while at >= 0:
                hits.add((index, at + len(form)))
                at = data.find(form, at + 1)
    return sorted(hits, key=lambda hit: (hit[1], hit[0]))


@pytest.fixture(params=["hyperscan", "python"])
def kind(request):
    if request.param == "hyperscan":
        pytest.importorskip("hyperscan")
    return request.param


def text_with(literals):
    """Bytes in which literals, parts of them and anything else stand."""
    forms = [form for literal in literals for form in spellings(literal)]
    part = st.sampled_from(forms).flatmap(lambda form: st.integers(0, len(form)).map(lambda size: form[:size]))
    piece = st.one_of(
        st.sampled_from(forms), part, st.sampled_from([b"\n", b"\0", b" ", b"[rank3]: ", b"7"]), st.binary(max_size=8)
    )
    return st.lists(piece, max_size=30).map(b"".join)


@settings(max_examples=150, deadline=None)
@given(data=text_with(LITERALS))
@pytest.mark.parametrize("name", ["hyperscan", "python"])
def test_finds_every_literal_in_any_bytes(name, data):
    if name == "hyperscan":
        pytest.importorskip("hyperscan")
    assert make_engine(LITERALS, name).find(data) == slow_search(LITERALS, data)


@settings(max_examples=40, deadline=None)
@given(
    literals=st.lists(
        st.text(st.characters(min_codepoint=32, max_codepoint=0x17F), min_size=1, max_size=12), min_size=1, max_size=30
    ),
    data=st.data(),
)
def test_engines_agree_on_any_literals(literals, data):
    pytest.importorskip("hyperscan")
    text = data.draw(text_with(literals))
    assert make_engine(literals, "python").find(text) == make_engine(literals, "hyperscan").find(text)


@pytest.mark.skipif(not LOGS, reason="no logs among the fixtures")
def test_engines_agree_on_every_fixture():
    pytest.importorskip("hyperscan")
    fast, plain = make_engine(LITERALS, "hyperscan"), make_engine(LITERALS, "python")
    for path in LOGS:
        data = path.read_bytes()
        assert plain.find(data) == fast.find(data), path


def test_python_engine_stays_right_when_the_log_changes():
    """Anchors are chosen for one kind of log; another kind must not hide a literal."""
    engine = make_engine(LITERALS, "python")
    quiet = b"step 1 loss 2.0\n" * 4000
    noisy = b"".join(b"rror %d Trace CUDA err Watch\n" % number for number in range(20000))
    for data in (quiet, noisy, noisy, quiet + b"CUDA error: out of memory\n", noisy + b"exit 1\n"):
        assert engine.find(data) == slow_search(LITERALS, data)


def test_reads_any_buffer(kind):
    engine = make_engine(["needle"], kind)
    data = b"hay needle hay"
    for buffer in (data, bytearray(data), memoryview(data), memoryview(bytearray(b"xx" + data))[2:]):
        assert engine.find(buffer) == [(0, 10)]


def test_finds_a_literal_inside_json_repr_and_xml(kind):
    engine = make_engine(['no "kernel" <image> for it\'s device'], kind)
    for line in (
        b'{"log": "no \\"kernel\\" <image> for it\'s device\\n"}',
        b"['no \"kernel\" <image> for it\\'s device\\n']",
        b'<stderr>no "kernel" &lt;image&gt; for it\'s device&#010;</stderr>',
        b"no &quot;kernel&quot; &lt;image&gt; for it&#x27;s device",
    ):
        assert [index for index, _ in engine.find(line)] == [0], line


def test_finds_nothing_without_literals(kind):
    assert make_engine([], kind).find(b"anything") == []


def test_one_literal_twice_is_two_findings(kind):
    assert make_engine(["ab", "ab"], kind).find(b"cab") == [(0, 3), (1, 3)]


def test_refuses_a_literal_that_cannot_be_searched(kind):
    with pytest.raises(ValueError, match="empty or contains NUL"):
        make_engine(["good", ""], kind)


def test_an_engine_that_is_not_installed_is_replaced(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "hyperscan", None)
    monkeypatch.delitem(__import__("sys").modules, "logsig.engine_hyperscan", raising=False)
    assert make_engine(["x"]).name == "python"
    with pytest.raises(ImportError):
        make_engine(["x"], "hyperscan")
