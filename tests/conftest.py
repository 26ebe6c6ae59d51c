"""What many tests share: the library, loaded once."""

from __future__ import annotations

import pytest
from hypothesis import settings

from logsig import load_catalog
from logsig.catalog import Catalog

settings.register_profile("default", deadline=None)  # a busy machine is no failure
settings.register_profile("fuzz", deadline=None, max_examples=5000)
settings.load_profile("default")


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load_catalog()
