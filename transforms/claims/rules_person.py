"""Rules about a person: identity, work, home and family."""

from __future__ import annotations

from transforms.claims.lexicon import OCCUPATIONS, PETS, RELATIVES
from transforms.claims.rule import Rule

# fmt: off
OCCUPATION_CUES = "|".join(word.removesuffix(r" of \w+").removesuffix(r" \w+") for word in OCCUPATIONS.split("|"))
RELATIVE_CUES = "|".join(f"{whose} {who}" for who in RELATIVES.split("|") for whose in ("my", "our"))
PET_CUES = "|".join(f"{whose} {what}" for what in PETS.split("|") for whose in ("my", "our"))
"""Cues as rare as can be: they decide which messages are read at all."""

IDENTITY = (
    Rule("name", "my name|my full name|my first name",
        r"{L}my (?:full |first |real )?name(?:'s| is)(?: spelled| now)? (?P<o>{NAME}(?: {NAME})?)",
        most_words=3),
    Rule("name", "call me|calls me",
        r"{L}(?:(?:please|just|you can|you may|everyone|everybody|people|friends|they|my friends"
        r"|most people) )*calls? me (?P<o>{NAME})(?=\s*(?:[,.!;)]|$)|\s+(?:please|instead|from now"
        r"|for short|btw|by the way|not)\b)", most_words=2),
    Rule("name", "i'm |i am ",
        r"^\W*(?:(?:hi|hello|hey|hiya|good (?:morning|evening|afternoon|day)|morning|evening)(?: "
        r"there| all| everyone)?[,!.]? )?(?:i'm|i am) (?!(?:{LANG}|american|canadian|australian"
        r"|british|indian|brazilian|mexican|african|european|asian|catholic|muslim|jewish|christian"
        r"|buddhist|hindu|vegan|vegetarian|celiac|coeliac)\b)(?P<o>{NAME})(?=,? (?:and i|from|i "
        r"work|i'm|and i'm|by the way|btw|the new)\b|[.!,]|$)", most_words=2),
    Rule("born_on", "birthday",
        r"{L}(?:it's |it is )?my birthday(?:'s| is| falls)?(?: on)?(?: the)? (?P<o>{DATE})", keeps_time=True),
    Rule("born_on", "i was born|i'm born|i am born",
        r"{L}i (?:was|am) born (?:on |in )(?:the )?(?P<o>{DATE}|(?:19|20)\d\d)", keeps_time=True),
    Rule("comes_from", "i was born|i grew up|we grew up",
        r"{L}i (?:was born(?: and raised)?|grew up)(?: (?:in|on) [\w ]{4,15})? in (?P<o>{PLACE})"),
    Rule("comes_from", "from ",
        r"{L}(?:i'm|i am|i come|we're|we are|we come)(?: originally| actually)? from (?P<o>{PLACE})"),
    Rule("age",
        "years old|yrs old|years of age|i'm 1|i'm 2|i'm 3|i'm 4|i'm 5|i'm 6|i'm 7|i'm 8|i'm 9|i am "
        "1|i am 2|i am 3|i am 4|i am 5|i am 6|i am 7|i am 8",
            r"{L}(?:i'm|i am)(?: now| already| only)? (?P<o>\d{1,3})(?: years old| yrs old| years "
            r"of age| yo\b)"),
    Rule("age", "turned ",
        r"{L}i(?:'ve)?(?: just)? turned (?P<o>\d{1,3})(?!\s*(?:%|percent|degrees|it|pages))(?=\W|$)"),
    Rule("speaks", "speak",
        r"{L}{S}(?: can)? (?:speaks?|know)(?: (?:only|fluent|basic|some|both|a little(?: bit of)?"
        r"|a bit of|good))* (?P<o>{LANG}(?:(?:,? and| or|,)(?: (?:a (?:bit|little)(?: of)?|some"
        r"|basic|fluent))? {LANG})*)", is_list=True),
    Rule("speaks", "fluent|native|mother tongue",
        r"{L}(?:i'm|i am) (?:fluent|a native speaker|native) (?:in|of) (?P<o>{LANG}(?:(?:,? and|,) "
        r"{LANG})*)", is_list=True),
    Rule("speaks", "native|mother tongue|first language",
        r"{L}my (?:native language|mother tongue|native tongue|first language) is (?P<o>{LANG})"),
    Rule("speaks", "native",
        r"{L}(?:as an? |i'm an? |i am an? |being an? )(?:native (?P<o>{LANG}) speaker)"),
    Rule("speaks", "native",
        r"{L}(?:as an? |i'm an? |i am an? |being an? )(?P<o>{LANG}) native(?: speaker)?"),
    Rule("speaks", "speak",
        r"{L}i {NOT}(?: really)? speak (?:any |much |a word of )?(?P<o>{LANG}(?:(?: or|,) {LANG})*)", polarity="negative",
        is_list=True),
    Rule("name", " here",
        r"^\W*(?:(?:hi|hello|hey|hey there|hi there|good \w+)[,!.]? )?(?P<o>(?!(?:same|look|looky"
        r"|right|still|over|up|down|out|come|live|been|new|nice|good|great|back|nothing|everything"
        r"|anyone|stuck|sitting|well|really|always|never|almost|down|it's|we're|i'm)\b){NAME}) "
        r"here(?=[.,!]|$| from| again)", most_words=2),
    Rule("name",
        "i go by|know me as|this is |the name is|the name's|address me as|shorten it|shorten my "
        "name",
            r"{L}(?:i go by|(?:people|friends|most) know me as|the name is|the name's|you (?:can"
            r"|may) address me as|(?:friends|people) shorten (?:it|my name) to|(?<=^)(?:hi|hello"
            r"|hey)[,!]? this is) (?P<o>(?:(?:dr|mr|ms|mrs|prof)\.? )?{NAME}(?: {NAME})?)", most_words=3),
    Rule("name", "this is ",
        r"^\W*(?:hi|hello|hey|good \w+)[,!.]? (?:there[,!.]? )?this is (?P<o>{NAME})(?=[.,!]|$| "
        r"from| again| and)", most_words=2),
    Rule("born_on", "date of birth|my birthday|born on",
        r"{L}(?:my date of birth is |put |note |use )?(?P<o>{DATE})(?: (?:is my birthday|down as "
        r"my (?:date of birth|birthday)|as my (?:date of birth|birthday)))", keeps_time=True),
    Rule("born_on", "date of birth", r"{L}my date of birth is (?P<o>{DATE})", keeps_time=True),
    Rule("born_on", "i'll turn|i turn ", r"{L}(?:i'll|i) turn \d+[^.;!?]*? on (?P<o>{DATE})",
        keeps_time=True),
    Rule("comes_from", "born and raised|raised in|i hail from|originally from",
        r"{L}(?:i was |i'm |i am )?(?:born and (?:raised|bred) in|raised in|i hail from|originally "
        r"from) (?P<o>{PLACE})"),
    Rule("comes_from", "i come from|i'm from|i am from",
        r"{L}(?:i come|i'm|i am) from an? (?:small |tiny |little )?(?:village|town|island|city"
        r"|farm) (?:outside|near|in|outside of|close to|by) (?P<o>{PLACE})"),
    Rule("age",
        "i'm 1|i'm 2|i'm 3|i'm 4|i'm 5|i'm 6|i'm 7|i'm 8|i'm 9|i am 1|i am 2|i am 3|i am 4|i am 5"
        "|i am 6|i am 7|i am 8",
            r"{L}(?:i'm|i am)(?: now| already| only)? (?P<o>[1-9]\d)(?=[,.!]|$| and (?:still|fit"
            r"|happy|i|have|live|my))"),
    Rule("age", "-year-old|year old", r"{L}as an? (?P<o>\d{2})[- ]year[- ]old\b"),
    Rule("speaks", "never learned|never learnt|never studied",
        r"{L}(?:i )?(?:have )?never (?:learned|learnt|studied|spoke) (?P<o>{LANG})\b", polarity="negative",
        is_list=True),
    Rule("speaks",
        "my english|my german|my french|my spanish|my italian|my dutch|my polish|my portuguese|my "
        "japanese|my chinese|my swedish|my danish|my russian|my turkish|my arabic",
            r"{L}my (?P<o>{LANG}) is (?:okay|ok|good|fine|fluent|decent|rusty|passable|not bad"
            r"|basic|better|pretty good|quite good)\b"),
    Rule("speaks", "mother tongue|first language|native language",
        r"{L}(?P<o>{LANG}) is my (?:mother tongue|first language|native language|native tongue)"),
)

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
        r"also)? work(?:s|ing)? as (?P<o>(?:an? |the )?[\w' -]+)", most_words=6),
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
        r"{L}(?:i|we) (?:don't|do not|no longer) work (?:at|for) (?P<o>.+)", operation="retract",
        most_words=6),
    Rule("works_at", "work at|work for|works at|works for|working at|working for",
        r"{L}{S}(?:(?:'ve| have) been|'m| am| is|'ll be|'ll start)?(?: currently| now)* (?:works?"
        r"|working) (?:at|for) (?P<o>(?!(?:home|night|the moment|least|once|all|free|now|hours"
        r"|years|months|myself|the (?:first|last|best)|a living|\d|days|ages|me|it|them|you)\b).+)",
        most_words=6),
    Rule("works_at", "started at|joined |start at|starting at|job at|job with|employed|hired",
        r"{L}i(?:'ve| have|'m|'ll)?(?: just| recently| finally)? (?:started(?: working)? (?:at|with"
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
        r"{L}my (?:new |current |direct |line )*(?:boss|manager|supervisor|team lead)(?:'s| is)(?: "
        r"now| still)?(?: called| named)? (?P<o>{NAME}(?: {NAME})?)(?=\s*(?:[,.;:!)]|$)| (?:and|now"
        r"|so|since|but)\b)"),
    Rule("reports_to", "report to|reporting to",
        r"{L}(?:i|we)(?:'m| am|'ll)?(?: now| currently)? report(?:ing)? (?:directly )?to "
        r"(?P<o>{NAME}(?: {NAME})?)"),
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
        most_words=4),
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
        "i work nights|i work days|i work shifts|work part-time|work full-time|work part time|both "
        "work|all work",
            r"{L}(?:i|we)(?: both| all)? work(?: nights| days| shifts| part[- ]time| full[- ]time| "
            r"mornings)? (?:at|for) (?P<o>(?!(?:home|night|the moment|free)\b).+)", most_words=6),
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
        "|course in|classes|lessons",
            r"{L}(?:i'm|i am|i've been)(?: currently| now| also)* (?:doing|taking|finishing"
            r"|pursuing|working on|enrolled in|majoring in|starting)(?: an?| my| the)? "
            r"(?:(?:part-time |online |evening )?(?:master's|masters|bachelor's|degree|phd"
            r"|doctorate|diploma|course|major|classes|lessons)(?: degree)? (?:in|on) "
            r")?(?P<o>(?!(?:it|this|that|the|my|a|an)\b)[\w-]+(?: [\w-]+){0,2}?)(?= classes| "
            r"lessons| course| on the side| at| in |[,.;!]|$| this| part)", most_words=4),
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
)

