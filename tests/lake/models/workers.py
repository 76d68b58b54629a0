"""Processes that the kill tests start: ``python workers.py MODE LAKE BASE_URL COUNT``."""

from __future__ import annotations

import sys

from lake.lake import open_lake
from lake.models.config import make_model
from tests.lake.models.asking import AS_OF, config, requests

if __name__ == "__main__":
    mode, uri, base_url, count = sys.argv[1:]
    told = config(base_url, mode=mode, batch_wait_seconds=60.0, batch_poll_seconds=0.05)
    make_model(told, open_lake(uri), AS_OF).ask(requests(*(f"turn {i}" for i in range(int(count)))))
    sys.stdout.write("done\n")
