"""The numbers of consolidation: topics, summaries, claims, facts, conversations and skills."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from transforms.policy_entries import CENTURY_SECONDS, Section, Share


class TopicsPolicy(Section):
    """Clusters of an owner's episodes.

    Cosines are taken after the owner's background is subtracted. Their values were measured with the default
    embedder (docs/topics.md); another one needs others.
    """

    background_share: float = Field(0.85, ge=0, le=1)
    """Part of the owner's mean vector that is subtracted: date, role and language are in all its texts.
    Planted subjects found (adjusted Rand index): 0 at 0, 0.97 from 0.85 on; with all of it an owner of two
    subjects loses 0.07."""
    context_share: float = Field(0.5, ge=0, le=10)
    """Weight of the turns around in the same session, beside 1 for the turn itself."""
    context_turns: int = Field(3, ge=0, le=1_000)
    """How many turns before and after count as around."""
    min_bytes: int = Field(12, ge=0, le=1_000_000)
    """A text shorter than this in UTF-8 (four Chinese characters) is in no topic, as small talk is."""
    join_cosine: float = Field(0.3, ge=0, le=1)
    """An episode joins the nearest topic whose centroid is at least this close. 0.2 finds 0.015 more of
    planted conversations; real subjects share more words than those."""
    link_cosine: float = Field(0.12, ge=0, le=1)
    """Clusters merge while the mean cosine over the pairs between them is at least this: planted turns about
    one subject have 0.30, about two -0.03."""
    attach_cosine: float = Field(0.08, ge=0, le=1)
    """A new cluster goes into the old topic to whose members its own have at least this mean cosine; less
    than link_cosine, because what is known of old members is without the turns around."""
    merge_cosine: float = Field(0.45, ge=0, le=1)
    """Topics whose centroids are at least this close are one; of topics about two planted subjects 99 % are
    below 0.25."""
    split_cosine: float = Field(0.1, ge=0, le=1)
    """A topic is split only into parts whose centroids are all less close than this, far below merge_cosine:
    topics about one planted subject have 0.18, about two -0.05 (medians)."""
    wide_cosine: float = Field(0.25, ge=0, le=1)
    """A topic with a lower mean cosine over its pairs is looked at for a split: 95 % of two planted subjects
    together have less than 0.23."""
    min_size: int = Field(3, ge=2, le=1_000_000)
    """Fewer episodes make no topic; they wait for more."""
    size_root: float = Field(0.25, ge=0, le=1_000)
    """And at least this times the square root of the owner's episodes, of which many are alike by chance."""
    direct_rows: int = Field(2_000, ge=2, le=20_000)
    """Up to so many rows are linked one by one; more go into k-means cells first, which are linked."""
    rows_per_cell: int = Field(16, ge=2, le=100_000)
    """Rows of a cell, on average, until there are max_cells."""
    max_cells: int = Field(1_024, ge=2, le=20_000)
    """Most cells: linking takes their square."""
    cell_rounds: int = Field(10, ge=1, le=1_000)
    """Iterations of k-means."""
    seed: int = Field(7, ge=0, le=2_147_483_647)
    """Seed of k-means."""
    relabel_growth: float = Field(1.5, gt=1, le=1_000)
    """A topic is labelled anew each time its size passes the next power of this."""
    label_terms: int = Field(4, ge=1, le=50)
    """Terms of a label."""


class SummariesPolicy(Section):
    """Digests of older episodes."""

    after_seconds: int = Field(7 * 86_400, ge=0, le=CENTURY_SECONDS)
    """Episodes older than this are summarised."""
    min_episodes: int = Field(3, ge=1, le=1_000_000)
    """A topic with fewer such episodes is not summarised yet."""
    max_sentences: int = Field(8, ge=1, le=1_000)
    """Most sentences of a summary."""
    max_tokens: int = Field(300, ge=10, le=100_000)
    """Longest summary."""
    max_sentence_chars: int = Field(300, ge=20, le=100_000)
    """A longer sentence is cut at a word."""
    repeat_ratio: float = Field(0.75, ge=0, le=1)
    """A sentence whose words overlap a chosen one's at least this much, with the same numbers, repeats it."""
    novelty_weight: float = Field(0.3, ge=0, le=1)
    """How much overlap with what is chosen already counts against a sentence."""
    max_input_tokens: int = Field(6_000, ge=200, le=10_000_000)
    """Most tokens of episodes shown to a model in one request; longer topics are read in parts."""
    retention_tier: Literal["medium_term", "long_term", "permanent"] = "long_term"
    """Time to live of a summary, counted from its last episode."""
    detail: Literal["keep_until_ttl", "drop_after_summary"] = "keep_until_ttl"
    """What becomes of summarised episodes: served until their own expiry, or no longer once summarised."""