HOME = (
    Rule("located_at", "leaves from|departs from|stops at|starts from|shuttle|bus |train ",
        r"{L}the (?P<w>[\w-]+) (?:called|wrote|says|said|confirmed|confirms|told (?:me|us)|e-mailed"
        r"|emailed|texted)(?: again| back| today| me| us)*[:,]? (?:that )?the (?P<s>shuttle|bus"
        r"|train|tram|ferry|coach|boat|minibus|tour) (?:now )?(?:leaves?|departs?|starts?|stops?) "
        r"(?:from|at) (?P<o>.+)", most_words=14, flags=("reported",)),
    Rule("lives_in", "live in|live near|live at|lives in|lives near|lives at|live on",
        r"{L}(?:i|we) (?:don't|do not|no longer) live (?:in|at|near) (?P<o>.+)", operation="retract",
        most_words=5),
    Rule("lives_in", "moved out|moved away",
        r"{L}(?:i|we)(?:'ve| have)?(?: just| recently| finally)? moved (?:out of|away from) "
        r"(?P<o>(?!(?:my|our|the way)\b).+)", operation="retract", most_words=5),
    Rule("lives_in", "live in|live near|live at|lives in|lives near|lives at",
        r"{L}{S} lives? (?:in|near|at) (?P<o>{PLACE}|(?:an?|the) [\w-]+(?: [\w-]+)? (?:in|near|of) "
        r"{PLACE})"),
    Rule("lives_in", "moved to|relocated to|moved back to",
        r"{L}(?P<s>i|we|my {REL}(?:,? {NAME},?)?)(?:'ve| have| has)?(?: just| recently| finally| "
        r"actually)* (?:moved|relocated)(?: back| over| house)? to (?P<o>{PLACE})", level="firm"),
    Rule("lives_in", "living in|based in|living at|based out of",
        r"{L}{Im} (?:living|based|settled)(?: out of| in| at)+ (?P<o>{PLACE}|(?:an?|the) [\w-]+(?: "
        r"[\w-]+)? (?:in|near|of) {PLACE})"),
    Rule("lives_in", "lived in",
        r"{L}(?:i've|i have|we've|we have) lived in (?P<o>{PLACE})(?= since| for| all my)"),
    Rule("lives_in", "home is", r"{L}(?:my )?home is(?: now| in)? (?P<o>{PLACE})"),
    Rule("lives_in", "my address|my home address|my new address|our address|my postal address",
        r"{L}(?:my|our) (?:home |new |current |postal )*address is(?: now)? (?P<o>\d+\w? [^.;\x00]+"
        r"|[^\W\d][\w -]+ \d+\w?(?:, [^.;\x00]+)?)", most_words=12),
    Rule("located_at", "address is|address:",
        r"{L}(?:the )?(?:new |current )?address of (?P<s>(?:the|our|my) [\w' -]+?) is(?: now)? "
        r"(?P<o>[^.;\x00]*\d[^.;\x00]*)", most_words=14),
    Rule("located_at", "address is",
        r"{L}(?P<s>(?:the|our|my) [\w' -]+?)'s (?:new |current |postal )*address is(?: now)? "
        r"(?P<o>[^;\x00]*\d[^;\x00]*)", most_words=14),
    Rule("located_at", "leaves from|leave from|departs from|depart from|stops at|picks up at|starts from",
        r"{L}(?P<s>(?:the|our|my) (?:[\w'-]+ ){0,3}(?:shuttle|bus|train|tram|ferry|coach|boat"
        r"|minibus|tour))(?: now| always| also)? (?:leaves?|departs?|starts?|stops?|picks up) "
        r"(?:from|at) (?P<o>.+)", most_words=14, flags=("reported",)),
    Rule("located_at",
        " is at | is in | is on | is under | is behind | is next to | is opposite | is above | is "
        "below | is beside | is now at | are in | are at | are under | is located | is desk |is "
        "near | is by ",
            r"{L}(?P<s>(?:the|our|my) (?:[\w'-]+ ){0,2}(?:office|branch|warehouse|clinic|practice"
            r"|shop|store|school|depot|gym|studio|restaurant|headquarters|hq|lab|library|station"
            r"|stop|entrance|exit|garage|car park|meeting point|reception|desk|seat|spare key"
            r"|spare keys|keys?|router|fuse box|first[- ]aid kit|printer|server room|archive|locker"
            r"|bike|car|van|stopcock|meter|wine cellar|kitchen tools|safe)(?: in the [\w]+)?) (?:is"
            r"|are)(?: now| still| always)?(?: located| kept| stored)? (?P<o>(?:(?:at|in|on|under"
            r"|behind|next to|opposite|above|below|beside|inside|near|by|outside) (?=the |an? |my "
            r"|our |(?-i:[A-Z])|\d|gate |floor |room |desk |platform |level )|(?=desk |room "
            r"|platform |gate |locker |bay |\d))(?!(?:the moment|moment|time|fire|holiday|leave"
            r"|order|mess|fine|trouble|use|sale|its way|the way|a mess|a|broken|closed|open|too|so"
            r"|very|not|being|good|great|going|running)\b).+)", most_words=14),
    Rule("located_at", "moved to",
        r"{L}(?P<s>(?:the|our) (?:[\w'-]+ ){0,2}(?:office|branch|warehouse|clinic|practice|shop"
        r"|store|school|depot|gym|studio|restaurant|headquarters|hq|lab|library|stop|meeting point"
        r"|reception|archive))(?: has| have)? (?:now )?moved to (?P<o>.+)", most_words=14, level="firm"),
    Rule("timezone", "time zone|timezone",
        r"{L}(?:my time ?zone is|i'm in(?: the)?|i am in(?: the)?|we're in(?: the)?|we are in(?: "
        r"the)?) (?P<o>(?:utc|gmt) ?[+-] ?\d+(?::\d\d)?|[\w/]+(?:(?= time ?zone)|{END}))(?: time "
        r"?zone)?"),
    Rule("timezone", "utc|gmt|cet",
        r"{L}(?:my time ?zone is|i'm (?:in|on)|i am (?:in|on)|we're (?:in|on)|we are (?:in|on)) "
        r"(?P<o>(?:utc|gmt)(?: ?[+-] ?\d+(?::\d\d)?)?|(?-i:CET|CEST|EST|PST|EET|IST|JST|BST"
        r"|AEST))\b"),
    Rule("lives_in", "we're in |i'm in |we are in |i am in ",
        r"{L}(?:i'm|i am|we're|we are)(?: now)? in (?P<o>{PLACE})(?= now| for good| these days| "
        r"permanently)"),
    Rule("lives_in",
        "flat is in|house is in|home is in|apartment is in|place is in|flat in|house in|apartment "
        "in", r"{L}(?:my|our) (?:new )?(?:flat|house|home|apartment|place) is in (?P<o>{PLACE})"),
    Rule("lives_in", "flat in|house in|apartment in|place in|room in",
        r"{L}(?:i|we)(?:'ve| have)?(?: just| recently| finally)* (?:bought|rented|rent|found|got"
        r"|own) an? (?:[\w-]+ )?(?:flat|house|apartment|place|room|studio) in (?P<o>{PLACE})"),
    Rule("lives_in", "lived here in|been living|lived in",
        r"{L}(?:i've|i have|we've|we have)(?: been living| lived)(?: here)?(?: with [\w ]+?)? in "
        r"(?P<o>{PLACE})"),
    Rule("lives_in", "i live |we live |lives just",
        r"{L}{S} lives? (?:just |right |quite |very )?(?:outside|outside of|close to|near|north of"
        r"|south of|east of|west of|not far from|here in|alone in|together in) (?P<o>{PLACE})"),
    Rule("lives_in", "gave up the|gave up my|left the flat|moved away|sold the house|sold our house",
        r"{L}(?:i|we)(?:'ve)?(?: just| finally)? (?:gave up|given up|left|sold) (?:the|my|our) "
        r"(?:flat|house|apartment|room|place) in (?P<o>{PLACE})", operation="retract"),
    Rule("lives_in", "moved here|settled",
        r"{L}(?:i|we)(?:'ve| have)?(?: just| recently| finally)* (?:moved here|settled|moved "
        r"over)(?: down)?(?: to| in) (?P<o>{PLACE})"),
    Rule("lives_in", "my place|ship to|deliver to|send it to|moved",
        r"{L}(?:please )?(?:(?:ship|deliver|send)(?: it| them| everything)? to (?:my place|my home"
        r"|my new address|us at home)|i've moved|we've moved|i moved|we moved|my new place): "
        r"(?P<o>\d+\w? [^.;\x00]+)", most_words=10),
    Rule("timezone", " time",
        r"{L}(?:i'm on |i am on |we're on )?(?P<o>(?-i:[A-Z])[a-z]+) time(?=[.,!]|$)"),
    Rule("located_at",
        "leaves from|departs from|leave from|depart from|is kept|are kept|is stored|are stored|is "
        "located|are located|can be found|is parked",
            r"{L}(?P<s>(?:the|our|my) (?:[\w'-]+ ){0,4}?[\w'-]+?) (?:departs? from|leaves? from"
            r"|(?:is|are)(?: now| always)? (?:kept|stored|located|parked)|can be found) "
            r"(?P<o>(?:(?:at|in|on|under|behind|next to|opposite|above|below|beside|inside|near|by"
            r"|outside) )?(?!(?:the moment|order|mind|secret|separately|private)\b).+)", most_words=14),
    Rule("located_at", " at | in | on | under | behind ",
        r"{L}(?P<s>(?:the|our|my) (?:[\w'-]+ )?(?:office|branch|warehouse|clinic|shop|store|school"
        r"|depot|gym|studio|meeting room|conference room|room|kit|cupboard|archive)(?: (?:in the"
        r"|with the|for the|for|of the) [\w -]+?)?) is(?: now)? (?P<o>(?:at \d|on the |in the |in "
        r"(?:room|building)|at the |under the |behind the |next to the ).+)", most_words=14),
)

