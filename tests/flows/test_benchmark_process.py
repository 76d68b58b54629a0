"""A measured night runs as where it is installed: without what only tests bring."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.flows.lakes import environment

CODE = """
import sys
from importlib.util import find_spec
from benchmarks.__main__ import hide

assert find_spec("pandas") is not None
hide("pandas")
assert find_spec("pandas") is None
import duckdb, lancedb, polars, pyarrow
table = pyarrow.table({"number": [1]})
assert lancedb.connect(sys.argv[1]).create_table("one", table).count_rows() == 1
assert "pandas" not in sys.modules
"""


def test_a_hidden_package_is_as_one_that_is_not_installed(tmp_path: Path) -> None:
    call = [sys.executable, "-c", CODE, str(tmp_path)]
    run = subprocess.run(call, env=environment(), capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
