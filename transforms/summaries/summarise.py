"""One summary a topic: a few cited sentences of its older episodes, chosen by rule."""

from __future__ import annotations

import polars as pl

from transforms.policy import Policy
from transforms.schemas import SUMMARIES
from transforms.summaries.candidates import candidates
from transforms.summaries.choose import Count, choose
from transforms.summaries.material import CANDIDATES, Material, gather, write_sentences

EXTRACTIVE = "extractive-1"
"""Method and version; another version may choose otherwise."""
_SENSITIVITY_ORDER = pl.Enum(["normal", "personal", "restricted"])


def summarise(
    episodes: pl.DataFrame,
    previous: pl.DataFrame,
    policy: Policy,
    count: Count,
    expired: pl.Series | None = None,
) -> pl.DataFrame:
    """Summaries of whole topics, by choosing sentences.

    Always from the episodes that exist. Where a previous summary covers episodes that have expired
    since, its sentences from those stand for them, word for word, and ``missing_source_count`` says how
    many are gone.

    Args:
        episodes: ``schemas.EPISODES`` with ``owner``, ``topic_id`` and, where known, ``vector`` of one
            vector space, of whole (tenant, owner, topic) groups; only those that are old enough. Rows
            without owner or topic, injected ones and those of working memory are passed over.
        previous: ``schemas.SUMMARIES`` that stand for these topics; a topic may be here alone, when
            all of its episodes are gone. Only what rests on ``expired`` episodes is read from it.
        policy: Sections summaries and trust.
        count: Tokens of texts.
        expired: Ids of episodes that left the lake by age or capacity. An erased episode must not be
            among them: nothing that rests on an episode that is neither held nor here is carried over.

    Returns:
        ``schemas.SUMMARIES`` without revision and is_removed, sorted by ``SUMMARIES.sort_by``. A topic
        with fewer than ``min_episodes``, or without any sentence worth quoting, has no row.
    """
    material = gather(episodes, previous, policy, expired)
    pool = pl.concat([candidates(material.episodes, policy), material.carried])
    chosen = choose(pool, policy.summaries, count)
    return rows(material, chosen, policy, EXTRACTIVE)


def dropped(summaries: pl.DataFrame, policy: Policy) -> pl.Series:
    """Episodes that committed summaries stand for, and that are to be served no longer.

    Args:
        summaries: ``schemas.SUMMARIES`` that stand in the lake.
        policy: Section summaries: none is dropped where ``detail`` keeps them until their own expiry.

    Returns:
        Sorted ids, series ``episode_id``.
    """
    none = pl.Series("episode_id", [], pl.String)
    if policy.summaries.detail != "drop_after_summary":
        return none
    covered = summaries.select(episode_id="source_refs").explode("episode_id", empty_as_null=False)
    return covered["episode_id"].unique().sort() if covered.height else none


def rows(material: Material, chosen: pl.DataFrame, policy: Policy, method: str) -> pl.DataFrame:
    """Table rows of the topics that have chosen sentences.

    Args:
        material: What they were chosen from.
        chosen: ``CANDIDATES`` and ``line``, in the order they are shown.
        policy: Section summaries.
        method: How they were made.

    Returns:
        ``schemas.SUMMARIES`` without its revision columns.
    """
    names = [n for n in SUMMARIES.names if n not in ("revision", "is_removed")]
    texts = chosen.group_by("summary_id", maintain_order=True).agg(
        text=pl.col("line").str.join("\n"),
        best_importance=pl.col("importance").max(),
        expires_at=pl.col("expires_at").min(),
    )
    is_person = pl.col("owner").str.starts_with("user:")
    made = (
        texts.join(_covered(material), on="summary_id")
        .join(write_sentences(chosen.select(CANDIDATES.names())), on="summary_id")
        .with_columns(
            importance=pl.col("best_importance"),
            user_id=pl.when(is_person).then(pl.col("owner").str.strip_prefix("user:")),
            method=pl.lit(method),
            retention_tier=pl.lit(policy.summaries.retention_tier),
        )
    )
    schema = pl.Schema({n: SUMMARIES.polars[n] for n in names})
    return made.select(names).cast(schema).sort(SUMMARIES.sort_by)


def _covered(material: Material) -> pl.DataFrame:
    """What the table says of each topic's sources, living and lost.

    Of lost sources only the previous row knows, so its least trust, most private sensitivity, agent
    and span go on counting while it covers any of them.
    """
    parts = [
        "summary_id",
        "tenant_id",
        "tenant_bucket",
        "owner",
        "topic_id",
        "agent_id",
        "trust",
        "sensitivity",
    ]
    living = material.episodes.select(
        *parts, first_event_at="event_at", last_event_at="event_at", recorded_at="ingested_at",
        refs=pl.concat_list("episode_id"), missing=pl.lit(0, pl.Int32),
    )  # fmt: skip
    lost = material.lost.group_by("summary_id").agg(refs="episode_id", missing=pl.len().cast(pl.Int32))
    before = material.previous.join(lost, on="summary_id").select(living.columns)
    agents = pl.col("agent_id")
    is_one = (agents.n_unique() == 1) & (agents.null_count() == 0)
    order = pl.col("sensitivity").cast(_SENSITIVITY_ORDER)
    return (
        pl.concat([living, before], how="vertical_relaxed")
        .group_by("summary_id")
        .agg(
            pl.col("tenant_id", "tenant_bucket", "owner", "topic_id").first(),
            agent_id=pl.when(is_one).then(agents.first()),
            trust=pl.col("trust").min(),
            sensitivity=order.max().cast(pl.String),
            first_event_at=pl.col("first_event_at").min(),
            last_event_at=pl.col("last_event_at").max(),
            recorded_at=pl.col("recorded_at").max(),
            source_refs=pl.col("refs").list.explode(empty_as_null=False).unique().sort(),
            missing_source_count=pl.col("missing").sum(),
        )
    )