FAMILY = (
    Rule("has_pet", "died|passed away",
        r"{L}(?:my|our) (?P<o>{PET})(?:,? {NAME})? (?:died|passed away|has died)", operation="retract"),
    Rule("has_pet",
        "dog|cat|rabbit|hamster|parrot|horse|pony|pupp|kitten|guinea pig|tortoise|turtle|budgie"
        "|goldfish|snake",
            r"{L}(?:i|we)(?:'ve got|'ve| have got| have| own| adopted| got| just got| keep)(?: "
            r"also)? (?P<o>(?:an? |one |two |three |four |five |\d+ |several )(?:new |old |little "
            r"|big |small |young |rescue )*(?:{PET})(?:s|ies)?)(?: (?:called|named))?(?P<z> "
            r"{NAME}(?: and {NAME})?)?", most_words=6),
    Rule("has_pet", PET_CUES,
        r"\b(?:my|our) (?:(?:old|little|big|sweet|new|rescue|lovely) )*(?P<r>{PET})(?:'s name is|,"
        r"| is called| is named)? (?:called |named )?(?P<o>{NAME})", most_words=2),
    Rule("has_relative", "married to|engaged to",
        r"{L}(?:i'm|i am)(?: happily)? (?:married|engaged) to (?P<o>{NAME})", shape="spouse {}"),
    Rule("has_relative", "i have |i've got |we have |we've got ",
        r"{L}(?:i|we)(?:'ve got| have got| have) (?P<o>(?:an? |one |two |three |four |five |six "
        r"|\d )(?:(?:older|younger|little|big|small|grown-up|adult|teenage|twin) )*(?:{REL}|kids"
        r"|children)s?(?:,? (?:called |named )?{NAME}(?: and {NAME})?)?)(?! of\b)", most_words=7),
    Rule("has_relative", RELATIVE_CUES,
        r"\bmy (?:\d+-year-old |late |dear |lovely )?(?P<r>{REL})(?:'s name is|'s called| is called"
        r"| is named|,)? (?P<o>{NAME})", most_words=2, flags=("anywhere", "reported")),
    Rule("has_relative", RELATIVE_CUES, r"\b(?P<o>{NAME}), (?:my|our) (?P<r>{REL})\b(?=,| is| has| and)",
        most_words=2),
    Rule("has_relative", "our ",
        r"\bour (?P<r>son|daughter|niece|nephew|baby|youngest|eldest)(?:'s name is| is called| is "
        r"named|,)? (?P<o>{NAME})", most_words=2),
    Rule("has_relative", "other half|better half|named after",
        r"{L}my (?:other|better) half is (?:[\w ]+ and )?(?:called |named )?(?P<o>{NAME})", shape="partner {}",
        most_words=2),
    Rule("has_relative", "father of|mother of|mum of|dad of|mom of|parent of|parents of",
        r"{L}(?:i'm|i am|as) an? (?:proud |single |busy )?(?:father|mother|mum|mom|dad|parent) of "
        r"(?P<o>one|two|three|four|five|six|twins|triplets|\d)\b", shape="{} children"),
    Rule("has_pet",
        "adopted|greyhound|labrador|poodle|beagle|terrier|collie|spaniel|dachshund|husky|retriever",
            r"{L}(?:i|we)(?:'ve| have)?(?: just| recently| finally)? (?:adopted|got|bought|rescued"
            r"|have) (?P<o>an? (?:[\w-]+ ){0,2}(?:greyhound|labrador|poodle|beagle|terrier|collie"
            r"|spaniel|dachshund|husky|retriever|pug|corgi|boxer|whippet|siamese|maine coon"
            r"|{PET}))\b", most_words=5),
    Rule("has_pet", "say goodbye|put down|put our|lost our|lost my|rehomed",
        r"{L}(?:i|we)(?:'ve)? (?:had to (?:say goodbye to|put down)|lost|said goodbye to|rehomed) "
        r"(?:my|our) (?:old |dear |sweet )?(?P<o>{PET})\b", operation="retract"),
)
RULES = (*IDENTITY, *WORK, *HOME, *FAMILY)
