"""Rules about plans, goals, deadlines, budgets and decisions."""

from __future__ import annotations

from transforms.claims.rule import Rule

# fmt: off

_EVENT = (
    r"(?:appointment|interview|check-up|checkup|flight|wedding|surgery|operation|exam|marathon"
    r"|concert|meeting|viewing|court date|scan|ceremony|graduation|trip|vaccination)"
)
_AIM = (
    r"(?:run|learn|read|become|write|lose|save|climb|master|publish|improve|reach|build|start|get"
    r"|finish|pass|quit|stop|eat|sleep|walk|swim|cut|pay off|retire|qualify)"
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
    Rule("plans", "move to|moving to|relocate to",
        r"{L}(?:i|we)(?:'ll| will|'m going to| am going to|'re going to| are going to) (?P<o>(?:move"
        r"|relocate)(?: back)? to {PLACE}.*)", keeps_time=True),
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
            r"(?:on|at|in|with|next|this|tomorrow).+)", keeps_time=True, most_words=14),
    Rule("plans", "away from|away until|away till|away for|off until|out of office|out of the office|on "
        "leave|on holiday|on vacation|on parental leave|on sick leave|off from",
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
        r"|some)\b)[^.;!?]*\b(?:this (?:year|month|summer|autumn|winter|spring)|next|by|before"
        r"|within|until|one day|in (?:under|less|\d|the|a)|\d+|someday|a|an)\b[^.;!?]*)",
        keeps_time=True, most_words=12),
    Rule("goal", "trying to|aiming to|hoping to",
        rf"{{L}}(?:i'm|i am|we're|we are) (?:trying|aiming|hoping) to (?P<o>(?:{_AIM}|eat|drink"
        r"|sleep)\b.+)", keeps_time=True, most_words=10),
    Rule("goal", "saving", r"{L}(?:i'm|i am|we're|we are)(?: still)? saving(?: up)? for (?P<o>.+)",
        shape="save up for {}", most_words=8),
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
        r"{L}(?:i|we)(?:'ve| have)?(?: just| finally)* decided (?:against|not to) (?P<o>.+)",
        polarity="negative", most_words=16),
    Rule("decided", "decided|agreed",
        r"{L}(?:after [\w ]{3,30}? )?(?:i|we)(?:'ve| have)?(?: just| finally| all| both| now)* "
        r"(?:decided|agreed) (?:to|on|that) (?P<o>(?!.*\b(?:yesterday|today|this at|tonight)\b).+)",
        most_words=16),
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
            r"{L}(?:i|we)(?: have|'ve got|'ve) (?P<o>(?:my|our|an?|the) (?:[\w'-]+ "
            rf"){{0,3}}(?:{_EVENT}|driving lesson)(?: (?:at|with|in) (?:the )?[\w ]+?)? (?:on|next"
            r"|this|in) .+)", keeps_time=True, most_words=14),
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
            r"{L}(?:i|we) (?:really |finally )?want to (?P<o>(?:learn|become|quit|lose|climb"
            r"|master)\b(?! (?:this|it|that|more|about|how|what)\b).+)", keeps_time=True, most_words=10),
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
        r"{L}(?:i'm|i am|we're|we are) not going to (?P<o>[\w ]+?),? (?:that's )?decided",
        polarity="negative", most_words=10),
    Rule("plans", "getting a|buying a|adopting a|building a|opening a|starting a|hosting a|having a",
        r"{L}(?:i'm|i am|we're|we are) (?P<o>(?:getting|buying|adopting|building|opening|starting"
        r"|hosting) (?:an?|our) [^,.;!?]+? (?:in|on|next|this) [^,.;!?]+)", keeps_time=True, most_words=12),
    Rule("goal", "training for",
        r"{L}(?:i'm|i am|we're|we are)(?: currently| now)? training for (?P<o>(?:an?|the|my) "
        r"[^,.;!?]+)", keeps_time=True, most_words=8),
    Rule("plans",
        "my flight|my appointment|my interview|my surgery|my operation|my wedding|our flight|our "
        "wedding|my check-up|my train|my scan",
            r"{L}(?:my|our) (?P<o>(?:[\w'-]+ )?(?:flight|appointment|interview|surgery|operation"
            r"|wedding|check-up|train|scan) is (?:on|at|in|next|this|tomorrow)\b[^.;!?]*)",
            keeps_time=True, most_words=10),
    Rule("plans", "meeting",
        r"{L}(?:i|we)(?: have|'ve got) (?P<o>an? (?:[\w'-]+ )?meeting with [\w ]+? (?:on|next) "
        r"(?:{DATE}|the) ?[^.;!?]*)", keeps_time=True, most_words=12),
    Rule("plans", "i'll be in |we'll be in |i will be in |we will be in ",
        r"{L}(?:i'll|we'll|i will|we will) be (?P<o>in {PLACE} (?:from|until|till|on|next|for"
        r"|between|this|in) [^.;!?]+)", keeps_time=True, most_words=12),
    Rule("plans", "meeting with",
        r"{L}(?:my|our) (?P<o>meeting with [\w ]+? is (?:on|next) {DATE}[^.;!?]*)",
        keeps_time=True, most_words=12),
)
RULES = PLANS
