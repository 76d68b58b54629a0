"""Rules for what tools return: limits, versions, settings, places, prices and deadlines."""

from __future__ import annotations

from transforms.claims.rule import Rule

# fmt: off
_AMOUNT = (
    r"\d[\d.,]*k? ?(?:requests?|calls?|queries|messages|mb|gb|tb|kb|mib|gib|rows|connections"
    r"|tokens)"
)
_PER = (
    r"(?: ?(?:per|a|an|/) ?(?:second|minute|hour|day|month|min|sec|s|h|file|upload|request))?(?: "
    r"of storage)?"
)
_STREET = (
    r"(?:Row|Street|St|Road|Rd|Lane|Avenue|Ave|Way|Square|Place|Court|Drive|Quay|Walk|Terrace|Close"
    r"|Hill|Park|Boulevard|Straße|Strasse|Gasse|Platz|Weg)"
)
_KEY = r"[a-z][a-z0-9]{0,40}(?:[._-][a-z0-9]{1,40}){0,5}"
_VALUE = r"[\w.:/-]{1,100}"
_ONLY_SETTINGS = rf"(?=(?:[,;]? {_KEY} ?= ?{_VALUE})*+[.,;]?[ \t]*+(?:\r?\n|$))"
"""Nothing but further settings up to the end of the line: code, markup and cookies have more on it."""

RULES = (
    Rule("limit", "limit|quota",
        r"(?P<s>\b(?:rate|request|upload|size|memory|storage) (?:limit|quota))(?: is|:| =| of) "
        rf"?(?P<o>{_AMOUNT}{_PER})", aspect="="),
    Rule("limit", " limit of | limit for | limit on | quota of | quota for | quota on ",
        r"\b(?P<a>(?:rate|request|upload|size|memory|storage) (?:limit|quota)) (?:of|for|on) "
        rf"(?:the )?(?P<s>[\w.-]{{1,40}}(?: [\w-]{{1,40}}){{0,2}}?)(?: is|:| =) ?(?P<o>{_AMOUNT}{_PER})"),
    Rule("limit", "limit is", rf"\blimit is (?P<o>{_AMOUNT}{_PER})(?: for this (?P<s>\w+))", aspect="="),
    Rule("limit", "max ", rf"\bmax(?:imum)? (?P<s>\w+) size(?: is|:| =) ?(?P<o>{_AMOUNT}{_PER})", aspect="="),
    Rule("limit", "quota exceeded",
        rf"quota exceeded: (?P<o>{_AMOUNT}{_PER}) for (?:project |key |user )?(?P<s>[\w.-]+)", aspect="="),
    Rule("limit", "includes", rf"(?:the )?(?P<s>[\w -]{{1,40}}?) includes (?P<o>{_AMOUNT}{_PER})",
        aspect="="),
    Rule("costs", "price:", r"(?:the )?(?P<s>[\w -]{1,40}?) includes [^.]{0,80}\. price: (?P<o>{MONEY})"),
    Rule("costs", "ticket:|pass:|fee:", r"(?P<s>(?:[\w-]{1,40} )?(?:ticket|pass|fee)): (?P<o>{MONEY})"),
    Rule("version", '"version"',
        r'"(?:service|name|package|app|component|image)": '
        r'?"(?P<s>[^"]{1,60})"[^{}]{0,200}?"version": ?"(?P<o>v?\d[\w.+-]*)"'),
    Rule("version", ".",
        r"^(?:version of )?(?P<s>[A-Za-z][\w-]{0,40}(?: [A-Z][\w-]{0,40})?)(?: version)?[ :] "
        r"?(?P<o>v?\d+\.\d+\.\d+[\w.-]*)(?= |$|\))"),
    Rule("setting", "is set to", r"(?P<a>\b\w{1,40}[._][\w.]{0,40}) is set to (?P<o>[\w.:/-]{1,100})"),
    Rule("setting", "=",
        rf"(?:^|(?<=[,:.;] )|(?<=\n))(?P<a>{_KEY}) ?= ?(?!(?P=a)\b)(?P<o>{_VALUE}){_ONLY_SETTINGS}"),
    Rule("located_at", ":",
        r"(?:^|(?<=\. ))(?P<s>(?-i:[A-Z])[\w-]{0,40}(?: [\w-]+){0,3}): (?P<o>\d+\w? "
        rf"(?-i:(?:[A-Z][\w'-]+ ){{1,3}}{_STREET})\b(?:, [^.;\n]+)?)", most_words=14),
    Rule("deadline", "deadline", r"(?:^|(?<=\. ))(?P<s>[\w -]{1,40}?) deadline(?: is|:) (?P<o>{DATE})",
        keeps_time=True),
    Rule("version", "/", r"(?<![\w/.@-])(?P<s>[a-z][a-z-]{1,40})/(?P<o>\d+\.\d+\.\d+)\b(?!/)"),
    Rule("located_at", "located at",
        r"(?P<s>(?:the |our )?[\w' -]{1,40}?) is located at (?P<o>\d+\w? (?-i:(?:[A-Z][\w'-]+ "
        rf"){{1,3}}{_STREET})\b(?:, [^.;\n]+)?)", most_words=14),
    Rule("limit", "allows up to",
        r"(?:your |the )?(?P<s>[\w -]{1,40}?) allows(?: up to)? (?P<o>\d[\d.,]*k? ?(?:users|seats"
        r"|projects|requests|calls|members)(?: per \w+)?)", aspect="="),
)
