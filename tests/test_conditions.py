"""A remedy's condition in words: one kind of expression each, and every condition of the library."""

from __future__ import annotations

import pytest

from logsig.catalog import Catalog
from logsig.conditions import in_words

WORDS = {
    "reason": "what FSDP says",
    "function": "operation (or kernel) that made it",
    "tried_bytes": "size of the block that was refused, as printed",
    "variant": "set where the loss is no scalar",
    "shape": "shape on this side",
    "other_shape": "shape on the other side",
}


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("find_unused_on", "find_unused_parameters=True is on already"),
        ("not find_unused_on", "find_unused_parameters isn't on yet"),
        ("flags.static_graph", "static_graph is set in the log"),
        ("function", "the log tells the operation that made it"),
        ("not function and not reason", "the log doesn't tell the operation that made it or what FSDP says"),
        ("reason and 'bf16' in reason", "“bf16” is in what FSDP says"),
        ("'a' in reason|lower or 'b' in (reason or '').lower()", "“a” or “b” is in what FSDP says"),
        ("not (reason and ('a' in reason or 'b' in reason))", "“a” or “b” isn't in what FSDP says"),
        ("function and function.startswith('cu')", "the operation that made it begins with “cu”"),
        ("tried_bytes and tried_bytes > 2**37", "the size of the block that was refused is more than 128 GiB"),
        ("timeout_ms >= 600000", "the limit in milliseconds is at least 600 s"),
        ("code in [8, 109]", "a numeric code is 8 or 109"),
        ("framework == 'lightning' or framework == none", "the framework is Lightning or the log doesn't tell the framework"),
        ("scope == 'one-rank' or scope == 'several-ranks'", "the failure's scope is one rank or several ranks"),
        ("shape and other_shape and shape != other_shape", "the shape on this side differs from the shape on the other side"),
        ("variant", "the loss is no scalar"),
        ("not variant", "it isn't so that the loss is no scalar"),
        ("torch_at_least('2.4')", "torch is “2.4” or newer"),
        ("last_step is number", "the log tells the last step"),
        ("first_rank not in silent_ranks", "the rank that failed first isn't one of the ranks expected but unheard"),
        ("suspects and (all_ranks or not first_step)", "the ledger points at a rank and (every rank raised the same or at least one step had finished)"),
        ("x ** y > 3", "x ** y > 3"),
        ("tried_bytes > 9**9999999", "tried_bytes > 9**9999999"),
        ("{% bad", "{% bad"),
    ],
)  # fmt: skip
def test_a_condition_is_put_into_words(condition: str, words: str) -> None:
    assert in_words(condition, WORDS) == words


def test_hardly_a_condition_of_the_library_stays_as_written(catalog: Catalog) -> None:
    raw, all_ = [], 0
    for name in catalog.signatures:
        page = catalog.page(name)
        for remedy in page.remedies:
            if remedy.when is not None:
                all_ += 1
                words = in_words(remedy.when, page.captures)
                raw += [remedy.when] if words == remedy.when else []
                assert "{}" not in words
    assert all_ > 300
    assert len(raw) * 50 < all_, raw
