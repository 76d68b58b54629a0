"""Groups of which every two members are close: complete linkage over a sparse list of close pairs."""

from __future__ import annotations

from collections.abc import Iterable


def complete_groups(pairs: Iterable[tuple[float, int, int]]) -> dict[int, int]:
    """Group items so that any two of a group are a given pair.

    The closest pairs are joined first, and two groups only where every pair between them is given. So a
    chain of close pairs does not join its ends: *seat* may be near *aisle seat* and *window seat*,
    and goes with one of them. The result depends on the set of pairs only.

    Args:
        pairs: Similarity and two different items of each close pair, once each. Equal similarities are
            taken in the order of the items.

    Returns:
        Group of each item of a pair; a group is named by its smallest item.
    """
    group: dict[int, int] = {}
    members: dict[int, list[int]] = {}
    links: dict[int, dict[int, int]] = {}
    ordered = sorted((-similarity, min(a, b), max(a, b)) for similarity, a, b in pairs)
    for _, left, right in ordered:
        for item in (left, right):
            if item not in group:
                group[item], members[item], links[item] = item, [item], {}
        one, two = group[left], group[right]
        if one == two:
            continue
        seen = links[one].get(two, 0) + 1
        links[one][two] = links[two][one] = seen
        if seen == len(members[one]) * len(members[two]):
            _join(min(one, two), max(one, two), group, members, links)
    return group


def _join(
    kept: int,
    gone: int,
    group: dict[int, int],
    members: dict[int, list[int]],
    links: dict[int, dict[int, int]],
) -> None:
    """Let one group take in another, with the pairs it had to third ones."""
    for item in members[gone]:
        group[item] = kept
    members[kept] += members.pop(gone)
    del links[kept][gone]
    for third, seen in links.pop(gone).items():
        if third == kept:
            continue
        del links[third][gone]
        links[kept][third] = links[third][kept] = links[kept].get(third, 0) + seen
