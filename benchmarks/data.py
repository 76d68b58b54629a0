"""Input of the benchmarks, made by a seed: episodes of many tenants over a year, in the row shape."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson

START = datetime(2026, 1, 1, tzinfo=UTC)
AS_OF = datetime(2026, 12, 31, tzinfo=UTC)
DAYS = 360
WORDS = (Path(__file__).parent / "words.txt").read_text("utf-8").split()
WEIGHTS = [1 / (rank + 3) for rank in range(len(WORDS))]


def write_jsonl(path: Path, rows: int, seed: int = 7) -> None:
    """Write episodes as slowwave JSONL: about 350 bytes a row, 2 % with an email, a phone or a key."""
    rng = random.Random(seed)
    users = max(8, rows // 250)
    words = rng.choices(WORDS, WEIGHTS, k=200_003)
    with path.open("wb") as file:
        for i in range(rows):
            user = int(users * rng.random() ** 2)
            at = START + timedelta(seconds=DAYS * 86_400 * i / rows)
            begin, length = rng.randrange(200_000 - 40), rng.randrange(8, 38)
            text = " ".join(words[begin : begin + length])
            if rng.random() < 0.02:
                text += rng.choice(
                    (" write to a.b@example.com", " call +44 20 7946 0958", " key sk-FAKE" + "a1B2" * 9)
                )
            file.write(
                orjson.dumps(
                    {
                        "id": f"m{i}",
                        "tenant_id": f"tenant-{user % 200:03d}",
                        "user_id": f"user-{user:06d}",
                        "agent_id": "desk",
                        "session_id": f"s-{user}-{i // 20_000}",
                        "role": "user" if i % 2 else "assistant",
                        "content": text,
                        "event_at": at.isoformat(),
                        "retention_tier": "long_term",
                    },
                    option=orjson.OPT_APPEND_NEWLINE,
                )
            )
