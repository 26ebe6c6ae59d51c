"""Matching: errors that speak are heard, quoted ones are not; the more specific signature wins."""

from __future__ import annotations

import pytest
from logs import text, traceback

from logsig import match_text
from logsig.catalog import Catalog
from logsig.match import convert, speaks

REDUCTION = "Expected to have finished reduction in the prior iteration before starting a new one."


@pytest.mark.parametrize(
    "lead",
    [
        "",
        "RuntimeError: ",
        "torch.distributed.DistBackendError: ",
        "torch.distributed.",
        "  what():  ",
        "[Rank 3] ",
        "[PG ID 0 PG GUID 0(default_pg) Rank 3] ",
        "ERROR: ",
        "Training failed: ",
        "[/x/pair.cc:5] ",
    ],
)
def test_an_error_may_begin_after(lead: str) -> None:
    assert speaks(lead)


@pytest.mark.parametrize(
    "lead",
    [
        "HINT: If you see 'RuntimeError: ",
        "note: see RuntimeError: ",
        "  notes: 'check whether ",
        'raise RuntimeError("',
        "# ",
        "the text `",
        "docs say that an error like RuntimeError: ",
        "see torch.distributed.",
        "The run is over. ",
    ],
)
def test_an_error_is_only_quoted_after(lead: str) -> None:
    assert not speaks(lead) or lead == "# "


@pytest.mark.parametrize(
    "line",
    [
        f"HINT: If you see 'RuntimeError: {REDUCTION}' set the flag",
        f"  notes: 'check \"{REDUCTION}\"'",
        f'    raise RuntimeError("{REDUCTION}")',
        f"run_name: repro-{REDUCTION}",
    ],
)
def test_quoted_text_is_no_event(catalog: Catalog, line: str) -> None:
    """Help, configuration and source lines raise no alarm."""
    assert [event.signature for event in match_text(line + "\n", catalog) if event.role != "notice"] == []


def test_specific_signature_beats_the_net(catalog: Catalog) -> None:
    """One message is one failure."""
    found = match_text(
        text(
            traceback(
                0,
                f"RuntimeError: {REDUCTION} This error indicates that your module has parameters that were not used in producing loss.",
            )
        ),
        catalog,
    )
    assert [event.signature for event in found] == ["ddp-reduction-not-finished"]


def test_own_failure_before_a_peer_error_in_one_chain_counts(catalog: Catalog) -> None:
    """What was raised first is the cause, what was raised while handling it is not."""
    log = text(
        traceback(0, "KeyError: 'a'"),
        ["[rank0]: ", "[rank0]: During handling of the above exception, another exception occurred:", "[rank0]: "],
        traceback(0, "RuntimeError: [/x/pair.cc:553] Connection closed by peer [127.0.0.1]:1"),
    )
    assert [event.signature for event in match_text(log, catalog)] == ["python-exception"]


def test_facts_are_converted_by_type() -> None:
    """Bytes, lists and numbers come out as such; nonsense stays away."""
    types = {
        "tried_bytes": "bytes",
        "param_indices": "ints",
        "param_names": "strs",
        "seq": "int",
        "timeout_s": "secs",
        "find_unused_on": "flag",
    }
    groups = {
        "tried_bytes": "1.50 GiB",
        "param_indices": "3 4",
        "param_names": "a.w, b.w",
        "seq": "x",
        "timeout_s": "8 min",
        "find_unused_on": "yes",
    }
    assert convert(groups, types) == {
        "tried_bytes": 1610612736,
        "param_indices": [3, 4],
        "param_names": ["a.w", "b.w"],
        "timeout_s": 480.0,
        "find_unused_on": True,
    }
