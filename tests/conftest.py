"""What many tests share: the library, loaded once."""

from __future__ import annotations

import signal

import pytest
from hypothesis import settings

from logsig import load_catalog
from logsig.catalog import Catalog

settings.register_profile("default", deadline=None)  # a busy machine is no failure
settings.register_profile("fuzz", deadline=None, max_examples=5000)
settings.load_profile("default")

for name in ("SIGINT", "SIGHUP"):  # a shell's background job and nohup ignore them, and so would all that tests start
    if getattr(signal, name, None) and signal.getsignal(getattr(signal, name)) is signal.SIG_IGN:
        signal.signal(getattr(signal, name), signal.SIG_DFL)


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load_catalog()
