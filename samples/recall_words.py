"""Invented questions and memories of the recall traces: by tenant, three aspects of each topic.

An aspect is a question, a sentence with a gap, and what stood in the gap from one time to the next.
"""

from __future__ import annotations

from typing import NamedTuple


class Aspect(NamedTuple):
    """What one question is answered from.

    Attributes:
        question: As it is asked.
        sentence: As it was said; ``{}`` is the gap.
        gaps: What stood in it.
    """

    question: str
    sentence: str
    gaps: tuple[str, ...]


def _aspect(question: str, sentence: str, gaps: str) -> Aspect:
    return Aspect(question, sentence, tuple(gap.strip() for gap in gaps.split("|")))


TRAVEL = (
    (
        _aspect(
            "which lodging to look for in the next city",
            "Lodging for the next city: {}.",
            "a hostel near the station|a guest house with breakfast|a small hotel off the square|a room by"
            " the harbour|a flat with a kitchen|a ryokan with a garden|a cabin outside the town|a pension in"
            " the old quarter",
        ),
        _aspect(
            "how much may a night cost",
            "A night may cost {} at most.",
            "60 euros|75 euros|90 euros|110 euros|9,000 yen|120 francs|85 pounds|140 euros with breakfast",
        ),
        _aspect(
            "what the room must have",
            "The room must have {}.",
            "a desk by the window|two single beds|a bathtub|a lift to the floor|no carpet|a balcony|thick"
            " curtains|a place for a bicycle",
        ),
    ),
    (
        _aspect(
            "which train to book for the weekend",
            "The weekend train leaves {}.",
            "at 07:12 by way of the coast|at 09:40 with one change|late on Friday|at noon from the north"
            " station|at 06:55 without a change|on Saturday after breakfast|at 16:20 with a reserved seat|"
            "from platform eleven",
        ),
        _aspect(
            "where on the train to sit",
            "On the train the seat should be {}.",
            "in the quiet coach|at a table|near the door|facing forward|on the lake side|in the last coach|by"
            " the luggage rack|in the upper deck",
        ),
        _aspect(
            "what to do when the connection is missed",
            "When the connection is missed: {}.",
            "ask for the later train on the same ticket|take the bus from the east exit|call the guest house|"
            "stay at the station hotel|rebook in the app before the counter|wait for the regional express|"
            "share a taxi|ask at the blue desk",
        ),
    ),
    (
        _aspect(
            "what to eat on the first evening",
            "On the first evening we eat {}.",
            "soup at the market hall|dumplings behind the theatre|fish at the quay|noodles near the shrine|"
            "whatever the guest house cooks|bread and cheese in the room|curry from the night stall|a salad"
            " at the station",
        ),
        _aspect(
            "which dish to leave out",
            "Leave out {}.",
            "raw onion|anything fried|shellfish|goat cheese|very sweet desserts|liver|coriander|strong coffee"
            " after four",
        ),
        _aspect(
            "where breakfast is good",
            "Breakfast is good {}.",
            "in the bakery with the green door|at the counter of the fish market|on the terrace of the museum"
            "|in the hotel, early|at the kiosk by the bridge|in the tea house|at the farm stall|next to"
            " the library",
        ),
    ),
    (
        _aspect(
            "which refund rule applies to ferries",
            "Ferry refunds: {}.",
            "full until two days before|half on the day itself|none for storm cancellations|by voucher in"
            " spring|only with the weather report attached|within ten days|through the harbour desk|after a"
            " call to the operator",
        ),
        _aspect(
            "who signs a refund above the limit",
            "Above the limit the refund is signed by {}.",
            "the shift lead|the head of the desk|two colleagues together|the branch office|finance on"
            " Mondays|the deputy while she is away|the duty manager|whoever opened the case",
        ),
        _aspect(
            "what a voucher may be worth",
            "A voucher is worth {}.",
            "a multiple of 25 euros|at most 200 euros|the fare without the fee|the fare and a tenth|no more"
            " than the ticket|50 euros for each delay|what the fare table says|nothing after twelve months",
        ),
    ),
)

