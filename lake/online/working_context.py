"""A session in a budget of tokens."""

from __future__ import annotations

from dataclasses import replace

from lake.tokens import EncodingName, count_tokens
from transforms.working.rendering import Parts, as_text, preface, row_block
from transforms.working.state import TaskState


def fitted(parts: Parts, budget: int, encoding: EncodingName) -> str:
    """As much as the budget holds, exact to the token: the state, the newest rows, then the summary.

    Rows go oldest first; where not even the state fits, nothing is shown.

    Args:
        parts: All there is.
        budget: Most tokens.
        encoding: Whose tokens.
    """
    if not _fits(as_text(Parts(parts.state, "", ())), budget, encoding):
        parts = replace(parts, state=TaskState())
    base = Parts(parts.state, "", ())
    costs = count_tokens([row_block(row) for row in parts.rows], encoding)
    # The first row brings header and footer with it, where there is no state.
    left = budget - count_tokens([as_text(base) or preface(TaskState(), "-")], encoding)[0]
    start = len(parts.rows)
    while start and costs[start - 1] <= left:
        start -= 1
        left -= costs[start]
    shown = replace(base, rows=parts.rows[start:])
    while shown.rows and not _fits(as_text(shown), budget, encoding):  # tokens can join at the seams
        shown = replace(shown, rows=shown.rows[1:])
    whole = replace(shown, summary=parts.summary)
    return as_text(whole if _fits(as_text(whole), budget, encoding) else shown)


def _fits(text: str, budget: int, encoding: EncodingName) -> bool:
    return count_tokens([text], encoding)[0] <= budget
