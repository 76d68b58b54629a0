"""Working memory of the subject: sessions of its own, and its part in sessions of nobody in particular."""

from __future__ import annotations

from flows.erase_landing import lines_that_go
from flows.erase_objects import note
from flows.erase_work import Work
from lake.online import working_file, working_log
from lake.online.working_file import PREFIX, Write
from lake.online.working_log import SessionName
from transforms.subjects import Subject


def count_working(work: Work) -> int:
    """Lines of the subject in files of sessions; nothing is written."""
    return sum(_rest(work, key, working_file.read(work.lake, key))[1] for key in _keys(work))


def drop_working(work: Work, store: str) -> None:
    """Count them under a store's name, keep the count, and take them out.

    What was said of a session as a whole (the state of its task, its summary) goes with the rows of anybody
    who took part: it may be about them.
    """
    note(work, store, count_working(work))
    work.save_targets()  # ids and sentences of rows that are nowhere else by now
    work.save()
    for key in _keys(work):

        def step(held: bytes, key: str = key) -> Write | None:
            rest, gone = _rest(work, key, held)
            return Write(rest, is_all=True) if gone else None

        working_file.change(work.lake, key, step)


def _keys(work: Work) -> list[str]:
    """Files of the tenant's bucket."""
    folders = [f"{PREFIX}/{bucket:03d}" for bucket in work.buckets]
    return [e.key for f in folders for e in work.lake.storage.entries(f) if e.size_bytes]


def _rest(work: Work, key: str, lines: bytes) -> tuple[bytes, int]:
    """What remains of a file, and how many lines go."""
    if not lines:
        return b"", 0
    name = working_log.name_of(lines, key)
    parts = lines.splitlines(keepends=True)
    if name.tenant != work.tenant or _is_held(work, name):
        return lines, 0
    if _covers(work.aim.subject, name):
        return b"", len(parts)
    rows = [place for place, line in enumerate(parts) if line.startswith(working_log.ROW)]
    goes = lines_that_go(work, [parts[place] for place in rows])
    gone = {place for place, is_gone in zip(rows, goes, strict=True) if is_gone}
    if gone or _took_part(work, key, lines):
        gone |= {n for n, line in enumerate(parts) if line.startswith(working_log.WHOLE)}
    return b"".join(line for place, line in enumerate(parts) if place not in gone), len(gone)


def is_aimed(work: Work, line: bytes) -> bool:
    """Whether a line of a session's file should have gone: the name of one of the subject's, or its row."""
    if line.startswith(working_log.ROW):
        return lines_that_go(work, [line])[0]
    if not line.startswith(working_log.NAME):
        return False
    name = working_log.name_of(line + b"\n", PREFIX)
    return _covers(work.aim.subject, name) and not _is_held(work, name)


def _is_held(work: Work, name: SessionName) -> bool:
    return any(_covers(hold, name) for hold in work.aim.holds)


def _covers(subject: Subject, name: SessionName) -> bool:
    """Whether a session is the subject's own, or one of its."""
    if subject.memory is not None or subject.tenant != name.tenant:
        return False
    return all(getattr(subject, n) in (None, getattr(name, n)) for n in ("user", "agent", "session"))


def _took_part(work: Work, key: str, lines: bytes) -> bool:
    """Whether rows of the subject were there that are no longer."""
    log = working_log.parsed(work.lake, key, lines)
    ids = set(work.values("episode", "wanted"))
    told = {ref for one in log.summary.sentences for ref in one.sources} | log.covered
    return work.aim.subject.user in log.people or not ids.isdisjoint(told)
