"""Rules about what is intended, decided, owned, used and measured."""

from __future__ import annotations

from transforms.claims.rule import Rule

# fmt: off
_AIM = (
    r"(?:run|learn|read|become|write|lose|save|climb|master|publish|improve|reach|build|start|get"
    r"|finish|pass|quit|stop|eat|sleep|walk|swim|cut|pay off|retire|qualify)"
)
_ORDER = (
    r"(?:ask|run|use|check|deploy|send|book|show|include|reply|answer|write|give|put|round|add|keep"
    r"|delete|commit|merge|push|confirm|cc|copy|log|test|trust|share|start|sign|attach|buy|order|pay"
    r"|schedule|tell|mention|leave|close|back up|lock|turn|approve|escalate|store|save|format|name|quote"
    r"|cite|list|document|review|rebase|wash|charge|invoice|notify|inform|warn|wait|hire|post|print"
    r"|contact)"
)
_EVENT = (
    r"(?:appointment|interview|check-up|checkup|flight|wedding|surgery|operation|exam|marathon"
    r"|concert|meeting|viewing|court date|scan|ceremony|graduation|trip|vaccination)"
)

PLANS = (
    Rule("plans", "not going|cancelled|canceled|called off",
        r"{L}(?:i'm|i am|we're|we are) not (?P<o>going to (?:the |that )?[\w ]+?)(?: after all| "
        r"any ?more)", operation="retract", most_words=7),
    Rule("plans", "cancelled|canceled|called off",
        r"{L}(?:i|we)(?:'ve| have| had to| just)* (?:cancelled|canceled|called off|cancel) "
        r"(?P<o>(?:the|our|my) .+)", operation="retract", most_words=8),
    Rule("plans", "moving to|be moving|move to",
        r"{L}(?:i'll be |i will be |i'm |i am |we'll be |we will be |we're |we are )(?P<o>moving "
        r"to {PLACE}.*)", keeps_time=True),
    Rule("plans", "going to|flying to|travelling to|traveling to|driving to|heading to|off to",
        r"{L}(?:i'm|i am|we're|we are)(?: all| both| finally)? (?:going|flying|travell?ing|driving"
        r"|heading|off)(?: back)? to (?P<o>{PLACE}.*)", keeps_time=True, most_words=12),
    Rule("plans", "planning|plan to|plan on",
        r"{L}{I}(?:'m|'re| am| are)? plan(?:ning)? (?:to|on) (?P<o>(?!.*\b(?:today|tonight"
        r"|later)\b).+)", keeps_time=True, most_words=14),
    Rule("plans", "planning", r"{L}{Im} planning (?P<o>(?:an?|my|our|the) .+)",
        keeps_time=True, most_words=14),
    Rule("plans", "signed up|enrolled|registered",
        r"{L}(?:i|we)(?:'ve| have)?(?: just| finally)? (?:signed up for|enrolled in|enrolled on"
        r"|registered for) (?P<o>(?:an?|the|my|our) .+)", keeps_time=True, most_words=14),
    Rule("plans",
        "appointment|interview|check-up|checkup|flight|wedding|surgery|operation|marathon|concert"
        "|viewing|scan|ceremony|graduation|vaccination",
            rf"{{L}}(?:i|we)(?:'ve got|'ve| have| have got) (?P<o>an? (?:[\w'-]+ ){{0,3}}{_EVENT} "
            rf"(?:on|at|in|with|next|this|tomorrow).+)", keeps_time=True, most_words=14),
    Rule("plans", "away from|on leave|on holiday|on vacation|on parental leave|on sick leave|off from",
        r"{L}(?:i'm|i am|we're|we are|i'll be|we'll be|i will be) (?P<o>(?:away|off|out of (?:the "
        r")?office|on (?:\w+ )?(?:leave|holiday|vacation)) (?:from|until|till|in|on|between|next"
        r"|for) .+)", keeps_time=True, most_words=12),
    Rule("plans", "getting married", r"{L}(?:i'm|i am|we're|we are) (?P<o>getting married.*)",
        keeps_time=True),
    Rule("plans", "booked", r"{L}tickets (?:are|were) booked,? (?P<o>.+)", keeps_time=True, most_words=8),
    Rule("goal", "goal",
        r"{L}my (?:main |big |long-term )?goal(?: this year| for this year| for \d+| now)? is "
        r"(?:to )?(?P<o>.+)", keeps_time=True, most_words=14),
    Rule("goal", "want to|trying to|aiming to|hoping to|working towards",
        rf"{{L}}(?:i|we) (?:really )?want to (?P<o>{_AIM}\b(?! (?:this|it|that|these"
        rf"|some)\b)[^.;!?]*\b(?:this (?:year|month|summer|autumn|winter|spring)|next|by|before"
        rf"|within|until|one day|in (?:under|less|\d|the|a)|\d+|someday|a|an)\b[^.;!?]*)",
        keeps_time=True, most_words=12),
    Rule("goal", "trying to|aiming to|hoping to",
        rf"{{L}}(?:i'm|i am|we're|we are) (?:trying|aiming|hoping) to (?P<o>(?:{_AIM}|eat|drink"
        rf"|sleep)\b.+)", keeps_time=True, most_words=10),
    Rule("goal", "saving", r"{L}(?:i'm|i am|we're|we are)(?: still)? saving(?: up)? for (?P<o>.+)", shape="save up for {}",
        most_words=8),
    Rule("deadline", "deadline",
        r"{L}the deadline (?:for|of) (?P<s>(?:the |my |our )?[\w' -]+?) (?:is|was|has been|has"
        r"|will be)(?: now| moved to| moved| extended to| still)* (?P<o>(?:on )?{DATE})",
        keeps_time=True, flags=("reported",)),
    Rule("deadline", "deadline",
        r"{L}the (?P<s>[\w' -]+?) deadline (?:is|was|has been|has|will be)(?: now| moved to| moved"
        r"| extended to| still)* (?P<o>(?:on )?{DATE})", keeps_time=True, flags=("reported",)),
    Rule("deadline", "deadline",
        r"{L}(?:the|our|my) (?P<s>deadline)(?: has| was| is)?(?: now| been)* (?:moved|extended"
        r"|pushed|shifted|brought forward) (?:back )?to (?P<o>{DATE}(?: {DATE})?)",
        keeps_time=True, level="firm"),
    Rule("deadline", " due ",
        r"{L}(?P<s>(?:the|my|our) [\w' -]+?) (?:is|are) due(?: back| in| on| by| at)* (?P<o>{DATE})",
        keeps_time=True, flags=("reported",)),
    Rule("deadline", "handed in|submitted|filed|finished|delivered|be paid|ready by|be done",
        r"{L}(?P<s>(?:the|my|our) [\w' -]+?) (?:has to|have to|needs to|need to|must) be (?:handed "
        r"in|submitted|filed|finished|delivered|paid|ready|done|in|completed)(?: by| before| on)? "
        r"(?P<o>{DATE})", keeps_time=True, flags=("reported",)),
    Rule("deadline", "exam|test is|defence|defense|audit|hearing",
        r"{L}(?:the|my|our) (?P<s>(?:[\w-]+ ){0,3}(?:exam|test|defen[cs]e|audit|hearing)) is on "
        r"(?P<o>{DATE})", keeps_time=True),
    Rule("budget", "budget",
        r"{L}(?:my|our|the) budget(?: (?:for|on) (?P<a>(?:the |a |my |our )?[\w -]+?))? is(?: now| "
        r"about| around)? (?P<o>{MONEY})"),
    Rule("budget", "spend more|pay more|spend over",
        r"{L}(?:i|we) (?:don't|do not|can't|won't|cannot) (?:want to |wanna )?(?:spend|pay) "
        r"(?:more than|over) (?P<o>{MONEY})(?: (?:on|for) (?P<a>(?:the |a |my |our )?[\w "
        r"-]+?)(?={END}| (?:this|please|and|so)\b))?"),
    Rule("budget", "i have |we have |can spend|i've got |we've got |will spend|can pay",
        r"{L}(?:i|we) (?:have|can spend|will spend|'ve got|can pay) (?:about |around |up to |at "
        r"most )?(?P<o>{MONEY}) (?:for|on) (?P<a>(?:the|a|my|our) [\w -]+?){END}"),
    Rule("budget", "under |below |up to ",
        r"{L}(?:i|we) (?:usually|always|normally)? ?(?:stay in|stay at|book) "
        r"(?P<a>[\w-]+)[^.;!?]*?(?:keep it |it )?(?:under|below|up to) (?P<o>{MONEY})"),
    Rule("budget", "rather pay",
        r"{L}(?:i|we)(?:'d| would) (?:much )?rather pay (?:up to )?(?P<o>{MONEY}) for (?P<a>an? "
        r"[\w ]+?){END}"),
    Rule("decided", "decided against|decided not",
        r"{L}(?:i|we)(?:'ve| have)?(?: just| finally)* decided (?:against|not to) (?P<o>.+)", polarity="negative",
        most_words=16),
    Rule("decided", "decided|agreed",
        r"{L}(?:i|we)(?:'ve| have)?(?: just| finally| all| both| now)* (?:decided|agreed) (?:to|on"
        r"|that) (?P<o>(?!.*\b(?:yesterday|today|this at|tonight)\b).+)", most_words=16),
    Rule("decided", "going with|go with|settled on",
        r"{L}(?:we're|we are|i'm|i am|we'll|we've|i've)(?: now)? (?:going with|go with|settled on) "
        r"(?P<o>(?!(?:the (?:first|second|third|last|other|blue|red)|it|that|this|you|him|her|them"
        r"|my)\b).+)", most_words=10),
    Rule("plans",
        "we fly|i fly|we travel|i travel|we drive|we're visiting|i'm visiting|we leave for|i leave "
        "for",
            r"{L}(?:in \w+ |next \w+ |on \w+ |this \w+ |at (?:easter|christmas) )?(?:i|we)(?:'re|'m"
            r"| are| am|'ll| will)? (?:fly|travel|drive|go|visiting|visit|flying|leave) (?:to |for "
            r")?(?P<o>{PLACE} (?:for|in|on|with|next|from|over|until|at) .+)",
            keeps_time=True, most_words=12),
    Rule("plans",
        "surgery|operation|interview|appointment|exam|flight|wedding|check-up|driving lesson"
        "|viewing|scan",
            rf"{{L}}(?:i|we)(?: have|'ve got|'ve) (?P<o>(?:my|our|an?|the) (?:[\w'-]+ "
            rf"){{0,3}}(?:{_EVENT}|driving lesson)(?: (?:at|with|in) (?:the )?[\w ]+?)? (?:on|next"
            rf"|this|in) .+)", keeps_time=True, most_words=14),
    Rule("plans", "expecting",
        r"{L}(?:i'm|we're|i am|we are) (?P<o>expecting (?:our|a|my|twins|another)\b.*)",
        keeps_time=True, most_words=10),
    Rule("plans", "is off|is cancelled|is canceled|called off|fell through|not happening",
        r"{L}(?P<o>(?:the|our|my) (?:[\w-]+ )?(?:trip|holiday|wedding|visit|move|tour|flight|party"
        r"|vacation|concert)(?: (?:to|with|in|at|of) [\w ]+?)?) (?:is off|is cancelled|is canceled"
        r"|was cancelled|was canceled|got cancelled|has been cancelled|fell through|isn't happening"
        r"|is not happening)", operation="retract"),
    Rule("goal", "i'd like to be|i want to be|my aim|my dream|my target|aim is",
        r"{L}(?:my (?:aim|target|ambition) is (?:to )?|by [\w ]+ i(?:'d like| want) to be "
        r")(?P<o>.+)", keeps_time=True, most_words=10, flags=("unreal",)),
    Rule("goal",
        "i want to learn|i want to run|want to become|want to write|want to finish|want to quit"
        "|want to lose|want to save|want to climb|want to read",
            rf"{{L}}(?:i|we) (?:really |finally )?want to (?P<o>(?:learn|become|quit|lose|climb"
            rf"|master)\b(?! (?:this|it|that|more|about|how|what)\b).+)", keeps_time=True, most_words=10),
    Rule("deadline",
        " closes on| ends on| expires on| closes | runs out on| is due| due on| due by| due back| "
        "until the",
            r"{L}(?P<s>(?:the|my|our) [\w' -]+?) (?:closes|ends|expires|runs out|starts|is due"
            r"|falls due)(?: on| by)? (?P<o>{DATE})", keeps_time=True, flags=("reported",)),
    Rule("deadline", "hand in|submit|file |deliver|send in|turn in",
        r"{L}(?:i|we) (?:have to|must|need to|should) (?:hand in|submit|file|deliver|send in|turn "
        r"in|pay|finish) (?P<s>(?:the|my|our) [\w' -]+?) (?:by|before|on|until) (?P<o>{DATE})",
        keeps_time=True),
    Rule("deadline", "extended the deadline|moved the deadline|pushed the deadline|postponed the deadline",
        r"{L}(?:they|we|the \w+|{NAME}) (?:have |has |just |now )*(?:extended|moved|pushed"
        r"|postponed|shifted) the deadline (?:for|of) (?P<s>(?:the |my |our )?[\w' -]+?) (?:back "
        r")?to (?P<o>{DATE})", keeps_time=True, level="firm", flags=("reported",)),
    Rule("budget", "at most|no more than|maximum|can spend|tops",
        r"{L}for (?P<a>the [\w -]+?|a [\w -]+?|my [\w -]+?),? (?:i|we) (?:can|could|will|would|have"
        r"|want to|don't want to) ?(?:spend|pay)?(?: about| around| more than| up to)? "
        r"(?P<o>{MONEY}|\d[\d.,]*)(?: at most| max(?:imum)?| tops|[,.;!]|$)"),
    Rule("decided", "decision",
        r"{L}(?:decision(?: taken| made)?|final decision|the decision): (?:we |i )?(?P<o>.+)", most_words=14),
    Rule("decided", "decided",
        r"{L}(?:i'm|i am|we're|we are) not going to (?P<o>[\w ]+?),? (?:that's )?decided", polarity="negative",
        most_words=10),
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
        rf"^\W*(?:(?:and|please|also|nice|good|ok|okay|great|but|so|then|thanks)[,.]? "
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
)

