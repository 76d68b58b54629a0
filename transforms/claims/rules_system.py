"""Rules about what is used and owned, and what systems are like."""

from __future__ import annotations

from transforms.claims.rule import Rule

# fmt: off

_AMOUNT = (
    r"\d[\d.,]*k? ?(?:requests?|calls?|queries|messages|mb|gb|tb|kb|mib|gib|rows|users|seats"
    r"|connections|tokens|jobs|files|records)"
)
_PER = (
    r"(?: ?(?:per|a|an|/|each|every) ?(?:second|minute|hour|day|month|min|sec|s|h|file|upload"
    r"|request|user|key))?"
)

TOOLS = (
    Rule("uses", "don't use|no longer use|stopped using|do not use",
        r"{L}(?:i|we)(?:'ve| have)? (?:don't use|do not use|no longer use|stopped using|quit "
        r"using) (?P<o>(?-i:[A-Z])[\w.+#-]*(?: (?-i:[A-Z])[\w.+#-]*)*)", operation="retract", most_words=3),
    Rule("uses", "don't use|no longer use|stopped using|do not use|quit using",
        r"{L}(?:i|we)(?:'ve| have)?(?: just| finally)? (?:(?:don't|do not) use(?= \S+ any ?more)|no longer "
        r"use|stopped"
        r" using|quit using) (?P<o>(?!(?:it|that|this|them|my|our|your|the|an?|any|to)\b)[a-z][\w.+#-]*)"
        r"(?=[,.;!]|$| any ?more| at work| for| in| last| because| and)", operation="retract", most_words=1),
    Rule("uses", "switched|moved from|migrated",
        r"{L}(?:i|we)(?:'ve| have)?(?: just| recently| finally)* (?:switched|moved|migrated"
        r"|changed)(?: over)? from (?P<o>(?-i:[A-Z]|i[A-Z])[\w.+#-]*(?: (?-i:[A-Z])[\w.+#-]*)*)(?= "
        r"to (?-i:[A-Z]|i[A-Z]))", operation="retract", most_words=3),
    Rule("uses", "switched|moved from|migrated",
        r"{L}(?:i|we)(?:'ve| have)?(?: just| recently| finally)* (?:switched|migrated|changed"
        r"|moved)(?: over)?(?: from [\w .+#-]+?)? to (?P<o>(?-i:[A-Z]|i[A-Z])[\w.+#-]*(?: "
        r"(?-i:[A-Z])[\w.+#-]*)*)", level="firm", most_words=3, flags=("not_a_choice",)),
    Rule("uses", "i use |we use |using|i'm using|also use|now use|still use",
        r"{L}(?:i|we)(?: now| also| mostly| mainly| still| only| always|'ve been|'m|'re| am| are)* "
        r"us(?:e|ing) (?:an? )?(?P<o>(?-i:[A-Z]|i[A-Z])[\w.+#/-]*(?: "
        r"(?-i:[A-Z0-9])[\w.+#-]*)*(?:(?:,| and|, and) (?-i:[A-Z])[\w.+#-]*(?: "
        r"(?-i:[A-Z])[\w.+#-]*)*)*)", is_list=True, most_words=4),
    Rule("uses", "we use |i use |we're using|i'm using",
        r"{L}(?:i|we)(?: now| also| mostly| mainly| still|'m|'re)* us(?:e|ing) (?P<o>(?!(?:it|that|this"
        r"|them|to|up|my|our|your|the|an?|some|only|more|less|all|public|cash|both|one|two"
        r"|and)\b)[a-z][\w.+#-]*(?:(?:,| and|, and) "
        r"[A-Za-z][\w.+#-]*)*)(?= at work| in production| for (?:all )?(?:our|my|the) (?:[\w-]+ "
        r")?(?:models?|data|pipelines?|builds?|tests?|testing|deployments?|notes|tasks|code|infrastructure"
        r"|reports?|reporting|analytics|dashboards?|backend"
        r"|frontend|ci|work|scripts|sites?|warehouse)\b)", is_list=True,
        most_words=2),
    Rule("uses", "wheelchair|hearing aid|screen reader|walking stick|crutches",
        r"{L}i use (?P<o>an? (?:wheelchair|hearing aid|screen reader|walking stick|walker|white "
        r"cane|cpap machine))"),
    Rule("uses", "runs ",
        r"{L}my (?:laptop|desktop|phone|computer|server|machine|pc) runs (?P<o>[\w.+-]+(?: "
        r"[\w.]+)?)", most_words=3),
    Rule("uses", "i code in|i program in|i write in|i develop in|we code in",
        r"{L}(?:i|we) (?:mostly |mainly )?(?:code|program|develop) in (?P<o>.+)", is_list=True, most_words=3),
    Rule("uses", "on windows|on linux|on macos|on mac|on android|on ios|on ubuntu|on fedora|on debian",
        r"{L}(?:i'm|i am|we're|we are) on (?P<o>windows|linux|macos|a mac|mac|android|ios|ubuntu"
        r"|fedora|debian|arch)(?: \d+)?\b"),
    Rule("uses", "layout", r"{L}i (?:type|write) on an? (?P<o>[\w-]+) (?:layout|keyboard)"),
    Rule("owns", "sold |gave away|got rid of",
        r"{L}(?:i|we)(?:'ve| have)?(?: just| finally| recently)? (?:sold|gave away|got rid of) "
        r"(?:my|our|the) (?P<o>(?!(?:shares|soul)\b).+)", operation="retract", most_words=4),
    Rule("owns", "i own |we own ", r"{L}{I} own (?P<o>(?:an?|two|three|four|several|\d+) .+)", most_words=7),
    Rule("owns", "i bought |we bought |i've bought|i just bought",
        r"{L}(?:i|we)(?:'ve| have)?(?: just| finally| recently)? bought (?P<o>an? (?!(?:few|couple"
        r"|lot|bit|ticket|coffee|round)\b).+)", most_words=6),
    Rule("owns", "i drive |i ride ", r"{L}i (?:drive|ride) (?P<o>an? [\w -]+)", most_words=6),
    Rule("owns", "i have a|i've got a|we have a|we've got a",
        r"{L}(?:i|we)(?: have|'ve got) (?P<o>an? (?:(?-i:[A-Z0-9])[\w.-]* ){1,3}(?:camera|bike"
        r"|bicycle|car|motorbike|piano|guitar|printer|laptop|boat|phone|tablet|telescope|sewing "
        r"machine|drone|van))\b", most_words=7),
    Rule("account", "username|user name|handle|login",
        r"{L}my (?:user ?name|handle|login)(?: (?:on|for|at) (?P<a>(?-i:[A-Z])[\w.-]*))? is "
        r"(?P<o>@?[\w.-]+)(?! on)"),
    Rule("account", "username|user name|handle|login",
        r"{L}my (?:user ?name|handle|login) is (?P<o>@?[\w.-]+) (?:on|at|for) "
        r"(?P<a>(?-i:[A-Z])[\w.-]*)"),
    Rule("account", "username|handle|login",
        r"{L}my (?P<a>(?-i:[A-Z])[\w.-]*) (?:user ?name|handle|login) is (?P<o>@?[\w.-]+)"),
    Rule("account", "i'm on the|i am on the|we're on the|we are on the|still on the",
        r"{L}(?:i'm|i am|we're|we are)(?: still| now)? on the (?P<o>(?:(?-i:[A-Z])\w+|free|pro"
        r"|basic|team|premium|business|enterprise|starter|standard) plan)(?: (?:of|at|with) "
        r"(?P<a>(?-i:[A-Z])[\w.-]*))?"),
    Rule("uses", "ditched|replaced|dropped|abandoned|swapped",
        r"{L}(?:i|we)(?:'ve| have)?(?: just| finally| recently)? (?:ditched|replaced|dropped"
        r"|abandoned|swapped) (?P<o>(?-i:[A-Z])[\w.+#-]*)(?= (?:for|with|by|in favour of) )",
        operation="retract", most_words=3),
    Rule("uses", "ditched|replaced|dropped|abandoned|swapped",
        r"(?:ditched|replaced|dropped|abandoned|swapped) (?-i:[A-Z])[\w.+#-]* (?:for|with|by|in "
        r"favour of) (?P<o>(?-i:[A-Z])[\w.+#-]*(?: (?-i:[A-Z])[\w.+#-]*)*)", level="firm", most_words=4),
    Rule("uses",
        "machine is|laptop is|with debian|with fedora|with ubuntu|with arch|with linux|with windows",
            r"{L}my (?:main |work |home |new )?(?:machine|laptop|computer|desktop|pc) is [^.;!?]*? "
            r"with (?P<o>debian|fedora|ubuntu|arch|linux|windows(?: \d+)?|nixos)\b"),
    Rule("uses", " live in | lives in |tracked in|managed in",
        r"{L}(?:all )?our (?:tickets|docs|documents|tasks|notes|issues|invoices|bugs|roadmap|code) "
        r"(?:all )?(?:lives?|is|are|sits?)(?: (?:kept|tracked|managed|stored))? in "
        r"(?P<o>(?-i:[A-Z])[\w.+-]*)"),
    Rule("uses", "i work with|i work in|i write everything in|i do everything in",
        r"{L}i (?:do everything|write everything|keep everything|take notes|write notes|keep my "
        r"notes) in (?P<o>(?-i:[A-Z])[\w.+#-]*)", most_words=3),
    Rule("owns",
        "iphone|ipad|macbook|kindle|playstation|xbox|galaxy|pixel|thinkpad|surface|steam deck"
        "|nintendo",
            r"{L}(?:i|we)(?: have|'ve got| own) (?P<o>an? (?:new |old )?(?:iphone|ipad|macbook"
            r"|kindle|playstation|xbox|galaxy|pixel|thinkpad|surface|steam deck|nintendo)(?: (?:pro"
            r"|air|max|mini|plus|ultra|switch|\d+\w*))*)\b", most_words=7),
    Rule("uses", "phone is a|laptop is a|computer is a|camera is a|tablet is a|phone is an|laptop is an",
        r"{L}my (?:main |work |new |home |current )?(?:phone|laptop|computer|camera|tablet) is an? "
        r"(?P<o>(?:(?:old|new|used) )?(?-i:[A-Z])[\w-]*(?: [\w-]+)?)(?=[,.;!]|$| and| with| so| "
        r"from)", most_words=4),
    Rule("uses", "team uses|company uses|office uses|department uses",
        r"{L}(?:my|our) (?:team|company|office|department) uses (?P<o>(?-i:[A-Z])[\w.+#-]*(?: "
        r"(?-i:[A-Z])[\w.+#-]*)*)", most_words=3),
)

