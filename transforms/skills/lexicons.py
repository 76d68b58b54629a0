"""Words by which rows are read: errors, failures that pass, feedback, and turns that go on with a task.

Small on purpose, in several languages where people write; a source that names outcome, reason, feedback
or task itself needs none of them.
"""

from __future__ import annotations

import polars as pl

_ERROR = (
    r"(?i)^\W*(?:(?:fatal|unhandled|internal|runtime|fatal:)\s+)?(?:error|failed|failure|fatal"
    r"|exception|traceback"
    r"|panic|rejected|refused|denied|declined|aborted|forbidden|unauthori[sz]ed|timed? ?-?out"
    r"|timeout|not found"
    r"|invalid|cannot|could not|unable to|permission denied|access denied|no such file"
    r"|command not found)\b"
    r"(?:\W|$)"
    r"|^\W*(?:http(?:/\d(?:\.\d)?)?|status(?: code)?|error)\W{0,3}[45]\d\d\b"
    r"|^\W*[45]\d\d(?:\s*[:\-–]|\s*$|\s+(?:bad|unauthori[sz]ed|payment|forbidden|not|method|conflict|gone"
    r"|precondition|unprocessable|unsupported|request|client|too many|internal|server|service|gateway"
    r"|upstream)\b)"
    r"|\bexit (?:code|status):? [1-9]|\btraceback \(most recent call last\)"
    r"|(?m:^\s*[A-Za-z_.]*(?:Error|Exception): )"
    r"|(?i)^\W*\w+(?: \w+){0,2} (?:refused|rejected|declined|failed|denied)\W*(?::|$)"
)
"""How the result of a call begins that went wrong."""
_NO_ERROR = (
    r"(?i)^\W*(?:no (?:errors?|failures?)|errors?\W{1,3}(?:0|none|null)\b|0 (?:errors?|failed|failures))"
)

_PASSING = (
    r"(?i)\btime[ds]?[ -]?out\b|\btimeouts?\b|\bdeadline exceeded\b|\bETIMEDOUT\b|\btook too long\b"
    r"|\brate[ -]?limit|\btoo many requests\b|\bthrottl|\bslow down\b|\bretry[ -]after\b"
    r"|\btry(?:ing)? again (?:later|in|shortly|soon)\b"
    r"|(?:^|\b(?:http|status|code|error|answered|returned|got)\W{0,3}(?:code\W{0,2})?)(?:429"
    r"|50[02348]|52[0-9])\b"
    r"|\b(?:bad gateway|gateway time-?out|service unavailable|internal server error)\b"
    r"|\b(?:temporar(?:y|ily)|currently|momentarily) (?:\w+ ){0,2}(?:unavailable|down|failure|error"
    r"|overloaded)\b"
    r"|\boutage\b|\boverload(?:ed)?\b|\bunder maintenance\b|\b(?:is|was|are) down\b"
    r"|\bserver (?:is )?busy\b"
    r"|\bconnection (?:was |has been )?(?:reset|aborted|closed|dropped|lost|refused|interrupted)\b"
    r"|\b(?:ECONNRESET|ECONNREFUSED|ECONNABORTED|EPIPE|EAI_AGAIN|EBUSY)\b"
    r"|\bbroken pipe\b|\bsocket hang ?up\b|\bnetwork (?:error|is unreachable|unreachable)\b"
    r"|\bname resolution\b|\bunexpected (?:eof|end of stream)\b"
    r"|\bbusy\b|\block(?:ed)? by (?:another|an?other|someone|a different)\b"
    r"|\b(?:plan|file|row|table|database|record) (?:is |was )?locked\b"
    r"|\bcould not (?:get|obtain|acquire) (?:a |the )?lock\b|\block (?:wait )?time|\bdeadlock\b"
    r"|\bwird (?:gerade )?(?:verwendet|bearbeitet)\b|\bzeitüberschreitung\b|\btiempo de espera\b"
    r"|\bd[ée]lai d[ée]pass[ée]\b|\btempo (?:limite )?(?:esgotado|scaduto)\b"
    r"|超时|超時|タイムアウト|시간 초과|混雑|稍后(?:再试|重试)"
)
"""Reasons that pass by themselves: time-outs, rate limits, outages, lost connections, locks."""

