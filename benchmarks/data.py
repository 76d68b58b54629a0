"""Input of the benchmarks, made by a seed: episodes of many tenants over a year, in the row shape."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson

START = datetime(2026, 1, 1, tzinfo=UTC)
AS_OF = datetime(2026, 12, 31, tzinfo=UTC)
DAYS = 360
WORDS = """
account agree airport allergic answer apartment apply arrive autumn backup balance bank battery bicycle bill
blanket booking branch bread bridge budget build bus button cable calendar call camera cancel cat change charge
check chicken city claim class clean clinic clock cloud coffee colour compare concert contract cook copy cost
course cousin cover customer daily data deadline decide deliver deploy design desk diary dinner doctor dog door
draft drive early edit email engine error evening event exam exercise export family feature ferry file filter
finish fix flight floor flower folder forecast forget form garden glass grocery group guest guitar handle heat
holiday home hotel hour house idea import index insurance invoice island issue job journey kitchen laptop late
learn lesson letter library light list location log lunch machine manager map market meal meeting memory menu
message meter milk mirror module month morning mother mountain museum music neighbour network night note number
offer office oil online open order oven package page paint paper parent park password patch pay permit phone
photo piano picture plan plane plant platform plumber policy pool prefer present price printer project queue
question quick quiet radio rain read receipt recipe record refund remember renew rent repair report request
reserve restart result return review ride river road room route run salad sale save schedule school screen sea
search seat server service shelf ship shop shower sign sister size ski sleep slow soap software solution soup
spring staff stairs station stock stone storage store street student summer supplier support switch table talk
taxi teach team temperature tenant test theatre ticket timetable tool tour town track trade train translate
travel tree trial trip truck update upgrade user vacation vegetable version village visit volume wait walk wall
warehouse warranty wash water weather week window winter wood work write year yesterday zone
""".split()
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
                text += rng.choice((" write to a.b@example.com", " call +44 20 7946 0958", " key sk-FAKE" + "a1B2" * 9))
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