SYSTEMS = (
    Rule("limit", "allows|permits|accepts|handles at most",
        r"{L}(?:the|our) (?P<s>[\w' -]+?) (?:allows|permits|accepts|takes)(?: only| at most| up "
        rf"to| a maximum of)* (?P<o>{_AMOUNT}{_PER})", aspect="="),
    Rule("limit", "limit",
        r"{L}our (?P<z>(?:rate |request |upload |export |size |memory )?(?:limit|quota)) is(?: "
        rf"now)? (?P<o>{_AMOUNT}{_PER})", aspect="="),
    Rule("limit", "limited to|capped at",
        r"{L}(?:the|our) (?P<s>[\w' -]+?) (?:is|are) (?:limited to|capped at) "
        rf"(?P<o>{_AMOUNT}{_PER})", aspect="="),
    Rule("limit", "limit is|quota is|maximum is",
        r"{L}(?:the|our) (?P<s>[\w' -]+?) (?:rate )?(?:limit|quota|maximum) is(?: now)? "
        rf"(?P<o>{_AMOUNT}{_PER})", aspect="="),
    Rule("limit", "degrees",
        r"{L}(?:the|our) (?P<s>[\w' -]+?) (?:must|has to|should) (?:stay|be kept|be|remain) "
        r"(?P<o>(?:below|above|under|between|over) -?\d[\d.]*(?: and -?\d[\d.]*)? degrees(?: "
        r"celsius)?)", aspect="temperature"),
    Rule("version",
        "on version|at version|run postgres|run python|runs version|running version|runs on version",
            r"{L}(?:the|our) (?P<s>[\w' -]+?) (?:is|runs)(?: now| still)?(?: on| at)? version "
            r"(?P<o>v?\d[\w.-]*)"),
    Rule("version", "run |running|upgraded",
        r"{L}(?:i|we)(?:'re|'m)?(?: still| now)? (?:run|running|use|on|upgraded to) "
        r"(?P<s>(?-i:[A-Z])[\w+#-]*(?: (?-i:[A-Z])[\w-]*)?) (?P<o>v?\d+\.\d[\w.-]*)"),
    Rule("setting", "is set to|are set to",
        r"{L}(?:the|our) (?P<s>[\w' .-]+?) (?:is|are)(?: now)? set to (?P<o>.+)", aspect="s", most_words=5),
    Rule("setting", "set the ", r"{L}set the (?P<a>[\w -]+?) to (?P<o>.+)", most_words=5),
    Rule("costs", "costs|cost ",
        r"{L}(?P<s>(?:the|an?|our|my) [\w' -]+?)(?: now)? costs?(?: us| me)?(?: now)? "
        r"(?P<o>{MONEY})"),
    Rule("costs", "went up to|rose to|went down to|price is|rent is",
        r"{L}(?P<s>(?:the |our |my )?[\w' -]+?)(?: just| now| has)? (?:went up to|rose to|went "
        r"down to|is now|dropped to) (?P<o>{MONEY})"),
    Rule("limit", "caps us at|limits us to|caps at|throttles",
        r"{L}(?:the|our) (?P<s>[\w' -]+?) (?:caps us at|limits us to|caps at|throttles us (?:at"
        rf"|to)|lets us make) (?P<o>{_AMOUNT}{_PER})", aspect="="),
    Rule("limit", "bigger than|larger than|more than|exceed|over ",
        r"{L}(?P<s>(?:the |our )?[\w' -]+?) (?:can't|cannot|can not|must not|may not|mustn't) "
        r"(?:be (?:bigger|larger) than|exceed) (?P<o>\d[\d.,]* ?(?:mb|gb|tb|kb))", aspect="size"),
    Rule("version", "still on|is on|are on|upgraded|updated to",
        r"{L}(?:production|staging|prod|dev|the server|everything) is (?:still |now )?(?:on|running"
        r"|at) (?P<s>(?-i:[A-Z])[\w+#-]*) (?P<o>v?\d+\.\d[\w.-]*)"),
    Rule("costs", "raised|lowered|increased",
        r"{L}(?:the |our |my )?(?:landlord|[\w-]+) (?:has )?(?:raised|increased|lowered) (?P<s>the "
        r"[\w -]+?) to (?P<o>{MONEY})"),
    Rule("costs", "raised its|increased its|lowered its",
        r"{L}(?P<s>(?:the|our|my) [\w -]+?) (?:has )?(?:raised|increased|lowered) its (?:fees?"
        r"|prices?|rates?) to (?P<o>{MONEY})"),
    Rule("costs", "charges|charge ",
        r"{L}(?P<s>(?:the|our|my) [\w -]+?) charges(?: us| me)? (?P<o>{MONEY})"),
    Rule("costs",
        "my rent is|our rent is|the rent is|mortgage is|membership is|phone bill is|subscription is",
            r"{L}(?P<s>(?:my|our|the) (?:rent|mortgage|(?:[\w-]+ )?membership|phone bill"
            r"|subscription|commute)) is(?: now)? (?P<o>{MONEY})"),
    Rule("limit", "upload size|file size|body size|attachment size|message size",
        r"{L}(?:the|our) (?:max(?:imum)? )?(?P<s>(?:[\w-]+ )?(?:upload|file|body|attachment|message"
        r"|image)) size is(?: now)? (?P<o>\d[\d.,]* ?(?:mb|gb|kb|tb))", aspect="size"),
    Rule("limit", "raised to|lowered to|went up to|increased to",
        r"{L}(?:the|our) (?P<s>(?:[\w-]+ )?(?:rate |request )?(?:limit|quota)) (?:was|has been"
        rf"|is) (?:raised|lowered|increased) to (?P<o>{_AMOUNT}{_PER})", aspect="="),
    Rule("costs", "price of|cost of",
        r"{L}the (?:price|cost) of (?P<s>(?:the |a |our )?[\w -]+?) is(?: now)? (?P<o>{MONEY})"),
    Rule("costs", "we pay|i pay",
        r"{L}(?:i|we) pay (?P<o>{MONEY}) for (?P<s>(?:the |my |our )?[\w -]+?)(?=[,.;!]|$| and| but"
        r"| at| now)"),
)
RULES = (*TOOLS, *SYSTEMS)
