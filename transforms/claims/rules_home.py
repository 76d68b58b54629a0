"""Rules about where people live and where things are."""

from __future__ import annotations

from transforms.claims.rule import Rule

# fmt: off

HOME = (
    Rule("located_at", "leaves from|departs from|stops at|starts from|shuttle|bus |train ",
        r"{L}the (?P<w>[\w-]+) (?:called|wrote|says|said|confirmed|confirms|told (?:me|us)|e-mailed"
        r"|emailed|texted)(?: again| back| today| me| us)*[:,]? (?:that )?the (?P<s>shuttle|bus"
        r"|train|tram|ferry|coach|boat|minibus|tour) (?:now )?(?:leaves?|departs?|starts?|stops?) "
        r"(?:from|at) (?P<o>.+)", most_words=14, flags=("reported",)),
    Rule("lives_in", "live in|live near|live at|lives in|lives near|lives at|live on",
        r"{L}(?:i|we) (?:don't|do not|no longer) live (?:in|at|near) (?P<o>.+)",
        operation="retract", most_words=5),
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
        r"|[^\W\d][\w -]+ \d+\w?(?:, [^.;\x00]+)?)", most_words=12, flags=("loose",)),
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
            r"|order|mess|fine|trouble|use|details?|the details?|sale|its way|the way|a mess|a"
            r"|broken|closed|open|too|so|very|not|being|good|great|going|running)\b).+)", most_words=14),
    Rule("located_at", "moved to",
        r"{L}(?P<s>(?:the|our) (?:[\w'-]+ ){0,2}(?:office|branch|warehouse|clinic|practice|shop"
        r"|store|school|depot|gym|studio|restaurant|headquarters|hq|lab|library|stop|meeting point"
        r"|reception|archive))(?: has| have)? (?:now )?moved to (?P<o>.+)", most_words=14, level="firm"),
    Rule("lives_in", "back in ",
        r"{L}(?:i'm|i am|we're|we are|i've been|we've been)(?: now| finally)? (?:back |living back )in "
        r"(?P<o>{PLACE})(?= since| "
        r"for good| permanently| as of| now|,? where (?:i|we) (?:live|belong))"),
    Rule("lives_in", "moved into",
        r"{L}(?:i|we)(?:'ve| have)?(?: just| recently| finally)* moved into (?:an?|our|my|the) (?:new "
        r")?(?:flat|house"
        r"|home|apartment|place) in (?P<o>{PLACE})", level="firm"),
    Rule("lives_in", "new address is in|address is in|address is now in",
        r"{L}(?:my|our) (?:new |home |current )*address is(?: now)? in (?P<o>{PLACE})"),
    Rule("lives_in", "flat in|house in|apartment in|home in|place in",
        r"^\W*(?:(?:big|good|great) news[:,] )?(?:my |our )?new (?:flat|house|home|apartment|place) in "
        r"(?P<o>{PLACE})(?=[,.;!]|$| since| now| as of| from)"),
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
        r"(?P<o>\d+\w? [^.;\x00]+)", most_words=10, flags=("loose",)),
    Rule("timezone", "ahead of you|behind you|i'm on |i am on |we're on |use ",
        r"{L}(?:i'm on |i am on |we're on )?(?P<o>(?-i:[A-Z])[a-z]+) time(?=[.,!]|$)"),
    Rule("located_at",
        "leaves from|departs from|leave from|depart from|is kept|are kept|is stored|are stored|is "
        "located|are located|can be found|is parked",
            r"{L}(?P<s>(?:the|our|my) (?:[\w'-]+ ){0,4}?[\w'-]+?) (?:departs? from|leaves? from"
            r"|(?:is|are)(?: now| always)? (?:kept|stored|located|parked)|can be found) "
            r"(?P<o>(?:(?:at|in|on|under|behind|next to|opposite|above|below|beside|inside|near|by"
            r"|outside) )?(?!(?:the moment|order|mind|secret|separately|private)\b).+)", most_words=14),
    Rule("located_at",
        "office|branch|warehouse|clinic|shop is|store is|school is|depot|gym is|studio|room |kit is"
        "|cupboard|archive|kit ",
            r"{L}(?P<s>(?:the|our|my) (?:[\w'-]+ )?(?:office|branch|warehouse|clinic|shop|store"
            r"|school|depot|gym|studio|meeting room|conference room|room|kit|cupboard|archive)(?: "
            r"(?:in the|with the|for the|for|of the) [\w -]+?)?) is(?: now)? (?P<o>(?:at \d|on the "
            r"|in the |in (?:room|building)|at the |under the |behind the |next to the ).+)", most_words=14),
)
RULES = HOME
