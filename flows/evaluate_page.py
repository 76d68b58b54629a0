"""An evaluation as a page: every number on it stands in the result's JSON; nothing is fetched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flows.evaluate_ask import FLOORS
from flows.html_pages import render
from flows.present_evaluate import headline_of
from transforms.evaluation.measures import ALL, NDCG_AT


def labelled_html(record: Mapping[str, Any]) -> str:
    """The page of a labelled set."""
    head = headline_of(record)
    main = record["metrics"][record["main"]][ALL]
    recalls = [f"recall@{k}" for k in record["k"]]
    wanted = [*recalls, f"ndcg@{NDCG_AT}", "hit@1", f"session_{head}", f"cited_{head}"]
    values = {
        "r": record,
        "head": head,
        "main": main,
        "groups": "conversations" if record["set"] == "locomo" else "groups",
        "tiles": [m for m in (head, f"ndcg@{NDCG_AT}", f"session_{head}") if m in main],
        "metrics": [metric for metric in wanted if metric in main],
        "slices": list(record["metrics"][record["main"]]),
        "plot": [
            {
                "name": name,
                "value": slices[ALL][head],
                "ends": record["intervals"][name][ALL][head]["by_question"],
                "is_floor": name in FLOORS,
            }
            for name, slices in record["metrics"].items()
        ],
    }
    return render("evaluation.html", values)


def scenarios_html(record: Mapping[str, Any]) -> str:
    """The page of scripted scenarios."""
    return render("scenarios.html", {"r": record})