TOOLS = (
    Rule("uses", "don't use|no longer use|stopped using|do not use",
        r"{L}(?:i|we)(?:'ve| have)? (?:don't use|do not use|no longer use|stopped using|quit "
        r"using) (?P<o>(?-i:[A-Z])[\w.+#-]*(?: (?-i:[A-Z])[\w.+#-]*)*)", operation="retract", most_words=3),
    Rule("uses", "switched|moved from|migrated",
        r"{L}(?:i|we)(?:'ve| have)?(?: just| recently| finally)* (?:switched|moved|migrated"
        r"|changed)(?: over)? from (?P<o>(?-i:[A-Z])[\w.+#-]*(?: (?-i:[A-Z])[\w.+#-]*)*)(?= to "
        r"(?-i:[A-Z]))", operation="retract", most_words=3, flags=("not_a_choice",)),
    Rule("uses", "switched|moved from|migrated",
        r"{L}(?:i|we)(?:'ve| have)?(?: just| recently| finally)* (?:switched|migrated|changed"
        r"|moved)(?: over)?(?: from [\w .+#-]+?)? to (?P<o>(?-i:[A-Z])[\w.+#-]*(?: "
        r"(?-i:[A-Z])[\w.+#-]*)*)", level="firm", most_words=3, flags=("not_a_choice",)),
    Rule("uses", "i use |we use |using|i'm using|also use|now use|still use",
        r"{L}(?:i|we)(?: now| also| mostly| mainly| still| only| always|'ve been|'m|'re| am| are)* "
        r"us(?:e|ing) (?P<o>(?-i:[A-Z])[\w.+#/-]*(?: (?-i:[A-Z0-9])[\w.+#-]*)*(?:(?:,| and|, and) "
        r"(?-i:[A-Z])[\w.+#-]*(?: (?-i:[A-Z])[\w.+#-]*)*)*)", is_list=True, most_words=4),
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
        r"(?P<o>@?[\w.-]+)"),
    Rule("account", "i'm on the|i am on the|we're on the|we are on the|still on the",
        r"{L}(?:i'm|i am|we're|we are)(?: still| now)? on the (?P<o>(?-i:[A-Z])\w+ plan)(?: (?:of"
        r"|at|with) (?P<a>(?-i:[A-Z])[\w.-]*))?"),
    Rule("uses", "ditched|replaced|dropped|abandoned|swapped",
        r"{L}(?:i|we)(?:'ve| have)?(?: just| finally| recently)? (?:ditched|replaced|dropped"
        r"|abandoned|swapped) (?P<o>(?-i:[A-Z])[\w.+#-]*)(?= (?:for|with|by|in favour of) )", operation="retract",
        most_words=3),
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
)

