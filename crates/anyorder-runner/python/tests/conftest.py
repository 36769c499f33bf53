"""Fixtures for the tests of the agent."""

import os
import sys
from pathlib import Path
from typing import Iterator

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from engine import Engine


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """An engine for one project."""
    made = Engine(tmp_path, os.environ.get("ANYORDER_AGENT_PYTHON", sys.executable))
    yield made
    made.close()
