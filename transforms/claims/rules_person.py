"""Rules about a person: identity, work, home and family."""

from __future__ import annotations

from transforms.claims.rule import Rule

# fmt: off
IDENTITY = (
    Rule("name", "my name|my full name|my first name",
        r"{L}my (?:full |first |real )?name(?:'s| is)(?: spelled| now)? (?P<o>{NAME}(?: {NAME})?)",
        most_words=3),
    Rule("name", "call me|calls me",
        r"{L}(?:(?:please|just|you can|you may|everyone|everybody|people|friends|they|my friends"
        r"|most people) )*calls? me (?P<o>{NAME})(?=\s*(?:[,.!;)]|$)|\s+(?:please|instead|from now"
        r"|for short|btw|by the way|not)\b)", most_words=2),
    Rule("name", "i'm |i am |this is ",
        r"^\W*(?:(?:hi|hello|hey|hiya|good (?:morning|evening|afternoon|day)|morning|evening)(?: "
        r"there| all| everyone)?[,!.]? )?(?:i'm|i am|this is) (?!(?:{LANG}|american|canadian"
        r"|australian|british|indian|brazilian|mexican|african|european|asian|catholic|muslim"
        r"|jewish|christian|buddhist|hindu|vegan|vegetarian|celiac|coeliac)\b)(?P<o>{NAME})(?=,? "
        r"(?:and i|from|i work|i'm|and i'm|by the way|btw|the new)\b|[.!,]|$)", most_words=2),
    Rule("born_on", "birthday",
        r"(?:{L}|it's |it is )my birthday(?:'s| is| falls)?(?: on)?(?: the)? (?P<o>{DATE})", keeps_time=True),
    Rule("born_on", "i was born|i'm born|i am born",
        r"{L}i (?:was|am) born (?:on |in )(?:the )?(?P<o>{DATE}|(?:19|20)\d\d)", keeps_time=True),
    Rule("comes_from", "i was born|i grew up|we grew up",
        r"{L}i (?:was born(?: and raised)?|grew up)(?: (?:in|on) [\w ]{4,15})? in (?P<o>{PLACE})"),
    Rule("comes_from", "from ",
        r"{L}(?:i'm|i am|i come|we're|we are|we come)(?: originally| actually)? from (?P<o>{PLACE})"),
    Rule("age", "i'm |i am |i just turned|i turned",
        r"{L}(?:i'm|i am)(?: now| already| only)? (?P<o>\d{1,3})(?: years old| yrs old| years of "
        r"age| yo\b)"),
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
    Rule("works_as", "i'm |i am |we're |we are |as a|as an|my ",
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
    Rule("works_at", " at | for ",
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
    Rule("works_on", "working on", r"{L}{Im} working on (?P<o>(?:the|a|an|our|my) .+)", most_words=6),
    Rule("studies", "studying|learning|i study |i'm taking|we study ",
        r"{L}{Im} (?:studying|learning)(?: for)? (?P<o>(?!(?:to|how|that|from|a lot|new things|more"
        r"|about|by)\b)[^,.;]+?)(?= with | at | in | on |{END})", most_words=6),
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
    Rule("responsible_for", " by ",
        r"{L}(?P<s>(?:the |our |all |every )?(?:[\w,.'$€£-]+ ){1,7}?)(?:is|are|has to be|have to be"
        r"|needs? to be|must be|should be|will be|gets?)(?: now| always)? (?:owned|handled|managed"
        r"|approved|signed(?: off)?|maintained|run|countersigned|covered) by (?P<o>{NAME}(?: "
        r"{NAME})?)"),
)

HOME = (
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
            r"|behind|next to|opposite|above|below|beside|inside|near|by|outside) )?(?!(?:the "
            r"moment|moment|time|fire|holiday|leave|order|mess|fine|trouble|use|sale|its way|the "
            r"way|a mess|a|broken|closed|open|too|so|very|not|being|good|great|going|running)\b).+)",
            most_words=14),
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
)

FAMILY = (
    Rule("has_pet", "dog|cat|rabbit|hamster|parrot|horse|pony|puppy|kitten|tortoise|turtle|budgie",
        r"{L}(?:my|our) (?P<o>{PET})(?:,? {NAME})? (?:died|passed away|has died)", operation="retract"),
    Rule("has_pet",
        "dog|cat|rabbit|hamster|parrot|horse|pony|pupp|kitten|guinea pig|tortoise|turtle|budgie"
        "|goldfish|snake",
            r"{L}(?:i|we)(?:'ve got|'ve| have got| have| own| adopted| got| just got| keep)(?: "
            r"also)? (?P<o>(?:an? |one |two |three |four |five |\d+ |several )(?:new |old |little "
            r"|big |small |young |rescue )*(?:{PET})(?:s|ies)?)(?: (?:called|named))?(?P<z> "
            r"{NAME}(?: and {NAME})?)?", most_words=6),
    Rule("has_pet",
        "dog|cat|rabbit|hamster|parrot|horse|pony|puppy|kitten|guinea pig|tortoise|turtle|budgie"
        "|goldfish", r"\b(?:my|our) (?P<r>{PET})(?:'s name)?(?: is|'s)? (?:called |named )?(?P<o>{NAME})",
        most_words=2),
    Rule("has_relative", "married to|engaged to",
        r"{L}(?:i'm|i am)(?: happily)? (?:married|engaged) to (?P<o>{NAME})", shape="spouse {}"),
    Rule("has_relative", "i have |i've got |we have |we've got ",
        r"{L}(?:i|we)(?:'ve got| have got| have) (?P<o>(?:an? |one |two |three |four |five |six "
        r"|\d )(?:(?:older|younger|little|big|small|grown-up|adult|teenage|twin) )*(?:{REL}|kids"
        r"|children)s?(?:,? (?:called |named )?{NAME}(?: and {NAME})?)?)(?! of\b)", most_words=7),
    Rule("has_relative", "my ",
        r"\bmy (?:\d+-year-old |late |dear |lovely )?(?P<r>{REL})(?:'s name is|'s called| is called"
        r"| is named|,)? (?P<o>{NAME})(?!')", most_words=2, flags=("anywhere", "reported")),
)
RULES = (*IDENTITY, *WORK, *HOME, *FAMILY)
