"""What tests everywhere may ask for."""

from collections.abc import Iterator

import jax
import pytest


@pytest.fixture
def x64() -> Iterator[None]:
    """Compute in double precision while the test runs."""
    with jax.enable_x64(True):
        yield
