"""What many tests share: the library, loaded once."""

from __future__ import annotations

import pytest

from logsig import load_catalog
from logsig.catalog import Catalog


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load_catalog()
