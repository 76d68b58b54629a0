"""Rules about choices: seats, drinks, lodging, transport."""

from __future__ import annotations

from transforms.claims.lexicon import DRINKS
from transforms.claims.rule import Rule

# fmt: off

_SEAT = r"(?:an? |the )?(?:aisle|window|middle)(?: seats?| row)?|exit rows?(?: seats?)?"

_NEVER = r"alcohol|wine|beer|spirits|whisky|whiskey|gin|soda|cola|cow's milk|milk"
"""Drinks whose refusal is a rule of diet and no matter of taste."""

REPORT_CUES = "|".join(
    f"{what} {how} "
    for what in ("reports", "write-ups", "summaries", "exports", "statements", "invoices", "results")
    for how in ("as", "in")
)

CHOICES = (
    Rule("diet", "alcohol|wine|beer|spirits|whisk|gin|soda|cola|milk",
        r"{L}(?:i|we)(?:'ve| have)?(?: just| finally)? (?:never|don't|do not|no longer|can't"
        r"|cannot|stopped|quit|gave up|given up|came off)(?: ever)?(?: drink| drinking| touch)? "
        rf"(?:any )?(?P<o>{_NEVER})\b(?! (?:in my|with my))", shape="no {}"),
    Rule("prefers", "forget ",
        r"{L}(?:please )?forget (?:what i said about|about|that i (?:like|prefer|want(?:ed)?)) "
        r"(?P<o>.*(?:seat|aisle|window).*)", operation="retract", aspect="?"),
    Rule("likes", "forget that i", r"{L}(?:please )?forget that i (?:like|love|enjoy|prefer) (?P<o>.+)",
        operation="retract"),
    Rule("prefers", "i meant", r"{L}(?:no, )?i meant (?P<o>.+)", aspect="?", level="firm"),
    Rule("prefers", "aisle|window|exit row",
        r"{L}{I} (?:prefer|take|sit (?:in|at|by|on)|book|choose|want|like|pick|need|get|have) "
        rf"(?P<o>{_SEAT})(?!\w)", aspect="seat"),
    Rule("prefers", "aisle|window|exit row",
        rf"\b(?P<o>{_SEAT}) (?:from now on|for me|please|only|always)", aspect="seat", level="firm"),
    Rule("prefers", "aisle|window|seat",
        r"{L}(?P<s>my {REL}(?:,? {NAME},?)?|{NAME}) (?:always )?(?:prefers|takes|likes"
        rf"|wants) (?P<o>{_SEAT})(?!\w)", aspect="seat"),
    Rule("prefers", "asks about a drink|drinks|drink",
        r"{L}(?:if|when) [\w ]+ (?:drinks?|to drink)[, ]+(?P<o>.+)", aspect="drink", flags=("conditional",)),
    Rule("prefers", "drink",
        r"{L}{I} (?:never|don't|do not|no longer|stopped|quit|gave up)(?: ever)? (?:drink"
        rf"|drinking|touch) (?:any )?(?P<o>(?:[\w-]+ )?(?:{DRINKS}))\b", aspect="drink", polarity="negative"),
    Rule("prefers", "drink",
        r"{L}{I}(?:'m)? (?:drink|drinking)(?: only| mostly| mainly)? (?P<o>(?:[\w-]+ "
        rf"){{0,3}}?(?:{DRINKS})(?: with [\w ]+?)?)(?=\s*(?:[,.;:!)]|$)| (?:these|now|in|every|at"
        r"|from|and|only|instead|after|before)\b)", aspect="drink"),
    Rule("prefers", "like my|take my|drink my|have my",
        rf"{{L}}{{I}}(?:'d| would)? (?:like|take|drink|have|prefer|love) my (?P<o>(?:{DRINKS}).+)",
        aspect="drink", most_words=6),
    Rule("prefers", " person",
        r"{L}(?:i'm|i am) (?:more of |rather |really |very much )?an? (?P<o>(?:[\w-]+ "
        rf")?(?:{DRINKS})) person", aspect="drink"),
    Rule("prefers", "these days it is|these days it's|now it's|now it is",
        rf"{{L}}(?:it's|it is) (?P<o>(?:an? )?(?:[\w-]+ )*(?:{DRINKS})(?: with [\w ]+)?)",
        aspect="drink", level="firm"),
    Rule("prefers", "would rather|'d rather|rather pay",
        r"{L}(?:i|we)(?:'d| would) (?:much )?rather pay (?P<z>.*?) for (?P<o>an? .+)", aspect="lodging"),
    Rule("prefers", "would rather|'d rather",
        r"{L}{I}(?:'d| would)(?: much)? rather(?: have| take| stay in| stay at| book| use| go by| "
        r"travel by| fly with| sit in| get| be contacted by| go with)? (?P<o>.+?)(?= than |$)", aspect="?",
        most_words=7),
    Rule("prefers", REPORT_CUES,
        r"{L}(?:(?:i|we)(?:'d| would)?(?: now| still| much)* (?:prefer|want|like|need|get)|(?:please "
        r")?(?:always )?(?:send|give|deliver|make|write|prepare|export)(?: me| us)?)(?: all)?(?: my| our| "
        r"the| your)? (?:monthly |weekly "
        r"|daily )?(?:reports|write-ups|summaries|exports|statements|invoices|results) (?:as|in) "
        r"(?P<o>(?:an? )?[\w-]+(?: (?!(?:from|now|in|please|instead|again|and|for)\b)[\w-]+)?)(?=[,.;!]|$| "
        r"from now| in future| now| please| instead| again| always| going| and| rather)",
        aspect="?", most_words=3, flags=("unreal",)),
    Rule("prefers", "from now on|going forward|in future",
        r"^\W*(?:(?:ok|okay|please|actually|sorry|no|and|but|well|then|yes|make (?:it|that|them))[,.]? )*"
        r"(?P<o>(?!(?:no|not|never|don't|do|only|use|send|give|check|book|put|keep|add|make|show|write"
        r"|every|each|all|i|we|my|he|she|it|they|let|can|could|this|that|always|please|answer|reply"
        r"|take)\b)[\w-]+(?: [\w-]+){0,2}?)"
        r",? (?:from now on|going forward|in future)(?: please)?(?=[,.;!]|$)", aspect="?", level="firm",
        most_words=4),
    Rule("prefers", "favourite|favorite",
        r"{L}my (?:absolute |all-time )?favou?rite (?P<a>colou?r|number|season|day|font|team|letter)(?: now"
        r"| by far)? is(?: now)? (?P<o>(?!(?:when|how|that|to|the one|not)\b).+)", most_words=4),
    Rule("prefers", "is my favourite|is my favorite",
        r"^\W*(?P<o>[\w-]+(?: [\w-]+)?) is(?: now)? my (?:new |absolute |all-time )?favou?rite "
        r"(?P<a>colou?r|number|season|day|font|team|letter)\b", most_words=3),
    Rule("prefers", "prefer",
        r"{L}{I}(?:'d| would)?(?: much| really)? prefer(?: to)?(?: have| take| stay in| stay at| "
        r"book| use| go by| travel by| fly with| sit in| get| be contacted by| write in| read| "
        r"receive| work in| go with)? (?P<o>(?!the (?!(?:aisle|window|middle|train|bus|metro|first "
        r"row|exit))).+?)(?= over (?!\d)| than | to (?!\w+ (?:to|the))[\w+# -]{2,20}[.!]?$|$)",
        aspect="?", otherwise="likes", most_words=7),
    Rule("prefers",
        "i usually|we usually|i always|we always|i mostly|we mostly|i normally|we normally|i "
        "generally|i only|we only|tend to|prefer to|i really always|i also always|we also usually",
            r"{L}(?:i|we)(?:(?: really| also)? (?:always|usually|mostly|normally|generally|only"
            r"|nearly always|tend to|prefer to))+ (?:stay (?:in|at)|book|sleep (?:in|at)|rent|take"
            r"|go by|travel by|choose|reserve|order|drink) (?P<o>.+)", aspect="?", most_words=7),
    Rule("prefers", "fly with|fly on|flying with", r"{L}{I} (?:fly|flying) (?:with|on) (?P<o>{PLACE})",
        aspect="airline"),
    Rule("likes", "skip hostels|no hostels|no more hostels|skip hotels|no hotels",
        r"{L}(?:(?:let's|let us) )?(?:skip|no|no more|avoid) (?P<o>hostels|hotels|campsites"
        r"|motels)(?: for good| from now on| any ?more| please)", polarity="negative"),
    Rule("prefers", "switched|switching|changed|moved from|gone over|went back|gone back",
        r"{L}(?:i|we)(?:'ve| have|'m| am)?(?: just| recently| finally| now)* (?:switched|changed"
        r"|moved|converted|gone|went)(?: back| over)* (?:from (?P<z>[\w .+#-]+?) )?to (?P<o>.+)",
        aspect="?", level="firm", most_words=5),
    Rule("prefers", "aisle|window",
        r"{L}(?:(?:on|for) [\w ]+ )?(?:it has to be|it must be|has to be|i need|i always need"
        rf"|give me|get me|book me|put me (?:in|on|by)|i'll have|make it) (?P<o>{_SEAT})(?= for me"
        r"| please| in future| from now on| always| next time|[,.;!]|$| on (?:long|every|all))",
        aspect="seat", level="firm"),
    Rule("prefers", "by the window|on the aisle|by the aisle|near the aisle|in the aisle",
        r"{L}(?:i (?:always )?(?:prefer|like|love|want|need|sit)(?: to sit| sitting)?|i'd rather "
        r"sit|seat me|put me)(?: a seat)? (?:by|on|at|near|in) (?P<o>the (?:window|aisle))(?! "
        r"table)", aspect="seat"),
    Rule("prefers",
        "n't drink|not drink|cannot drink|gave up|given up|off coffee|off alcohol|quit drinking"
        "|stopped drinking",
            r"{L}(?:i|we)(?:'ve| have)?(?: just| finally)? (?:can't drink|cannot drink|don't "
            r"drink|do not drink|gave up|given up|quit drinking|stopped drinking|have gone off"
            rf"|gone off|came off) (?:any )?(?P<o>(?:{DRINKS}))\b", aspect="drink", polarity="negative"),
    Rule("prefers", "instead of",
        rf"{{L}}(?:on second thoughts?, )?(?P<o>(?:[\w-]+ )?(?:{DRINKS})) instead of (?:{DRINKS})",
        aspect="drink", level="firm"),
    Rule("prefers", "how i start my day|is my drink|is my go-to|my usual",
        rf"{{L}}(?P<o>(?:an? )?(?:[\w-]+ )?(?:{DRINKS})(?:,? (?:no|with|without) \w+)?),? (?:that's"
        r"|is) (?:how i start my day|my (?:drink|go-to(?: drink)?|usual)|what i (?:always )?drink)",
        aspect="drink"),
    Rule("prefers", "my usual", r"{L}my usual (?:drink|order|coffee) is (?P<o>.+)",
        aspect="drink", most_words=6),
    Rule("likes", "for me",
        r"{L}no (?P<o>trams|buses|taxis|ferries|night trains|flights|cruises)(?: for me| please|,| "
        r"any ?more)", polarity="negative"),
    Rule("likes", "not for me|not my thing|isn't for me",
        r"{L}(?P<o>(?:big |large |fancy |cheap |chain )*(?:hotels|hostels|resorts|campsites|chain "
        r"hotels|airbnbs))(?: are| is)? (?:not for me|not my thing)", polarity="negative"),
    Rule("prefers", "hotel|hostel|apartment|cabin|guest house|guesthouse|b&b|inn ",
        r"{L}(?:i|we) (?:want|like|need|look for|always rent|always book|love|choose) (?P<o>(?:an? "
        r")?(?:(?:small|quiet|cheap|simple|family-run|boutique|big|central|modern|cosy|cozy) "
        r")+(?:hotels?|hostels?|apartments?|cabins?|guest ?houses?|b&bs?|inns?))\b", aspect="lodging"),
    Rule("prefers", "family-run|is perfect|are perfect",
        r"(?:^|, )(?P<o>an? (?:[\w-]+ ){0,2}(?:hotel|hostel|apartment|inn|guest ?house|b&b)) is "
        r"(?:perfect|ideal|what i (?:like|want))(?: for me)?", aspect="lodging"),
    Rule("prefers", "go with|stick with|loyal to",
        r"{L}(?:i|we)(?: always|'m| am| usually| only)+ (?:go with|stick with|book with|loyal to) "
        r"(?P<o>{PLACE}(?: (?:Air|Airlines|Airways))?)(?= because| for| when|[,.;!]|$)", aspect="airline"),
    Rule("prefers", "stay at|stay in|stay with",
        r"{L}(?:i|we) (?:always|usually|mostly|normally|only) stay (?:at|in|with) (?P<o>{PLACE}(?: "
        r"hotels)?)(?=[,.;!]|$| when| because| if)", aspect="lodging"),
)
RULES = CHOICES