CLINIC = (
    (
        _aspect(
            "what the patient may eat this week",
            "This week the meals are {}.",
            "soft and salt-free|rich in iron|without nuts|small and often|warm in the evening|lactose-free|"
            "vegetarian|as before the operation",
        ),
        _aspect(
            "when meals are brought",
            "Meals are brought {}.",
            "at 07:30, 12:00 and 17:30|half an hour later on Sundays|after the round|with the tablets|when"
            " the bell is rung|at noon only|from the ward kitchen at six|after physiotherapy",
        ),
        _aspect(
            "which drink goes with the tablets",
            "The tablets go with {}.",
            "still water|weak tea|no grapefruit juice|a full glass|oat milk|lukewarm water|broth|nothing"
            " fizzy",
        ),
    ),
    (
        _aspect(
            "which appointment slot suits",
            "The slot that suits is {}.",
            "Tuesday before ten|Thursday after work|the first one of the day|any Friday|the one after the"
            " school run|Monday at half past two|the last before lunch|every second Wednesday",
        ),
        _aspect(
            "how to send the reminder",
            "The reminder goes {}.",
            "by text the day before|by phone two days before|by letter|to the daughter as well|in the"
            " evening|in the app only|twice for the first visit|not on holidays",
        ),
        _aspect(
            "which branch the visit is at",
            "The visit is at {}.",
            "the harbour branch, ground floor|the hill branch|room 12 of the annex|the mobile unit|the old"
            " building|the branch with the lift|the evening surgery|the day clinic",
        ),
    ),
    (
        _aspect(
            "how invoices are imported",
            "Invoices are imported {}.",
            "with a decimal comma|with semicolons between cells|one supplier at a time|after the bank file|"
            "with the tax code in column four|without the header line|from the shared folder|on the fifth of"
            " the month",
        ),
        _aspect(
            "until when the tax filing is due",
            "The tax filing is due {}.",
            "on 15 July|on 30 June|ten days after the quarter|with the payroll|before the audit|on the last"
            " working day|after the extension, in August|with the annual report",
        ),
        _aspect(
            "who approves a payment",
            "A payment is approved by {}.",
            "two of the board|the office manager|finance alone below 500|the owner by phone|the bookkeeper"
            " and a nurse|whoever did not enter it|the second key holder|the practice lead",
        ),
    ),
    (
        _aspect(
            "how posters are printed",
            "Posters are printed {}.",
            "with a bleed of 3 mm|on matt paper|in two colours|at the shop on the corner|from the PDF, not"
            " the picture|in A2|with the new logo|in lots of forty",
        ),
        _aspect(
            "what the leaflet must say",
            "The leaflet must say {}.",
            "the new opening hours|the emergency number|how to cancel|which bus stops here|that the lift"
            " works again|who to ask at the desk|in three languages|nothing of prices",
        ),
        _aspect(
            "where leaflets are kept",
            "Leaflets are kept {}.",
            "in the drawer below the scanner|next to the vaccine fridge|in the hall cupboard|behind the"
            " desk|in the blue box|at the harbour branch|with the forms|in the meeting room",
        ),
    ),
)

ENGINEERING = (
    (
        _aspect(
            "how large the connection pool should be",
            "The connection pool should be {}.",
            "4 for each worker|8 while the import runs|as large as the workers|2 on the replica|16 after the"
            " upgrade|capped at 40|left at the default|shared between both services",
        ),
        _aspect(
            "what to check when jobs hang",
            "When jobs hang, check {}.",
            "the slots of the database|the clock of the host|the lock table|the queue depth|the disk of the"
            " broker|open files|the last deploy|the proxy",
        ),
        _aspect(
            "who is on call tonight",
            "On call is {}.",
            "the platform pair|the data team|whoever released last|the second line|the weekend rota|the"
            " storage group|nobody after ten|the team lead",
        ),
    ),
    (
        _aspect(
            "which style the code review asks for",
            "The review asks for {}.",
            "short functions|types on every argument|no mutable defaults|one commit a change|tests beside the"
            " code|names without abbreviations|errors with a remedy|no commented code",
        ),
        _aspect(
            "how tests are run before a merge",
            "Before a merge, tests run {}.",
            "in parallel on four workers|with warnings as errors|against the small data set|in random order|"
            "twice for flaky ones|on the oldest Python|with the lake on tmpfs|without the network",
        ),
        _aspect(
            "what the release notes contain",
            "The release notes contain {}.",
            "effects, not commits|the migration step|known faults first|the new settings|thanks to reporters|"
            "figures with their command|what was removed|the supported versions",
        ),
    ),
    (
        _aspect(
            "how the study plan goes on",
            "The study plan goes on with {}.",
            "chapter six|mock exam two|the listening part|grammar drills|twenty cards a day|the essay on"
            " rivers|old papers from spring|a rest day",
        ),
        _aspect(
            "when to study",
            "The time to study is {}.",
            "in the evening|at seven in the morning|in the lunch break|on the tram|Sunday only|after the run|"
            "before the stand-up|late at night",
        ),
        _aspect(
            "which words are still hard",
            "Still hard are {}.",
            "words of weather|counting words|verbs of motion|polite forms|numbers above a thousand|names of"
            " trees|the past tense|particles",
        ),
    ),
    (
        _aspect(
            "what to cook tonight",
            "Tonight we cook {}.",
            "aubergine with garlic|seaweed soup|lentils with lemon|rice with egg|noodles with peanuts left"
            " out|a pot of beans|what the garden gives|pancakes",
        ),
        _aspect(
            "what is missing in the kitchen",
            "In the kitchen {} is missing.",
            "dark vinegar|sesame oil|a lid for the pot|fresh ginger|brown sugar|stock|a sharp knife|baking"
            " paper",
        ),
        _aspect(
            "who eats with us",
            "With us eats {}.",
            "a neighbour who likes it mild|the whole team|nobody, a quiet evening|a cousin without gluten|two"
            " children|a colleague from the night shift|grandmother|the choir",
        ),
    ),
)

BY_TENANT = {"aurora-travel": TRAVEL, "brightside-clinic": CLINIC, "007": ENGINEERING}
"""Topics of each tenant of the samples, three aspects each."""
