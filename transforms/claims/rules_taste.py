"""Rules about likes, dislikes and habits."""

from __future__ import annotations

from transforms.claims.rule import Rule

# fmt: off

TASTES = (
    Rule("likes",
        "n't like|not like|dont like|n't enjoy|not enjoy|n't love|not love"
        "|never liked|never like|n't really like|n't really enjoy|n't much like|n't "
        "care for|n't particularly|n't even like|not really like",
            r"{L}(?:i|we)(?: really| honestly| actually| still| just| also)* (?:don't|do not|dont"
            r"|never)(?: really| much| particularly| even)? (?:like|enjoy|love|care for) "
            r"(?P<o>(?!to\b).+)", polarity="negative", most_words=8),
    Rule("likes", "no longer like|no longer enjoy|no longer love|no longer care",
        r"{L}(?:i|we)(?: really| honestly| actually| just| also)* no longer(?: really| much)? "
        r"(?:like|enjoy|love|care for) (?P<o>(?!to\b).+)", operation="retract", most_words=8),
    Rule("likes", "hate|dislike|can't stand|cannot stand|can't bear|loathe|detest|despise|hates",
        r"{L}(?P<s>i|we|my {REL}(?:,? {NAME},?)?)(?: really| absolutely| still| just| honestly| "
        r"also)* (?:hates?|dislikes?|can't (?:stand|bear)|cannot (?:stand|bear)|loathes?|detests?"
        r"|despises?) (?P<o>(?!to\b|when\b|up\b|by\b|for\b|in\b|on\b|still\b|the fact).+)",
        polarity="negative", most_words=7),
    Rule("likes", "stand |stand the", r"\b(?:and|but)(?: i)? (?:still )?can't (?:stand|bear) (?P<o>.+)",
        polarity="negative", most_words=6),

    Rule("likes", "not into|not a fan|not keen|not fond",
        r"{L}(?:i'm|i am)(?: really| just)? not(?: really| that| much)? (?:into|a (?:big |huge "
        r")?fan of|keen on|fond of) (?P<o>.+)", polarity="negative", most_words=6),
    Rule("likes", "fan of|fond of|keen on|crazy about|into |obsessed",
        r"{L}{Im}(?: a)?(?: big| huge| great)? (?:fan of|fond of|keen on|crazy about|obsessed with"
        r"|really into|very into|into)(?: both)? (?P<o>.+)", most_words=6),
    Rule("likes", "favourite|favorite",
        r"{L}my (?:all-time )?favou?rite (?P<z>[\w ]+?)(?: by far)? (?:is|are) (?P<o>(?!(?:when|how"
        r"|that|to|the one)\b).+)", most_words=6),
    Rule("likes", "makes me sick|make me sick",
        r"{L}(?:the )?(?:smell|taste|sight|thought) of (?P<o>.+?) makes? me sick",
        polarity="negative", most_words=4),
    Rule("likes", "anything with",
        r"{L}{I} (?:like|love|adore|enjoy) anything with (?P<o>[\w ]+?)(?: in it)?{END}", most_words=4),
    Rule("prefers", "summary comes first|summary first",
        r"{L}{I} (?:like it|prefer it|like) when the (?P<o>(?:summary|conclusion|answer|result) "
        r"comes first)", aspect="format"),
    Rule("likes",
        "i like |i love | adore |i enjoy |we like |we love |we enjoy |really like|really love|also "
        "like|also love|still love|always loved|i do like|absolutely love|really enjoy|also enjoy",
            r"{L}{I} (?:like|love|adore|enjoy)(?: also| both)? (?P<o>(?!(?:to|it|that|this|these"
            r"|those|your|you|how|when|where|what|my|his|her|their|him|them|being|having|all|both"
            r"|seeing|knowing|hearing|the (?!(?-i:[A-Z])|(?:ocean|sea|mountains?|desert|forest"
            r"|woods|beach|outdoors|countryside|cold|heat|rain|snow|dark|north|south|city|theatre"
            r"|theater|opera|ballet|cinema|circus|piano|violin|guitar|drums|cello|autumn|winter"
            r"|summer|spring|quiet|silence|sun|night)(?=[.,;!]|$| too| and i| but)|(?:taste of"
            r"|smell of|sound of)))\b).+)", most_words=8),
    Rule("habit", "any more|anymore|no longer",
        r"{L}(?:i|we) (?:don't|do not|no longer) (?P<o>(?:go|run|swim|cycle|play|do|meditate|jog"
        r"|train|smoke|commute|volunteer)\b.*?)(?: any ?more| any longer|{END})",
        operation="retract", most_words=7),
    Rule("habit", "stopped|quit |gave up",
        r"{L}(?:i|we)(?:'ve| have)?(?: just| finally| recently)? (?:stopped|quit|gave up|given up) "
        r"(?P<o>(?:playing|going|running|smoking|jogging|swimming|cycling|meditating|commuting"
        r"|training|volunteering|eating out)\b.*)", operation="retract", most_words=6),
    Rule("habit", "i never |we never ",
        r"{L}(?:i|we) never (?P<o>(?:check|work|answer|skip|eat|take|travel|drive|smoke|shop|watch"
        r"|read|buy|cook)\b.+)", polarity="negative", most_words=8),
    Rule("habit",
        "i usually|we usually|i always|we always|i normally|we normally|i typically|i generally|we "
        "typically",
            r"{L}(?:i|we) (?:usually|always|normally|typically|generally) (?P<o>(?:walk|cycle|run"
            r"|swim|bike|commute|skip|cook|bake|read|work|drive|jog|meditate|have breakfast|have "
            r"lunch|go (?=to bed|for|on|\w+ing)|get up|wake up|nap|train|shop|eat|wake)\b.+)",
            most_words=9, keeps_time=True),
    Rule("habit", "every |on weekdays|at weekends|on weekends|times a week|once a week|twice a week|each ",
        r"{L}(?:i|we) (?P<o>(?:go (?=to|for|on|\w+ing)|get up|wake up|run|swim|cycle|walk|play"
        r"|train|meditate|jog|meet|volunteer|cook|work|bake|practise|practice|attend|do|sing|dance"
        r"|paint|fast|teach)\b(?!.*\bif\b)[^.;!?\x00]*?\b(?:every (?:day|morning|evening|night|week"
        r"|month|weekend|other \w+|{MONTH}|mon|tue|wed|thu|fri|sat|sun)\w*|on (?:weekdays|weekends"
        r"|mon|tues|wednes|thurs|fri|satur|sun)\w*(?: and \w+)?|at weekends|(?:once|twice|\w+ "
        r"times) a (?:week|month|day)|each (?:morning|day|week|evening)))", most_words=12, keeps_time=True),
    Rule("habit", "every ",
        r"{L}every (?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|day|morning|evening|night|weekend"
        r"|week) (?:i|we) (?P<o>(?!(?:am|was|were|think|want|need|get (?:the|a|an)|see|have "
        r"to)\b).+)", most_words=8),
    Rule("habit", "up at", r"{L}(?:i'm |i am )?(?P<o>up at [\w:]+(?: thirty| am)? (?:every|on) \w+)",
        keeps_time=True),
    Rule("likes", "keen on|fond of|into |crazy about",
        r"{L}(?:i'm|i am|i was) (?:not|never)(?: too| very| really| so| particularly| that| exactly"
        r"| all that)* (?:keen on|fond of|into|crazy about) (?P<o>.+)", polarity="negative", most_words=6),
    Rule("likes",
        " bores me| bore me|drives me mad|drives me crazy|drive me mad|drive me crazy|annoys me"
        "|annoy me|make me nervous|makes me nervous|disgusts me|gets on my nerves|leave me cold"
        "|leaves me cold|put me off|puts me off|not my thing|not my cup|isn't my thing|not for me",
            r"{L}(?P<o>(?!(?:he|she|it|that|this|they|which|what|you|nothing|everything|something"
            r"|who|there)\b)[\w' -]+?) (?:really |just |always |simply )?(?:bores? me|drives? me "
            r"(?:mad|crazy|nuts)|annoys? me|makes? me nervous|disgusts? me|gets? on my nerves"
            r"|leaves? me cold|puts? me off|(?:is|are)(?: just| really)? not (?:my thing|my cup of "
            r"tea|for me)|isn't (?:my thing|my cup of tea|for me)|aren't (?:my thing|for me))",
            polarity="negative", most_words=5),
    Rule("likes",
        "could listen to|can't get enough of|cannot get enough of|soft spot for|mad about|nothing "
        "beats|weakness for|always loved|addicted to|a sucker for|passionate about",
            r"{L}(?:i could (?:listen to|watch|eat|read)|i can't get enough of|i cannot get enough "
            r"of|i have a (?:soft spot|weakness) for|i'm (?:mad about|addicted to|a sucker for"
            r"|passionate about)|i am (?:mad about|addicted to|a sucker for|passionate about)|i've "
            r"always loved|nothing beats) (?P<o>.+?)(?= all (?:day|night)|$)",
            most_words=6, flags=("unreal",)),
    Rule("likes", "my favourite|my favorite",
        r"^\W*(?P<o>(?!(?:it|that|this|he|she|they|what|which|these|those)\b)[\w' -]+?) (?:is|are) "
        r"(?:my|our)(?: absolute| all-time)? favou?rites?\b(?! (?:part|thing about))", most_words=5),
    Rule("likes", "i avoid|we avoid",
        r"{L}{I} avoid (?P<o>(?!(?:it|that|this|them|him|her|eating|using|the )\b).+)",
        polarity="negative", most_words=5),
    Rule("likes",
        "and hate|and dislike|but hate|and can't stand|but can't stand|and love|but love|and loathe"
        "|and detest",
            r"(?:^\W*|, )(?:i|i'm|i am|we)\b[^.;!?,]*?(?:,)? (?:and|but) (?:i )?(?:really |also "
            r"|absolutely )?(?:hate|dislike|can't stand|loathe|detest) (?P<o>(?!(?:to|it"
            r"|when)\b)[^.;!?,]+)", polarity="negative", most_words=5),
    Rule("likes", "enjoyed the|loved the|enjoyed my|i enjoyed",
        r"{L}i(?: really| absolutely)? (?:enjoyed|loved) the (?P<o>[\w -]+?) (?:workshop|class"
        r"|course|lesson|lessons|session|sessions)\b", most_words=4),
    Rule("habit",
        "before breakfast|after work|after dinner|after lunch|before work|before bed|before dinner"
        "|in the mornings|in the evenings|at lunch",
            r"{L}(?:i|we)(?: usually| always| normally)? (?P<o>(?:run|walk|swim|cycle|jog|read"
            r"|meditate|write|cook|stretch|nap|pray|draw|paint|train|knit|garden|play \w+|do yoga"
            r"|take a walk|go for a (?:walk|run|swim))\b[^.;!?,]*?(?:before breakfast|after work"
            r"|after dinner|after lunch|before work|before bed|before dinner|in the mornings|in "
            r"the evenings|at lunchtime|at lunch))", most_words=10, keeps_time=True),
    Rule("habit",
        "on mondays|on tuesdays|on wednesdays|on thursdays|on fridays|on saturdays|on sundays|on "
        "weekends|at weekends|in the evenings",
            r"{L}(?:on (?:mon|tues|wednes|thurs|fri|satur|sun)days|on weekends|at weekends),? (?:i"
            r"|we) (?P<o>(?!(?:am|was|were|think|want|need|have to|can|could|will|would|don't|never"
            r"|do not|prefer|hate|like|love)\b).+)", most_words=8),
    Rule("habit",
        "on mondays|on tuesdays|on wednesdays|on thursdays|on fridays|on saturdays|on sundays|on "
        "weekends|at weekends",
            r"{L}(?:i|we)(?: usually| always| normally)? (?P<o>(?:do|go|work|play|cook|bake|visit"
            r"|meet|have|teach|clean|run|swim|call)\b[^.;!?,]*? (?:on (?:mon|tues|wednes|thurs|fri"
            r"|satur|sun)days|on weekends|at weekends))", most_words=10, keeps_time=True),
    Rule("habit", "every morning|every evening|every night|every day|every week|each morning",
        r"{L}(?:i|we)(?: usually| always)? (?P<o>(?:meditate|stretch|journal|write|read|drink|eat"
        r"|have|take|do|make|bake|draw|pray|sing|dance|garden|knit|visit|call)\b(?! (?:to|it|that"
        r"|this)\b)[^.;!?,]*? (?:every|each) (?:single )?(?:morning|evening|night|day|week"
        r"|weekend))", most_words=10, keeps_time=True),
    Rule("habit", "quit smoking|stopped smoking|given up smoking|gave up smoking",
        r"{L}(?:i|we)(?:'ve| have)? (?:quit|stopped|given up|gave up) (?P<o>smoking|gambling"
        r"|biting my nails|skipping breakfast)", operation="retract"),
    Rule("habit", "don't smoke|do not smoke|don't vape|don't gamble|don't drive|do not drive",
        r"{L}(?:i|we) (?:don't|do not) (?P<o>smoke|vape|gamble|drive)(?=[,.;!]|$| and| at all| so)",
        polarity="negative"),
    Rule("likes", " loves | love | likes | like | enjoys | enjoy | adores ",
        r"{L}(?P<s>my (?:{REL}|kids|children|family)(?:,? {NAME},?)?) (?:really |also |absolutely "
        r"|just )?(?:loves?|likes?|enjoys?|adores?) (?P<o>(?!(?:to|it|that|this|these|those|your"
        r"|you|how|when|where|what|my|his|her|their|him|them|being|the|me|us)\b).+)", most_words=5),
    Rule("likes", "like to |love to |enjoy to",
        r"{L}{I} (?:like|love) to (?P<o>(?:cook|read|swim|hike|travel|dance|paint|draw|bake|garden"
        r"|ski|surf|sing|run|climb|camp|fish|knit|write|cycle|sail|play (?:the )?\w+)\b(?! (?:this"
        r"|it|that|you|them)\b)[^,.;!?]*)", most_words=6),
    Rule("likes", "interested in",
        r"{L}(?:i'm|i am)(?: really| very| also| quite)? interested in (?P<o>(?!(?:the|a|an|your"
        r"|this|that|buying|booking|joining|learning|hearing|knowing|seeing|getting|working|finding"
        r"|any|more|one|it)\b)[\w-]+(?: (?:and )?[\w-]+){0,2})(?=[,.;!]|$)"),
    Rule("likes", "my hobby|my hobbies|my passion",
        r"{L}my (?:main |only |biggest )?(?:hobby|hobbies|passion|passions)(?: is| are) (?P<o>.+)",
        is_list=True, most_words=5),
    Rule("habit", "i play |i collect |we play ",
        r"{L}{I} (?P<o>play the \w+|play (?:violin|guitar|piano|drums|cello|chess|tennis|golf"
        r"|football|basketball|volleyball|badminton|hockey|bass)|collect (?!(?:it|them|my|the|this"
        r"|that|data)\b)\w+(?: \w+)?)(?=[,.;!]|$| and| in | since| with)", most_words=5),
    Rule("habit", "for breakfast|for lunch|for dinner",
        r"{L}(?:i|we) (?:always|usually|normally) (?P<o>(?:have|eat|drink|make) (?!(?:this|it"
        r"|that)\b)[\w -]+? for (?:breakfast|lunch|dinner))", most_words=8),
)
RULES = TASTES
