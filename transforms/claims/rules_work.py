"""Rules about work and who is in charge of what."""

from __future__ import annotations

from transforms.claims.lexicon import OCCUPATIONS
from transforms.claims.rule import Rule

# fmt: off

OCCUPATION_CUES = OCCUPATIONS.replace(r" of \w+", "").replace(r" \w+", "")
"""Cues as rare as can be: they decide which messages are read at all."""

WORK = (
    Rule("works_as", "i run |i own |we run ",
        r"{L}i (?:run|own and run|have) (?P<o>(?:an? |my own )(?:[\w-]+ ){0,2}(?:bakery|shop"
        r"|company|restaurant|café|cafe|studio|agency|firm|farm|business|salon|gallery|startup"
        r"|start-up|bar|pub|bookshop|bookstore|clinic|nursery|brewery|vineyard|garage))\b",
        shape="owner of a {}"),
    Rule("works_as", "i teach ",
        r"{L}{I} teach (?P<o>(?!(?:you|me|him|her|them|us|my|your|the)\b)[\w-]+(?: and [\w-]+)?)",
        shape="teacher of {}"),
    Rule("works_as", "retired", r"{L}(?:i'm|i am)(?: now| happily| already)? (?P<o>retired)\b"),
    Rule("works_as", "work as |works as |working as |worked as ",
        r"{L}(?P<s>i|we|my {REL}(?:,? {NAME},?)?)(?:'ve been|'m| am| is)?(?: currently| now| "
        r"also)? work(?:s|ing)? as (?P<o>(?:an? |the )?[\w'-]+(?: (?!(?:at|for|in|with|on|and|by"
        r"|from|near)\b)[\w'-]+)*)", most_words=6),
    Rule("works_as", OCCUPATION_CUES,
        r"{L}(?P<s>i|my {REL}(?:,? {NAME},?)?){be} (?:an?|the|now an?|now the) (?P<o>(?:(?!(?:big"
        r"|huge|bit|lousy|bad|good|great|terrible|former|retired|your|better|not)\b)[\w-]+ "
        r"){0,3}?{OCC})(?=\s*(?:[,.;:!)]|$)| (?:at|in|and|but|by|for|from|with|on|here|there|so|who"
        r"|these|now)\b)(?! of mine)", most_words=5),
    Rule("works_as", "head of",
        r"{L}(?:i'm|i am)(?: now| the| currently)* (?P<o>(?:head|director|vice president|vp) of "
        r"[\w-]+(?: [\w-]+)?)", most_words=5),
    Rule("works_as", "lawyer|doctor|expert|engineer|programmer|developer|designer|teacher",
        r"{L}(?:i'm|i am) not an? (?P<o>(?:[\w-]+ ){0,2}{OCC})(?=[,.;!]|$| but| and| any)",
        polarity="negative"),
    Rule("works_at", "quit|left |resigned",
        r"{L}i(?:'ve)?(?: just| recently| finally)? (?:quit|left|resigned from)(?: my (?:job"
        r"|position|post) (?:at|with)| the job at| working (?:at|for))? (?P<o>{PLACE})", operation="retract"),
    Rule("works_at", "work at|work for|working at|working for",
        r"{L}(?:i|we) (?:don't|do not|no longer) work (?:at|for) (?P<o>.+)",
        operation="retract", most_words=6),
    Rule("works_at", "work at|work for|works at|works for|working at|working for",
        r"{L}{S}(?:(?:'ve| have) been|'m| am| is|'ll be|'ll start)?(?: currently| now)* (?:works?"
        r"|working) (?:at|for) (?P<o>(?!(?:home|night|the moment|least|once|all|free|now|hours"
        r"|years|months|myself|the (?:first|last|best)|a living|\d|days|ages|me|it|them|you)\b).+)",
        most_words=6),
    Rule("works_at", "started at|joined |start at|starting at|job at|job with|employed|hired",
        r"{L}i(?:'ve| have|'m|'ll)?(?: just| recently| finally)? (?:start(?:ed|ing)?(?: work(?:ing)?)? "
        r"(?:at|with"
        r"|for)|joined|took (?:the|a|that) (?:job|position|offer) (?:at|with)|got (?:the|a) (?:job"
        r"|position) (?:at|with)|am employed (?:at|by)|was hired by|started (?:a|my) (?:new "
        r")?(?:job|position) (?:at|with)) (?P<o>{PLACE})"),
    Rule("works_at", OCCUPATION_CUES,
        r"{L}(?:i'm|i am|my {REL} is) (?:an?|the) (?:[\w-]+ ){0,3}?{OCC} (?:at|for) (?P<o>(?:the "
        r"|a |an )?{PLACE}|(?:a|an|the) [\w -]+)", most_words=6),
    Rule("works_at", " team",
        r"{L}(?:i'm|i am|we're|we are)(?: now| the new \w+)? (?:on|in|with) the (?P<o>[\w-]+(?: "
        r"[\w-]+)? team)\b"),
    Rule("reports_to", "boss|manager|supervisor|team lead",
        r"{L}my (?:new |current |direct |line )*(?:boss|manager|supervisor|team lead)(?:'s "
        r"name)?(?:'s| is)(?: now| still)?(?: called| named)? (?P<o>{NAME}(?: "
        r"{NAME})?)(?=\s*(?:[,.;:!)]|$)| (?:and|now|so|since|but)\b)"),
    Rule("reports_to", "my boss |my manager |my supervisor |my team lead |my line manager |our boss "
        "|our manager ",
        r"\b(?:my|our) (?:new |current |direct )*(?:boss|line manager|manager|supervisor|team lead),? "
        r"(?P<o>{NAME}(?: {NAME})?)(?![\w'-])(?! (?:and|or) (?:my|his|her))",
        most_words=2, flags=("reported",)),
    Rule("reports_to", "report to|reporting to",
        r"{L}(?:i|we)(?:'m| am|'ll)?(?: now| currently)? report(?:ing)? (?:directly )?to "
        r"(?P<o>{NAME}(?: {NAME})?|the (?:[\w-]+ )?(?:ceo|cto|cfo|coo|director|head of [\w-]+|vp "
        r"of [\w-]+|manager|board))"),
    Rule("works_on", "working on", r"{L}{Im} working on (?P<o>(?:the|a|an|our) .+)", most_words=6),
    Rule("studies", "studying|learning|i study |i'm taking|we study ",
        r"{L}{Im} (?:studying|learning)(?: for)? (?P<o>(?!(?:to|how|that|from|a lot|a ton|so much"
        r"|new things|more|about|by|hard|real|really|for hours|all)\b)[^,.;]+?)(?= with | at | in "
        r"| on |{END})", most_words=6),
    Rule("studies", "i study |we study ",
        r"{L}{I} study (?P<o>(?!(?:best|hard|better|well|at|in|on|with|every|late|early|alone|a lot"
        r"|more|for hours|mornings|evenings)\b)[^,.;]+?)(?= with | at | in | on |{END})", most_words=6),
    Rule("studies", " exam",
        r"{L}{I}(?:'ll)? (?:sit|take|have|am taking) (?P<o>(?:an?|the|my) (?:[\w-]+ ){1,4}(?:exam"
        r"|certification))\b"),
    Rule("responsible_for", "second pair of eyes|second signature|sign-off|approval",
        r"{L}(?P<s>(?:anything|everything|all [\w ]+|[\w ]+) (?:above|over) {MONEY}) (?:needs?"
        r"|requires?) (?:a second (?:pair of eyes|signature)|sign-off|approval)(?:,? (?:that is"
        r"|which is|that's|by|from|namely)) (?P<o>{NAME})"),
    Rule("responsible_for",
        "approves|signs|handles|covers|owns the|runs the|manages|maintains|leads the|looks after"
        "|takes care of|in charge of|responsible for|the owner of",
            r"{L}(?P<o>{NAME}(?: {NAME})?)(?: will)?(?: now| always| also)? (?:approves?|signs?(?: "
            r"off)?(?: on)?|handles?|covers?(?: for)?|owns?(?= the)|runs?(?= the)|manages?"
            r"|maintains?|leads?(?= the)|looks? after|takes? care of|is (?:now )?(?:in charge of"
            r"|responsible for|the owner of)) (?P<s>(?!(?:it|that|this|them|me|us|him|her|for|the "
            r"way|everything|my (?:cat|dog|kids|son|daughter)|up|in|out|on)\b).+?)(?=\s*(?:[,.;:!)]"
            r"|$)| (?:from now on|while|until|when|since|now|this|next|because|so|during|after|and "
            r"(?:i|we|he|she))\b)"),
    Rule("responsible_for",
        "owned by|handled by|managed by|approved by|signed by|signed off by|maintained by|run by"
        "|countersigned by|covered by",
            r"{L}(?P<s>(?:the |our |all |every )?(?:[\w,.'$€£-]+ ){1,7}?)(?:is|are|has to be|have "
            r"to be|needs? to be|must be|should be|will be|gets?)(?: now| always)? (?:owned|handled"
            r"|managed|approved|signed(?: off)?|maintained|run|countersigned|covered) by "
            r"(?P<o>{NAME}(?: {NAME})?)"),
    Rule("works_as", OCCUPATION_CUES,
        r"{L}(?:i've been|i have been) (?:an? |working as an? |the )(?P<o>(?:[\w-]+ "
        r"){0,3}?{OCC})(?= for| since| all| \d|[,.])", most_words=5),
    Rule("works_as", OCCUPATION_CUES,
        r"{L}(?:i(?:'ve)?(?: just| recently)? (?:became|become|got a job as|was hired as|was "
        r"promoted to|got promoted to|make (?:a|my) living as|freelance as|earn my living as)|they "
        r"made me|my job is|i'm employed as|i am employed as|i'm self-employed as)(?: an?| the)? "
        r"(?P<o>(?:[\w-]+ ){0,3}?{OCC})\b", most_words=6),
    Rule("works_as", OCCUPATION_CUES, r"{L}(?:as|being) an? (?P<o>(?:[\w-]+ ){0,2}?{OCC})(?=,| i\b)",
        most_words=4, flags=("unreal",)),
    Rule("works_as", "job title|my title|my role|my position|became team|team lead of|team lead at",
        r"{L}(?:my (?:new |job )*(?:title|role|position|job) (?:is|changed)(?: now| to)?:? |i(?: "
        r"just| recently)? became (?:the |a )?)(?P<o>(?:[\w-]+ ){0,4}(?:{OCC}|lead|team lead"
        r"|partner|officer|owner|head)(?: of (?:the )?[\w -]+?)?)(?=[,.;!]|$| as of| now| from| at"
        r"| since)", most_words=8),
    Rule("works_as", "freelance|self-employed|for myself",
        r"{L}(?:i'm|i am)(?: now| a)* (?P<o>freelance(?:r| [\w-]+)|self-employed)(?=[,.;!]|$| and| "
        r"now| so)"),
    Rule("works_as", "drive a|fly for|i cook at|i nurse|i paint houses",
        r"{L}(?:during the day |by day |for a living )?i drive an? (?P<o>tram|bus|taxi|lorry|truck"
        r"|train|cab|ambulance)\b", shape="{} driver"),
    Rule("works_at",
        "handed in my notice|laid off|fired from|let go|made redundant|resigned|gave notice|last "
        "day at|quit at",
            r"{L}(?:i(?:'ve| have)?(?: just)? (?:handed in my notice|gave (?:my )?notice|was laid "
            r"off|got laid off|was fired|got fired|was let go|was made redundant|resigned|quit) "
            r"(?:at|by|from)) (?P<o>(?:the |a )?[\w&'. -]+)", operation="retract", most_words=5),
    Rule("works_at", "laid off|let go|made redundant|i quit|i left|i retired",
        r"{L}after [\w ]+? (?:at|with|for) (?P<o>(?:the |a )?[\w&' -]+?),? i (?:was laid off|was "
        r"let go|was made redundant|quit|left|resigned|got laid off)\b", operation="retract", most_words=5),
    Rule("works_at",
        "hired me|got a job at|got the job at|hired by|employer is|new job at|new job with"
        "|accepted an offer|accepted the offer",
            r"{L}(?:they hired me at|i got (?:a|the) (?:new )?job (?:at|with)|i(?:'ve)? (?:been|was"
            r"|got) hired (?:by|at)|my (?:new )?employer is|i have a new job (?:at|with)|my new "
            r"job is at|i(?:'ve)? (?:accepted (?:an|the) offer (?:from|at))) (?P<o>{PLACE}(?: & "
            r"{NAME})?)"),
    Rule("works_at",
        "i work remotely|i work from home|i work nights|i work days|i work shifts|work part-time"
        "|work full-time|work part time|both work|all work",
            r"{L}(?:i|we)(?: both| all)? work(?: nights| days| shifts| part[- ]time| full[- ]time| "
            r"mornings| remotely| from home)? (?:at|for) (?P<o>(?!(?:home|night|the moment"
            r"|free)\b).+)", most_words=6),
    Rule("reports_to",
        "i answer to|my boss|my manager|my supervisor|my team lead|our team lead|my line manager"
        "|our boss|our manager",
            r"{L}(?:i (?:now )?answer to|(?:my|our) (?:new |line )*(?:boss|manager|supervisor|team "
            r"lead),?) (?P<o>{NAME})(?= wants| said| says| asked| needs| is| has| will| would| "
            r"likes|,|[.;!]|$| these| now)", most_words=2, flags=("reported",)),
    Rule("works_on", "building|developing|designing|maintaining|migrating|leading",
        r"{L}(?:i'm|i am|we're|we are|i've been)(?: currently| now)* (?:building|developing"
        r"|designing|maintaining|migrating|leading) (?P<o>(?:the|our) (?:[\w-]+ "
        r"){0,3}[\w-]+?)(?=[,.;!]|$| together| with| for| this| at| from| to | and )", most_words=6),
    Rule("studies", " exam|licence|license",
        r"{L}(?:i'm|i am|i've been)(?: currently| now)* (?:preparing|studying|training|revising) "
        r"for (?:the|my|an?) (?P<o>(?:[\w-]+ ){1,4}(?:exam|test|certification|licen[cs]e))\b"),
    Rule("studies",
        "master's|masters|bachelor|degree|phd|doctorate|majoring|enrolled|diploma|evening course"
        "|course in|classes|lessons|taking a",
            r"{L}(?:i'm|i am|i've been)(?: currently| now| also)* (?:doing|taking|finishing"
            r"|pursuing|working on|enrolled in|majoring in|starting)(?: an?| my| the)? "
            r"(?:(?:part-time |online |evening )?(?:master's|masters|bachelor's|degree|phd"
            r"|doctorate|diploma|course|major|classes|lessons)(?: degree)? (?:in|on) "
            r")?(?P<o>(?!(?:it|this|that|the|my|a|an)\b)[\w-]+(?: [\w-]+){0,2}?)(?= class| classes"
            r"| lessons| course| on the side| at| in |[,.;!]|$| this| part)", most_words=4),
    Rule("studies", " studies ",
        r"{L}(?P<s>my {REL}(?:,? {NAME},?)?) (?:studies|is studying|is learning) (?P<o>(?!(?:hard"
        r"|at|in|a lot|abroad)\b)[\w -]+?)(?= at | in | with |[,.;!]|$)", most_words=4),
    Rule("responsible_for",
        "go through|goes through|signature|approval|takes over|the one responsible|is responsible "
        "for|sign-off|contact for|responsibility",
            r"{L}(?P<s>(?!(?:i|we|it|he|she|they|this|that)\b)[\w ,.'€$£-]+?) (?:go|goes|have to go"
            r"|has to go|must go)(?: now)? (?:through|to) (?P<o>{NAME})(?= now|,| for| from|[.;!]|$"
            r"| first| until| instead)"),
    Rule("responsible_for", "signature|approval|sign-off|okay",
        r"{L}(?P<s>(?!(?:i|we|it|he|she|they|this|that)\b)[\w ,.'€$£-]+?) (?:needs?|requires?|must "
        r"have) (?P<o>{NAME})'s (?:signature|approval|sign-off|okay|ok|consent)"),
    Rule("responsible_for", "takes over|took over|will take over",
        r"{L}(?P<o>{NAME}) (?:takes over|took over|will take over|is taking over) (?P<s>(?:the "
        r"|our |my |all )[\w' -]+?)(?= from me| from us| from| now| while| in | on |[,.;!]|$)", most_words=3),
    Rule("responsible_for", "the one responsible|in charge",
        r"{L}(?:if it concerns|for|when it comes to|as for|about) (?P<s>(?:the |our |all )?[\w' "
        r"-]+?), (?P<o>{NAME}) is (?:the one (?:responsible|in charge)|in charge|responsible)",
        flags=("conditional",)),
    Rule("responsible_for", "contact for|person for|owner of",
        r"{L}the (?:contact|contact person|person|right person|owner) (?:for|of) (?P<s>(?:the |our "
        r"|all )?[\w' -]+?) is(?: now)? (?P<o>{NAME})"),
    Rule("works_as", "ceo|cto|cfo|coo|founder|owner|head of|director of|president|treasurer|captain",
        r"{L}(?:i'm|i am) (?:the |a |an )?(?P<o>(?:ceo|cto|cfo|coo|(?:co-)?founder|owner|(?:vice "
        r")?president|treasurer|captain)(?: (?:of|at) (?!the (?:day|week))[\w ]+?)?)(?=[,.;!]|$| "
        r"and| so| now)", most_words=7),
    Rule("works_as", "work in ",
        r"{L}{I} work in (?P<o>marketing|sales|finance|hr|it|healthcare|education|hospitality"
        r"|retail|logistics|construction|insurance|banking|procurement|advertising|publishing"
        r"|research|consulting|law|tech|customer (?:support|service)|public relations|real estate"
        r"|accounting|agriculture|tourism)\b"),
    Rule("works_at", "work as |works as |working as ",
        r"{L}i(?:'ve been|'m| am)? work(?:ing)? as (?:an? |the )?(?:[\w-]+ ){1,4}?(?:at|for|with) "
        r"(?P<o>(?:the |an? )?{PLACE}|(?:an?|the) (?:[\w-]+ ){0,3}(?:startup|company|firm|bank"
        r"|school|hospital|clinic|agency|university|bakery|shop|charity|museum|chain of [\w ]+))",
        most_words=6),
    Rule("works_at", "no longer with|no longer at|not with",
        r"{L}(?:i'm|i am) (?:no longer (?:with|at|employed (?:at|by))) (?P<o>{PLACE})", operation="retract"),
    Rule("reports_to",
        "our new team lead|my new boss|my new manager|our new manager|our new boss|is my boss|is "
        "my manager|my supervisor|my team lead|our team lead",
            r"{L}(?P<o>{NAME}(?: {NAME})?) is (?:now )?(?:my|our) (?:new )?(?:team lead|boss"
            r"|manager|supervisor|line manager)\b", most_words=3),
    Rule("responsible_for", "point of contact|contact person|go-to person|in charge",
        r"{L}(?P<o>{NAME}) is (?:now )?(?:the|our|my) (?:point of contact|contact person|contact"
        r"|go-to person) for (?P<s>.+?)(?=[,.;!]|$| now| until| while)", most_words=3),
)
RULES = WORK