_WRONG = (
    r"(?i)\b(?:wrong|bad|incorrect|unhelpful|useless|terrible|awful|negative|broken|failed|fail"
    r"|disappointing"
    r"|dislike|worse|no good|thumbs?[ _-]?down|downvote)\b"
    r"|\b(?:not?|n'?t|never|did not|does not|didn'?t|doesn'?t|isn'?t|wasn'?t) (?:\w+ )?"
    r"(?:help\w*|work\w*|right|correct|good|useful|fixed|true|ok)\b"
    r"|^\W*(?:-1|0/1|1/5|2/5|no|nope|false|falsch|schlecht|mal|incorrecto|faux|mauvais|errado"
    r"|sbagliato)\W*$"
    r"|👎|😡|😠|❌|不对|错误|没用|間違|違う|틀렸|неправильно|плохо"
)
_HELPFUL = (
    r"(?i)\b(?:helpful|helped|helps|works?|worked|working|great|good|perfect|excellent|correct|right"
    r"|useful|thanks?"
    r"|thank you|positive|awesome|brilliant|love|loved|like|liked|solved|fixed|spot on"
    r"|thumbs?[ _-]?up|upvote)\b"
    r"|^\W*(?:\+?1|1/1|4/5|5/5|yes|yep|true|gut|richtig|hilfreich|bien|correcto|útil|utile|bon|ótimo"
    r"|bom)\W*$"
    r"|👍|❤|🎉|✅|有用|有帮助|很好|正确|役に立|助か|도움|полезно|хорошо|спасибо"
)
_FINE = (
    r"(?i)\b(?:fine|ok|okay|okey|neutral|so[ -]so|meh|acceptable|average|alright|all right|decent"
    r"|passable)\b"
    r"|^\W*(?:0|3/5)\W*$|😐|还行|まあまあ|괜찮|нормально"
)

_GOES_ON = (
    r"(?i)^\W*(?:y|yes|yeah|yep|yup|sure|ok|okay|please do|do (?:it|that|so|this)|go (?:ahead|on"
    r"|for it)|continue"
    r"|proceed|carry on|keep going|same|again|retry|try (?:it |that )?again|once more|still|no"
    r"|nope|not (?:yet|that)"
    r"|wrong|thanks|thank you|thx|good|great|nice|perfect|fine|cool|works|worked|that (?:did|works?"
    r"|worked|was it)"
    r"|right|exactly|correct|agreed|approved|hmm+|wait|and now|sí|si|vale|claro|dale|oui|d'accord|ja"
    r"|genau|weiter|nein"
    r"|nochmal|non|da|да|нет|ещё раз|давай)(?:\W|$)"
    r"|^\W*(?:好|是的|可以|对|继续|再试|不对|はい|お願い|もう一度|いいえ|네|응|다시|계속)"
)
"""How a turn begins that answers, confirms, corrects or repeats, and opens no task of its own."""

_QUOTED = r"'[^']*'|\"[^\"]*\"|`[^`]*`|“[^”]*”|‘[^’]*’|«[^»]*»"
_NAMED_BY_NUMBER = r"[\p{L}_\-./]*\d[\p{L}\d_\-./:]*"


def is_error(text: pl.Expr) -> pl.Expr:
    """Whether the result of a call reads as an error; false for null."""
    return (text.str.contains(_ERROR) & ~text.str.contains(_NO_ERROR)).fill_null(False)


def is_passing(text: pl.Expr) -> pl.Expr:
    """Whether a reason or an error names a fault that passes by itself; false for null."""
    return text.str.contains(_PASSING).fill_null(False)


def goes_on(text: pl.Expr) -> pl.Expr:
    """Whether a user's turn begins as one that stays with the task at hand; false for null."""
    return text.str.contains(_GOES_ON).fill_null(False)


def feedback_word(text: pl.Expr) -> pl.Expr:
    """``helpful``, ``wrong`` or ``fine`` for what a user said of an answer; null where it says neither."""
    return (
        pl.when(text.str.contains(_WRONG))
        .then(pl.lit("wrong"))
        .when(text.str.contains(_HELPFUL))
        .then(pl.lit("helpful"))
        .when(text.str.contains(_FINE))
        .then(pl.lit("fine"))
    )


def reason_family(reason: pl.Expr, words: int) -> pl.Expr:
    """What failures of one cause share: the reason's first words without quotations, numbers and ids.

    Args:
        reason: String; null gives the empty family.
        words: How many.
    """
    plain = (
        reason.fill_null("")
        .str.to_lowercase()
        .str.replace_all(_QUOTED, " ")
        .str.replace_all(_NAMED_BY_NUMBER, " ")
        .str.replace_all(r"[^\p{L}\p{M}]+", " ")
        .str.strip_chars()
    )
    return plain.str.split(" ").list.head(words).list.join(" ").str.slice(0, 80)
