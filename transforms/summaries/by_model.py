"""Summaries by a language model: each portion of a topic is condensed, then what came of the portions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from transforms.model_requests import Model, ModelAnswer
from transforms.policy import Policy
from transforms.summaries.candidates import IMPORTANCE_WEIGHT, ROLE_WEIGHT, UNTRUSTED_COST, candidates
from transforms.summaries.choose import Count, choose
from transforms.summaries.material import CANDIDATES, Material, gather
from transforms.summaries.model_notes import (
    PROMPT_VERSION,
    Note,
    believed,
    episode_notes,
    portions,
    request,
)
from transforms.summaries.summarise import EXTRACTIVE, rows

FALLBACK = f"{EXTRACTIVE}-fallback"
"""Method of a topic for which the model gave no sentence that could be believed."""
_MAX_LEVELS = 12
"""Each level makes several sentences of many: far more than any topic needs."""


@dataclass
class _Topic:
    """One topic on its way: its portions, and whether it is settled."""

    tenant_id: str
    owner: str
    parts: list[list[Note]]
    notes: list[Note] = field(default_factory=list)
    state: str = "open"


def summarise_with(
    model: Model,
    episodes: pl.DataFrame,
    previous: pl.DataFrame,
    policy: Policy,
    count: Count,
    expired: pl.Series | None = None,
) -> tuple[pl.DataFrame, list[str]]:
    """Summaries of whole topics, by a model.

    A topic over the input limit is read in portions, whose sentences are condensed again, until one
    portion holds them. Every sentence cites episodes that the model was shown. Sentences carried over
    from expired episodes are not shown to it, but stand beside what it wrote, word for word.

    Args:
        model: Asked once a level for all topics together.
        episodes: As in ``summarise``.
        previous: As in ``summarise``.
        policy: Sections summaries and trust.
        count: Tokens of texts.
        expired: As in ``summarise``.

    Returns:
        ``schemas.SUMMARIES`` as ``summarise`` gives them, and the sorted ids of topics whose answers are
        still to come: these have no row, and the caller keeps what stands of them. A topic for which the
        model failed, or gave no sentence to be believed, is summarised by choice of sentences.

    Raises:
        EndpointError: The model cannot be reached or refuses every request.
    """
    material = gather(episodes, previous, policy, expired)
    topics = _asked(model, material, policy, count)
    written = _pool({sid: t.notes for sid, t in topics.items() if t.state == "done"}, policy)
    is_pending = [sid for sid, topic in topics.items() if topic.state == "pending"]
    waiting = pl.Series("summary_id", is_pending, pl.String)
    by_model = written.select("summary_id").unique()
    carried = material.carried.join(by_model, on="summary_id", how="semi")
    rest = material.episodes.filter(~pl.col("summary_id").is_in(waiting.implode()))
    rest = rest.join(by_model, on="summary_id", how="anti", maintain_order="left")
    spare = material.carried.join(by_model, on="summary_id", how="anti")
    spare = spare.filter(~pl.col("summary_id").is_in(waiting.implode()))
    made = [
        (pl.concat([written, carried]), f"model:{model.key}@{PROMPT_VERSION}"),
        (pl.concat([candidates(rest, policy), spare]), FALLBACK),
    ]
    frames = [rows(material, choose(pool, policy.summaries, count), policy, method) for pool, method in made]
    topic_ids = material.episodes.filter(pl.col("summary_id").is_in(waiting.implode()))["topic_id"]
    found = pl.concat(frames)
    return found.sort("tenant_id", "owner", "topic_id"), sorted(topic_ids.unique())


def _asked(model: Model, material: Material, policy: Policy, count: Count) -> Mapping[str, _Topic]:
    """Every topic, settled: done with its sentences, failed, or pending."""
    rows = material.episodes.select("summary_id", "tenant_id", "owner").unique().iter_rows()
    whose = {sid: (tenant, owner) for sid, tenant, owner in rows}
    topics = {
        sid: _Topic(*whose[sid], portions(notes, policy.summaries, count))
        for sid, notes in sorted(episode_notes(material.episodes).items())
    }
    for _ in range(_MAX_LEVELS):
        active = [topic for topic in topics.values() if topic.state == "open"]
        asked = [
            (topic, request(topic.tenant_id, topic.owner, part, policy.summaries))
            for topic in active
            for part in topic.parts
        ]
        if not asked:
            break
        answers = iter(model.ask([made for _, made in asked]))
        for topic in active:
            _take(topic, [next(answers) for _ in topic.parts], policy, count)
    return topics


def _take(topic: _Topic, answers: Sequence[ModelAnswer], policy: Policy, count: Count) -> None:
    """Settle a topic by the answers on its portions, or give it the portions of the next level."""
    states = {answer.state for answer in answers}
    if states != {"answered"}:
        topic.state = "pending" if "pending" in states else "failed"
        return
    rule = policy.summaries
    told = zip(answers, topic.parts, strict=True)
    topic.notes = [note for answer, part in told for note in believed(answer.text, part, rule)]
    following = portions(topic.notes, rule, count)
    # One portion is condensed; and where a level makes no fewer of them, no level would.
    if len(topic.parts) == 1 or len(following) >= len(topic.parts):
        topic.state = "done" if topic.notes else "failed"
    elif topic.notes:
        topic.parts = following
    else:
        topic.state = "failed"


def _pool(notes: Mapping[str, Sequence[Note]], policy: Policy) -> pl.DataFrame:
    """``CANDIDATES`` of what a model wrote. Its sentences are few: role, importance and trust rank them."""
    made = []
    for sid, sentences in notes.items():
        for place, note in enumerate(sentences):
            cost = UNTRUSTED_COST * (note.trust <= policy.trust.tool + 1e-6)
            score = ROLE_WEIGHT[note.role] + IMPORTANCE_WEIGHT * note.importance - cost
            made.append(
                {
                    "summary_id": sid, "text": note.text, "role": note.role, "by": note.by,
                    "episode_id": note.sources[0], "sources": list(note.sources), "event_at": note.event_at,
                    "start": None, "end": None, "is_cut": False, "trust": note.trust,
                    "importance": note.importance, "score": round(score, 6), "expires_at": note.expires_at,
                    "recent": (place + 1) / len(sentences),
                }
            )  # fmt: skip
    return pl.DataFrame(made, schema=CANDIDATES)
