"""A conversation of a hundred thousand messages takes the time of a hundred thousand, not of its square."""

from __future__ import annotations

from transforms.policy import IngestPolicy
from transforms.readers.batch import Collector
from transforms.readers.chatgpt_export import _Tree


class Key(str):
    """An id that counts how often it is looked for."""

    __slots__ = ()
    looks = 0

    def __hash__(self) -> int:
        Key.looks += 1
        return super().__hash__()


def looks_at(count: int) -> int:
    """Looks at ids in the reading of one path."""
    nodes: dict[str, object] = {
        Key(n): {
            "parent": str(n - 1) if n else None,
            "message": {"id": f"m{n}", "author": {"role": "user"}, "content": {"parts": [f"hi {n}"]}},
        }
        for n in range(count)
    }
    Key.looks = 0
    collector = Collector("f", IngestPolicy())
    _Tree(collector, IngestPolicy(), 1, names_user=False).read(
        {"id": "c", "create_time": 1.7e9, "current_node": str(count - 1), "mapping": nodes}
    )
    [batch] = collector.flush()
    assert batch.drafts.height == count
    return Key.looks


def test_a_path_of_chatgpt_is_read_in_linear_time() -> None:
    assert looks_at(400) < 3 * looks_at(200)
