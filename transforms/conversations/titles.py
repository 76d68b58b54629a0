"""The title line of a session: what the user asked for first, in their own words."""

from __future__ import annotations

import polars as pl

_CODE = r"(?s)```.*?(?:```|$)"
_MARKS = r"\[REDACTED:\w+\]"
_DECORATION = r"(?m)^\s*(?:[-*•>#]+|\d{1,3}[.)])\s+|[*`]{1,3}|#{2,3}"
_CONTROL = r"[\p{Cc}\p{Cf}--[\u{200c}\u{200d}]]"
_GREETING = (
    r"(?i)^(?:(?:hi|hello|hey|hiya|howdy|good (?:morning|afternoon|evening|day)|morning|hola"
    r"|buen[oa]s (?:días|tardes|noches)|bonjour|bonsoir|salut|hallo|guten (?:morgen|tag|abend)|moin|servus"
    r"|ciao|buongiorno|olá|bom dia|boa tarde|привет|здравствуйте|добрый день|ok(?:ay)?|so|well|thanks"
    r"|thank you|again)(?: there| again| everyone| all| team)?(?:[\s,!.:;–—-]+|$))+|^(?:你好|您好|早上好"
    r"|こんにちは|おはよう(?:ございます)?|こんばんは|안녕하세요)[\s，、。！!,.]*"
)
_POLITE = (
    r"(?i)^(?:(?:please|pls|kindly|can you|could you|would you|will you|i (?:need|want) you to|i(?:'d|’d"
    r"| would) like you to|help me(?: to)?|bitte|kannst du(?: mir)?|könn(?:t|te)st du|können sie|por favor"
    r"|puedes|s'il (?:te|vous) plaît|peux-tu|pouvez-vous|per favore|puoi)(?: please)?[\s,]+)+"
)
_FIRST_SENTENCE = r"(?s)^(.{9,}?[^\s.]{3}[.!?…]+[\"”’)]*)(?:\s|$)|^(.{4,}?[。！？])"
_SMALL_TALK = (
    r"(?i)^\W*(?:(?:yes|no|yep|nope|sure|great|cool|nice|perfect|thanks?|thank you|thx|got it|sounds good"
    r"|no problem|bye|test|ping|how are you(?: doing)?(?: today)?|what'?s up|are you there|gracias|merci"
    r"|danke|grazie|spasibo|спасибо|谢谢|好的|はい|ありがとう(?:ございます)?|네|감사합니다|you|very much"
    r"|so much|a lot|there|ok(?:ay)?)\W*)+$"
)
_PASSING = (
    r"(?i)^\W*(?:(?:what a |it'?s a |it is a |a )?(?:lovely|nice|beautiful|gorgeous|great|fine|terrible"
    r"|awful|rainy|sunny|cold|hot|warm|grey|busy|long|quiet|good)(?: \w+)? (?:weather|day|morning|afternoon"
    r"|evening|week|weekend"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday)(?:,? (?:today|here|again|so far|outside"
    r"|out there|already|at last|isn'?t it|this \w+|in (?-i:[A-Z])\w+))*"
    r"|(?:start|end|beginning) of (?:the|my|a) (?:shift|day|week)|(?:i'?m |i am )?(?:back|here)(?: again| "
    r"now)?|(?:it's )?me again|hope (?:you're|you are|all is) well|how was your \w+|long time no see|quick "
    r"(?:one|question)|(?:one|another|next) (?:more )?(?:thing|question)|i have a (?:quick )?question"
    r"|(?:just )?checking(?: in)?"
    r"|(?:the |my |our |a |[A-Z](?-i:[a-z]))[\w-]+(?: [\w-]+)? (?:wrote|called|replied|answered|rang"
    r"|e-?mailed)(?: back| again)?)"
)
"""A remark on the day, or that somebody called, without what about."""
_UNSPACED = r"[\u{0e00}-\u{0eff}\u{3040}-\u{30ff}\u{3400}-\u{9fff}\u{ac00}-\u{d7af}]"
_MIN_LETTERS, _MIN_UNSPACED = 8, 4
ELLIPSIS = "…"
_READ_CHARS = 4_000


def with_titles(said: pl.DataFrame, max_chars: int) -> pl.DataFrame:
    """Adds ``title``: ``content`` as one line without greeting, markup or full stop, cut at a word.

    Null where nothing is left.
    """
    title = pl.col("title")
    steps = (
        pl.col("content").str.slice(0, _READ_CHARS).str.replace_all(_CODE, " ").alias("title"),
        title.str.replace_all(_MARKS, ELLIPSIS).str.replace_all(_DECORATION, " "),
        title.str.replace_all(r"\s+", " ").str.replace_all(_CONTROL, "").str.strip_chars(),
        title.str.replace(_GREETING, "").str.strip_chars(),
        title.str.replace(_POLITE, "").str.strip_chars(),
        title.str.replace(rf"{_PASSING}[.!…]+\s+", "").str.replace(_POLITE, ""),
        pl.coalesce(title.str.extract(_FIRST_SENTENCE, 1), title.str.extract(_FIRST_SENTENCE, 2), title),
        title.str.strip_chars(" ").str.strip_chars_end(".,;:。、，"),
        cut_expr(title, max_chars).alias("title"),
        title.str.slice(0, 1).str.to_uppercase() + title.str.slice(1),
        pl.when(title.str.contains(r"[\p{L}\p{N}\p{So}]")).then(title),
    )
    # One after another: as one expression the engine would work out shared parts again and again.
    for step in steps:
        said = said.with_columns(step)
    return said


def is_request_expr() -> pl.Expr:
    """Whether ``title`` tells what a session is about: long enough, and no small talk."""
    letters = pl.col("title").str.count_matches(r"\p{L}")
    unspaced = pl.col("title").str.count_matches(_UNSPACED)
    is_long = (letters >= _MIN_LETTERS) | (unspaced >= _MIN_UNSPACED)
    is_idle = pl.col("title").str.contains(_SMALL_TALK) | pl.col("title").str.contains(rf"{_PASSING}\W*$")
    return (is_long & ~is_idle).fill_null(False)


def cut_expr(text: pl.Expr, max_chars: int) -> pl.Expr:
    """A text of at most so many characters, an ellipsis among them, cut at a blank of its second half."""
    head = text.str.slice(0, max_chars - 1)
    at_blank = head.str.replace(r"\s+\S*$", "")
    is_late = at_blank.str.len_chars() >= max_chars // 2
    short = pl.when(is_late).then(at_blank).otherwise(head).str.strip_chars_end(" ,;:.、，-–—")
    return pl.when(text.str.len_chars() > max_chars).then(short + ELLIPSIS).otherwise(text)
