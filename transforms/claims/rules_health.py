"""Rules about allergies, diets, conditions and medicines."""

from __future__ import annotations

from transforms.claims.lexicon import CONDITIONS, DIETS, FOODS, MEDICINES, STATES
from transforms.claims.rule import Rule
from transforms.claims.rules_denial import MEDICINE_CUES

# fmt: off

_ALLERGENS = (
    rf"(?:{FOODS}|latex|pollen|dust|cats?|dogs?|penicillin|bees?|wasps?|tree nuts?|shellfish|eggs?)"
)

AGAIN_CUES = "|".join(
    f"{food} again"
    for food in (
        "fish", "pork", "beef", "seafood", "dairy", "milk", "cheese", "egg", "eggs", "gluten", "wheat",
        "sugar", "nuts", "peanuts", "soy", "chicken", "lamb", "alcohol", "bread", "chocolate", "wine", "beer",
        "shellfish", "caffeine", "lactose", "sweets", "breakfast",
    )
)

HEALTH = (
    Rule("allergic_to", "allergic",
        r"{L}{S}{be} (?:severely |very |badly |highly |deathly |mildly )?allergic to "
        r"(?P<o>(?!(?:anything|nothing|everything|work|mondays?|nonsense|meetings?|stupidity|drama"
        r"|people|bullshit|paperwork|exercise|bureaucracy|effort|mornings|excuses|math|maths"
        r"|fun)\b).+)", is_list=True, most_words=4),
    Rule("allergic_to", "allergy|allergies",
        r"{L}(?P<s>i|we|my {REL}(?:,? {NAME},?)?)(?: have| has|'ve got|'ve) (?:an? )?(?:severe |bad "
        r"|serious |mild |strong |terrible )?(?P<o>(?!(?:no|any|food|other|more|many|several|my|these"
        r"|such)\b)[\w-]+(?: [\w-]+)?) allerg(?:y|ies)",
        most_words=3),
    Rule("allergic_to", "intoleran",
        r"{L}(?P<s>i|my {REL}(?:,? {NAME},?)?){be} (?P<o>lactose|gluten|histamine|fructose)[- "
        r"]intolerant"),
    Rule("allergic_to", "kill me", rf"{{L}}(?P<o>{_ALLERGENS}) (?:could|can|would|will|might) kill me"),
    Rule("diet", "no longer|not a vegetarian any|any more|anymore|not vegan",
        rf"{{L}}(?:i'm|i am) (?:no longer|not) (?:an? )?(?P<o>{DIETS})(?: any ?more)?", operation="retract"),
    Rule("diet", "vegetarian|vegan|pescatarian|kosher|halal|keto|paleo|plant|flexitarian|teetotal",
        r"{L}(?P<s>i|we|my {REL}(?:,? {NAME},?)?|{NAME}){be} (?:an? )?(?:strict |mostly "
        rf"|lifelong )?(?P<o>{DIETS})\b(?! (?:restaurant|place|menu|option|dish))"),
    Rule("diet", "vegetarian|vegan|pescatarian",
        rf"{{L}}(?:as|being) an? (?:strict )?(?P<o>{DIETS})(?= i\b|,)", flags=("unreal",)),
    Rule("diet", "gluten|kosher|halal|vegetarian|vegan|keto|dairy|low-carb|low carb|sugar|plant",
        rf"{{L}}{{I}} (?:eat|keep|follow|am on|cook)(?: an?| only| strictly)? (?P<o>{DIETS})\b"),
    Rule("diet", "n't eat|not eat|never eat|longer eat|n't really eat|cannot eat",
        r"{L}(?P<s>i|we|my {REL}(?:,? {NAME},?)?)(?: really| also)? (?:don't|do not|doesn't"
        r"|does not|never|can't|cannot|no longer|may not|must not) eat (?:any "
        rf")?(?P<o>(?:{FOODS})(?:(?:,| or| and|, or) (?:{FOODS}))*)\b", is_list=True, shape="no {}"),
    Rule("diet", "can't have|cannot have|avoid|stay off|off dairy|off gluten",
        r"{L}(?P<s>i|we|my {REL}(?:,? {NAME},?)?)(?: really| also)? (?:can't have|cannot "
        rf"have|avoids?|must avoid|stay off|am off) (?:any )?(?P<o>(?:{FOODS})(?:(?:,| or| and|, "
        rf"or) (?:{FOODS}))*)\b", is_list=True, shape="no {}"),
    Rule("diet", "doctor's orders|any more|anymore",
        rf"{{L}}(?P<s>my {{REL}}(?:,? {{NAME}},?)?) does(?:n't| not) eat (?P<o>{FOODS})\b", shape="no {}"),
    Rule("has_condition", "i have |i've got |i suffer|i live with|diagnosed",
        r"{L}(?:i|we)(?: have|'ve got| suffer from|'ve had| live with| struggle with|'ve been "
        r"diagnosed with| was(?: recently)? diagnosed with| have been diagnosed with) (?P<o>(?:an? "
        rf"|the |chronic |bad |weak |severe |mild |a bit of )*(?:{CONDITIONS})(?: (?:in my [\w ]+))?)\b",
        most_words=7),
    Rule("has_condition",
        "pregnant|colour-blind|color-blind|colour blind|deaf|diabetic|dyslexic|asthmatic|epileptic"
        "|claustrophobic|coeliac|celiac|blind|wheelchair user|autistic",
            rf"{{L}}(?:i'm|i am)(?: a| also| partially| partly| slightly| almost)* (?P<o>{STATES})\b"),
    Rule("has_condition", "i hurt|i broke|i sprained|i injured|i tore|i twisted|surgery",
        r"{L}i(?:'ve)?(?: just| recently)? (?P<o>(?:hurt|broke|broken|sprained|injured|tore|twisted"
        r"|dislocated) my (?:left |right |lower |upper )*(?:knee|back|ankle|wrist|arm|leg|shoulder"
        r"|hip|foot|hand|elbow|neck|finger|toe|collarbone))\b"),
    Rule("takes", "stopped taking|no longer tak|don't take|quit taking|came off|gave up taking|longer taking",
        r"{L}i(?:'ve| have|'m)?(?: just| finally)? (?:stopped taking|no longer take|no longer "
        r"taking|gave up taking|quit taking|don't take|came off) (?P<o>(?!(?:the (?:bus|train|tram)|sugar"
        r"|it|part|any chances|chances|calls|notes)\b)[\w-]+(?: (?!(?:last|this|yesterday|today|in|on|a|for"
        r"|since|when|because"
        r"|after|any|now|at|and|but|two|three|as|months?|weeks?)\b)[\w-]+)?)(?: any ?more)?",
        operation="retract", most_words=3),
    Rule("takes", "i take |i'm on |i am on |i'm taking|been taking|prescribed",
        r"{L}(?P<s>i|my {REL}(?:,? {NAME},?)?)(?: now| also)? (?:take|takes|am taking) (?P<o>[\w-]+(?: "
        r"[\w-]+){0,2}?)(?=(?: tablets?| pills?| drops?)?,? (?:once|twice|three times|\d+ times"
        r"|every (?:day|morning|evening|night)|daily|for my|against|at night)\b)", most_words=4),
    Rule("takes", "i take |i'm on |i am on |i'm taking|been taking|prescribed",
        r"{L}(?:i'm|i am|i've been|i was)(?: now| currently)? (?:on|taking|prescribed|put on) "
        rf"(?P<o>{MEDICINES})\b", most_words=4),
    Rule("takes", MEDICINE_CUES,
        r"{L}(?P<s>i|my {REL}(?:,? {NAME},?)?)(?: now| also| still)? (?:take|takes|am taking|is taking|'m "
        r"taking)"
        rf" (?:(?:an?|my|some|\d+ ?mg of) )?(?P<o>{MEDICINES})\b(?! (?:to|back|out|away)\b)", most_words=4),
    Rule("allergic_to",
        "a rash|me hives|hives|swell up|react badly|tolerate|intoleran|makes me ill|make me ill",
            r"{L}(?P<o>(?!(?:he|she|it|that|this|they|which|even|traces|these|those"
            r"|you)\b)[\w-]+(?: [\w-]+)?) (?:give|gives|always give) me (?:a rash|hives|a bad rash"
            r"|an itch)", most_words=3),
    Rule("allergic_to", "react badly|tolerate|can't stomach|intoleran",
        r"{L}i (?:react badly to|can't tolerate|cannot tolerate|don't tolerate|do not tolerate"
        r"|don't handle) (?P<o>[\w-]+(?: [\w-]+)?)", most_words=3),
    Rule("allergic_to", "intoleran",
        r"{L}i have an? (?P<o>lactose|gluten|histamine|fructose|dairy) intolerance"),
    Rule("diet", "back to eating|eating meat again|eat meat again|eat meat now",
        r"{L}(?:i|we)(?:'ve| have|'m| am)?(?: now)? (?:went back to eating|gone back to eating|started "
        r"eating|back to eating|eat(?=\w* meat again|\w* meat now)|eating(?= meat again)) (?P<o>meat)(?: "
        r"again)?",
        operation="retract", shape="vegetarian|vegan|no {}"),
    Rule("diet", AGAIN_CUES,
        rf"{{L}}(?:i|we)(?:'m| am)?(?: now)? (?:eat|eating|drink|drinking|can eat|can have|can drink) "
        rf"(?P<o>(?!meat\b)(?:{FOODS}|wine|beer)(?:(?:,| or| and|, or) (?:{FOODS}))*) again\b",
        operation="retract", is_list=True, shape="no {}"),
    Rule("diet", "vegan|vegetarian|pescatarian|plant-based|kosher|halal",
        r"{L}(?:i've been|i have been|i went|i turned|i became|i'm now|i've gone|i've "
        rf"become)(?: an?)? (?P<o>{DIETS})\b"),
    Rule("diet", "for me",
        rf"{{L}}no (?P<o>(?:{FOODS})(?:(?:,| or| and|, no| and no|, or) (?:{FOODS}))*) for me\b",
        is_list=True, shape="no {}"),
    Rule("diet", "off the menu|stay away from|i'm off|i am off|cut out|without meat",
        r"{L}(?:i stay away from|i'm off|i am off|i cut out|i've cut out|i don't touch|i do not "
        rf"touch) (?P<o>{FOODS})\b", is_list=True, shape="no {}"),
    Rule("takes", "put me on|prescribed|inject|i'm taking|have to take|need to take|must take",
        r"{L}(?:my (?:doctor|gp|physician|cardiologist|psychiatrist) (?:put me on|prescribed(?: "
        r"me)?|has me on)|they put me on|i was prescribed|i've been prescribed|i (?:need|have) to "
        r"(?:inject|take)|i inject|i must take) (?P<o>(?!(?:it|that|this|a (?:break|day|rest|bus"
        r"|train|taxi|look|nap|course|test|walk|call|shower|seat|picture)|the (?:bus|train|car|kids"
        r"|dog|stairs|exam)|care|off|my|our|your|the|notes|over|time|them|him|her|some|more|any"
        r"|another|on|part|action|responsibility|photos?|pictures?)\b)[\w-]+(?: [\w-]+)?)(?= before"
        r"| after| every| twice| once| daily| for |[,.;!]|$| with| at)", most_words=3),
    Rule("takes", "came off|off the|weaned off",
        r"{L}i(?:'ve| have)? (?:came|come|gone|went|been taken) off (?:the |my "
        r")?(?P<o>antidepressants|statins|insulin|antibiotics|steroids|painkillers|medication|pills"
        r"|beta blockers|blood thinners|metformin)\b", operation="retract"),
    Rule("has_condition", "i have a|i've got a|i have an|i've got an",
        r"{L}(?:i have|i've got|i still have) (?P<o>an? (?:(?:bad|weak|slipped|torn|broken|injured"
        r"|herniated|sore|stiff|artificial|frozen|dodgy|sprained|fractured|pinched|sensitive) "
        r")+(?:disc|disk|knee|knees|back|hip|ankle|shoulder|wrist|heart|stomach|neck|elbow|foot|leg"
        r"|arm|tendon|ligament|meniscus|nerve|rib|toe|finger|hand))\b"),
    Rule("has_condition", "i wear|pacemaker|hearing aid",
        r"{L}i (?:wear|have|'ve got|have got) (?P<o>an? (?:pacemaker|stoma|prosthesis|artificial "
        r"leg|insulin pump|cochlear implant))\b"),
    Rule("has_condition", "deaf in|blind in|blind on|deaf on",
        r"{L}(?:i'm|i am)(?: almost| nearly| partly| completely)? (?P<o>(?:deaf|blind) (?:in|on) "
        r"my (?:left|right) (?:ear|eye|side))"),
    Rule("has_condition", "it's asthma|it is asthma|turns out",
        r"{L}(?:got the results[\w ]*: |turns out |diagnosis: )?it(?:'s|\u0020is) (?P<o>asthma"
        r"|diabetes|arthritis|migraine|epilepsy|coeliac disease|celiac disease|anaemia|anemia|adhd"
        r"|sciatica)\b"),
    Rule("diet", " diet",
        r"{L}(?:i'm|i am|we're) on an? (?:strict )?(?P<o>(?:(?!the|new|special|good|bad)[\w-]+) "
        r"diet)\b"),
    Rule("has_condition", "afraid of|scared of|terrified of",
        r"{L}(?:i'm|i am)(?: really| very| a bit| quite)? (?:afraid|scared|terrified) of "
        r"(?P<o>flying|heights|dogs|spiders|water|needles|lifts|elevators|the dark|snakes|crowds"
        r"|thunder)", shape="fear of {}"),
    Rule("takes", " mg ",
        r"{L}(?P<s>i|my {REL}(?:,? {NAME},?)?)(?: now| also)? (?:take|takes|am on|is on|am taking) \d+ "
        r"?mg(?: of)? (?P<o>[\w-]+)"),
    Rule("allergic_to", "intolerant to|intolerant of",
        r"{L}(?:i'm|i am) (?:very |really )?intolerant (?:to|of) (?P<o>[\w-]+)(?=[,.;!]|$| and| so)"),
)
RULES = HEALTH
