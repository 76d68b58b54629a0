"""Rules about what is taken back by its kind, without saying what it was: forget where I live."""

from __future__ import annotations

from transforms.claims.rule import Rule

# fmt: off

_FORGET = (
    r"{L}(?:please |you can |you should |just )*(?:forget|delete|erase|remove|discard|disregard)(?: about)? "
)


def _kind(predicate: str, what: str) -> Rule:
    """Everything said of one predicate is taken back."""
    end = r"(?=[,.;!]|$| please| now| again| too| for good| from your)"
    cues = "forget |delete |erase |remove |discard |disregard "
    pattern = f"{_FORGET}(?P<o>{what}){end}"
    return Rule(predicate, cues, pattern, operation="retract", flags=("whole", "unreal"))


UNDONE = (
    _kind("lives_in", r"where (?:i|we) live|my (?:home |postal )?(?:address|town|home town)"),
    _kind("works_at", r"where i work|my (?:employer|workplace)|who i work for"),
    _kind("works_as", r"my (?:job|job title|occupation|profession)|what i do for a living"),
    _kind("reports_to", r"my (?:boss|manager|supervisor)|who i report to|who my (?:boss|manager) is"),
    _kind("name", r"my name|what i am called|what i'm called"),
    _kind("age", r"my age|how old i am"),
    _kind("born_on", r"my (?:birthday|date of birth)|when i was born"),
    _kind("comes_from", r"where i (?:am|come) from|where i'm from|my (?:nationality|origin)"),
    _kind("timezone", r"my time ?zone"),
    _kind("diet", r"my diet|what i eat"),
    _kind("allergic_to", r"(?:all )?my allergies|what i'm allergic to|what i am allergic to"),
    _kind("takes", r"(?:all )?my (?:medication|medications|medicines)|what (?:medicine|medicines) i take"),
    _kind("has_condition", r"(?:all )?my (?:medical|health) (?:conditions|history|data)"),
    _kind("speaks", r"(?:what|which) languages i speak"),
    Rule("prefers", "preference",
        _FORGET + r"my (?P<a>seat|drink|theme|editor|format|language|transport|airline|lodging|hotel|tone"
        r"|contact|desk|units) (?P<o>preferences?)", operation="retract", flags=("whole",)),
    Rule("prefers", "preference|fondness|love of|love for|liking",
        _FORGET + r"my (?:preference|fondness|love|liking) (?:for|of) (?P<o>.+)", operation="retract",
        aspect="?", otherwise="likes", most_words=6),
    Rule("allergic_to", "allergy",
        _FORGET + r"my (?:allergy to (?P<z>the )?|(?=[\w-]+ allergy))(?P<o>(?!(?:severe|bad|food"
            r"|old)\b)[\w-]+)"
        r"(?: allergy)?", operation="retract", most_words=3),
)
RULES = UNDONE
