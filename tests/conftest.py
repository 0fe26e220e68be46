"""What tests everywhere may ask for."""

import signal
from collections.abc import Iterator

import jax
import pytest


@pytest.fixture(autouse=True, scope="session")
def ctrl_c() -> None:
    """Let tests press Ctrl-C, which a shell that runs them in the background has told them to ignore."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def x64() -> Iterator[None]:
    """Compute in double precision while the test runs."""
    with jax.enable_x64(True):
        yield
