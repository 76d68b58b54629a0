"""Rules about the standing rules that users set."""

from __future__ import annotations

from transforms.claims.rule import Rule

# fmt: off

_ORDER = (
    r"(?:ask|run|use|check|deploy|send|book|show|include|reply|answer|write|give|put|round|add|keep"
    r"|delete|commit|merge|push|confirm|cc|copy|log|test|trust|share|start|sign|attach|buy|order|pay"
    r"|schedule|tell|mention|leave|close|back up|lock|turn|approve|escalate|store|save|format|name|quote"
    r"|cite|list|document|review|rebase|wash|charge|invoice|notify|inform|warn|wait|hire|post|print"
    r"|contact)"
)

RULINGS = (
    Rule("rule", "no longer applies|no longer holds|is dropped|is gone",
        r"{L}(?:the|our|my) (?:old )?rule (?:about|on|of|for|that) (?P<o>.+?) (?:no longer "
        r"(?:applies|holds)|is (?:dropped|gone|history))", operation="retract"),
    Rule("rule", "rule",
        r"{L}(?:new |house |ground |important |a |my |our )*rule(?: (?:for|of|on) [\w ]+?)?: "
        r"(?P<o>.+)", most_words=30, keeps_time=True),
    Rule("rule", "make it a rule", r"{L}(?:please )?(?:make it|it's|it is) a rule(?::| that|,) (?P<o>.+)",
        most_words=30, keeps_time=True),
    Rule("rule", "note",
        r"{L}(?:please )?note(?: this| it)?(?: on the file| down| in the file)?(?:,? please)?: "
        r"(?P<o>[^:]*\b(?:only|never|always|must)\b.*)", most_words=30, keeps_time=True),
    Rule("rule", "from now on", r"from now on,? (?P<o>(?:every|all|each|no|only|any) .+)",
        most_words=25, keeps_time=True),
    Rule("rule", "everywhere|throughout",
        r"{L}(?:i|we) (?:always )?(?P<o>(?:store|keep|write|name|format|use) .+ (?:everywhere"
        r"|throughout))", most_words=20),
    Rule("rule", "always |never ",
        r"^\W*(?:(?:and|please|also|nice|good|ok|okay|great|but|so|then|thanks)[,.]? "
        rf")*(?P<o>(?:never|always) {_ORDER}\b(?! (?:up|in)\b).+)", most_words=25, keeps_time=True),
    Rule("rule", "don't ever|do not ever|under no circumstances",
        rf"{{L}}(?:please )?(?P<o>(?:don't|do not) ever {_ORDER}\b.+|under no circumstances .+)",
        most_words=25, keeps_time=True),
    Rule("rule", "from now on|in future|going forward|in the future",
        r"{L}(?P<o>(?:every|all|each|no) [\w' -]+? (?:needs?|gets?|must|has to|have to|goes?"
        r"|should)\b.+?),? (?:from now on|in future|going forward|in the future)",
        most_words=20, keeps_time=True),
    Rule("rule", "always ", rf"^\W*(?:please |and please |so please )(?P<o>always {_ORDER}\b.+)",
        most_words=25, keeps_time=True),
    Rule("rule", "from now on", rf"from now on,? (?:please )?(?P<o>{_ORDER}\b.+)",
        most_words=25, keeps_time=True),
)
RULES = RULINGS