class ClaimsPolicy(Section):
    """What is read from an episode."""

    min_confidence: float = Field(0.5, ge=0, le=1)
    """Least confidence of what a user said to become a fact."""
    max_tool_confidence: float = Field(0.4, ge=0, le=1)
    """What a tool or a web page says enters at most at this."""
    firm_confidence: float = Field(0.9, ge=0, le=1)
    """Of what a user says has changed, or holds from now on."""
    stated_confidence: float = Field(0.9, ge=0, le=1)
    """Of what a user says plainly. Not below firm by default, so that a plain later word still wins."""
    reported_confidence: float = Field(0.6, ge=0, le=1)
    """Of what a user passes on in somebody else's words."""
    max_statement_chars: int = Field(2_000, ge=1, le=10_000_000)
    """The rules do not read a longer message of a user: it is a pasted document."""
    max_tool_chars: int = Field(20_000, ge=1, le=10_000_000)
    """The rules do not read a longer output of a tool."""
    max_object_chars: int = Field(300, ge=1, le=100_000)
    """Longest subject, aspect or object; more is a passage, not a claim."""
    max_input_tokens: int = Field(6_000, ge=200, le=10_000_000)
    """Most tokens of turns shown to a model in one request; a longer session is read in parts."""
    max_output_tokens: int = Field(4_000, ge=50, le=10_000_000)
    """Longest answer of a model to one such request; claims after the cut are lost, and counted."""
    max_claims: int = Field(40, ge=1, le=10_000)
    """Most claims a model may give in one answer."""
    max_context_chars: int = Field(600, ge=0, le=1_000_000)
    """So much of a turn that is shown to a model only to make the others understood, an assistant's, say."""


class FactsPolicy(Section):
    """How claims are folded into facts."""

    merge_cosine: float = Field(0.92, ge=0, le=1)
    """Sentences of one subject and predicate nearer than this name one object, if numbers and names agree."""
    min_sessions: int = Field(3, ge=1, le=1_000)
    """Independent sessions an inferred claim needs; from as many on tool results count as consolidated."""
    confirm_gain: Share = 0.5
    """Each further session that says so takes this part of what is missing to 1."""
    retention_tier: Literal["medium_term", "long_term", "permanent"] = "long_term"
    """Time to live of a fact, counted from its last confirmation."""


class ConversationsPolicy(Section):
    """Title and mood of a session."""

    max_title_chars: int = Field(80, ge=10, le=1_000)
    """Longest title."""
    topic_terms: int = Field(4, ge=1, le=50)
    """Terms that say what a conversation was about."""
    max_input_chars: int = Field(12_000, ge=200, le=10_000_000)
    """Most characters of a session shown to a model; the middle of a longer one is left out."""


class SkillsPolicy(Section):
    """Procedures, lessons and patterns."""

    min_attempts: int = Field(3, ge=1, le=1_000_000)
    """Attempts before a procedure is suggested."""
    min_success_rate: float = Field(0.7, ge=0, le=1)
    """It is suggested above this."""
    min_failures: int = Field(2, ge=1, le=1_000_000)
    """Lasting failures of one cause that make a lesson although no fix is known."""
    feedback_gain: Share = 0.5
    """Helpful takes a reward by this part of what is missing to 1, wrong by this part down to 0."""
    max_reply_chars: int = Field(80, ge=1, le=1_000_000)
    """A user's turn up to this that begins with yes, no, thanks or the like goes on with the task at hand."""
    max_reason_chars: int = Field(160, ge=20, le=10_000)
    """Longest failure reason of an attempt."""
    max_fix_chars: int = Field(280, ge=20, le=10_000)
    """Longest fix of an attempt; whole sentences up to it."""
    family_words: int = Field(6, ge=1, le=50)
    """Words of a failure reason, without quotations, numbers and ids, that tell one cause from another."""
    min_conversations: int = Field(20, ge=1, le=1_000_000)
    """Conversations of a user before habits are read from them."""
    pattern_share: Share = 0.5
    """A habit holds for at least this part of the conversations."""
    min_weeks: int = Field(4, ge=2, le=1_000_000)
    """Weeks in which a day of the week must have had conversations before it is a habit."""
    short_message_chars: int = Field(80, ge=1, le=1_000_000)
    """Messages up to this are short."""
    long_message_chars: int = Field(400, ge=2, le=1_000_000)
    """Messages above this are long."""
    pattern_trust: Share = 0.7
    """Trust of a habit: nobody said it."""
    pattern_importance: Share = 0.4
    """Importance of a habit."""
    retention_tier: Literal["medium_term", "long_term", "permanent"] = "permanent"
    """Time to live of procedures and lessons, counted from the last attempt."""
    pattern_tier: Literal["short_term", "medium_term", "long_term"] = "medium_term"
    """Time to live of habits, counted from the last conversation."""