_AMOUNT = (
    r"\d[\d.,]*k? ?(?:requests?|calls?|queries|messages|mb|gb|tb|kb|mib|gib|rows|users|seats"
    r"|connections|tokens|jobs|files|records)"
)
_PER = (
    r"(?: ?(?:per|a|an|/|each|every) ?(?:second|minute|hour|day|month|min|sec|s|h|file|upload"
    r"|request|user|key))?"
)
SYSTEMS = (
    Rule("limit", "allows|permits|accepts|handles at most",
        rf"{{L}}(?:the|our) (?P<s>[\w' -]+?) (?:allows|permits|accepts|takes)(?: only| at most| up "
        rf"to| a maximum of)* (?P<o>{_AMOUNT}{_PER})", aspect="="),
    Rule("limit", "limit",
        rf"{{L}}our (?P<z>(?:rate |request |upload |export |size |memory )?(?:limit|quota)) is(?: "
        rf"now)? (?P<o>{_AMOUNT}{_PER})", aspect="="),
    Rule("limit", "limited to|capped at",
        rf"{{L}}(?:the|our) (?P<s>[\w' -]+?) (?:is|are) (?:limited to|capped at) "
        rf"(?P<o>{_AMOUNT}{_PER})", aspect="="),
    Rule("limit", "limit is|quota is|maximum is",
        rf"{{L}}(?:the|our) (?P<s>[\w' -]+?) (?:rate )?(?:limit|quota|maximum) is(?: now)? "
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
        rf"{{L}}(?:the|our) (?P<s>[\w' -]+?) (?:caps us at|limits us to|caps at|throttles us (?:at"
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
)
RULES = (*RULINGS, *PLANS, *TOOLS, *SYSTEMS)
