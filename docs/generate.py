"""Writes ``docs/configuration.md`` and ``docs/tables.md`` from the code: ``python docs/generate.py``.

Names, types, defaults and limits come from the pydantic models, meanings from the strings below
their fields, tables from the schema module. A test compares what is committed with what this makes.
"""

from __future__ import annotations

import ast
import inspect
import json
import typing
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from flows.config import SourceConfig
from flows.engine.config import EngineConfig
from lake.crypto.config import EncryptionConfig
from lake.embedders.config import EmbedderConfig
from lake.models.config import ModelConfig
from lake.rerankers.config import RerankerConfig
from transforms.policy import Policy
from transforms.schemas import MEMORIES, STORED, Column, Table

FOLDER = Path(__file__).parent
MADE_BY = "<!-- made by docs/generate.py; do not edit -->"

MEANINGS = {
    "redact.is_enabled": "Off, nothing is taken out.",
    "importance.by_kind": "Starting value of each kind.",
    "importance.small_talk": "Value of a turn that is nothing but a greeting or thanks.",
    "importance.preference_boost": "Added where the user states a preference.",
    "importance.decision_boost": "Added where a decision is stated.",
    "importance.failure_boost": "Added to a failure.",
    "importance.success_boost": "Added to a success.",
    "importance.feedback_boost": "Added where the row carries feedback.",
    "trust.user": "What the user said.",
    "trust.assistant": "What the model said.",
    "trust.system": "System and developer messages.",
    "trust.tool": "What a tool returned; injected context is trusted no more than this.",
    "trust.other": "Any other role, or none.",
    "retention.transient_seconds": "Lifetime of tier `transient`.",
    "retention.session_seconds": "Lifetime of tier `session`.",
    "retention.short_term_seconds": "Lifetime of tier `short_term`.",
    "retention.medium_term_seconds": "Lifetime of tier `medium_term`.",
    "retention.long_term_seconds": "Lifetime of tier `long_term`.",
    "retention.permanent_seconds": "Lifetime of tier `permanent`.",
    "retention.default_tier": "Tier of rows that name none; written into the row when it is ingested.",
    "decay.half_life_days": "By kind; a kind that is not listed takes that of conversation.",
    "decay.importance_weight": "Weight of importance in the retention score.",
    "decay.recency_weight": "Weight of recency in it.",
    "decay.frequency_weight": "Weight of access frequency in it.",
    "decay.fade_factor": "Priority of a conversation after `fade_after_days`.",
    "decay.fade_more_factor": "Priority of a conversation after `fade_more_after_days`.",
    "decay.unconfirmed_factor": "Confidence of a fact that was not confirmed for `unconfirmed_after_days`.",
    "staleness.is_enabled": "Off, nothing goes for staleness.",
    "recall.type_bonus": "Bonus by memory tier.",
    "recall.default_k": "Rows returned where the caller names no k.",
    "recall.duplicate_cosine": "Two recalled rows closer than this say the same; the better one stays.",
    "context.shares": "Share of the budget by memory tier.",
    "context.default_budget_tokens": "Budget where the caller names none.",
    "context.encoding": "How tokens are counted.",
    "publish.keep_generations": "Generations kept, the live one included.",
    "publish.check_queries": "Queries of the gate's sample.",
    "run.on_busy": "What a second run does beside another one.",
    "run.busy_wait_seconds": "How long it waits.",
    "sources.path": "File, folder, glob or `s3://` prefix.",
    "sources.format": "Name of the input format; `auto` tells it from the content.",
    "sources.tenant": "Tenant of rows that name none.",
    "sources.user": "User of rows that name none.",
    "sources.agent": "Agent of rows that name none.",
    "sources.session": "Session of rows that name none.",
    "sources.timezone": "IANA zone of times that name none; without it such rows are quarantined.",
    "sources.event_at": "When rows happened that bear no time, ISO 8601; without it they are quarantined.",
    "sources.only_tenant": "Whether rows that name another tenant than `tenant` are quarantined.",
}
"""Meanings of fields that carry no string of their own; where one does, it wins."""

UNITS = (
    ("_seconds", "seconds"),
    ("_hours", "hours"),
    ("_days", "days"),
    ("_bytes", "bytes"),
    ("_chars", "characters"),
    ("_tokens", "tokens"),
    ("_rows", "rows"),
    ("_files", "files"),
    ("_ratio", "ratio"),
    ("_weight", "0 to 1"),
    ("_share", "0 to 1"),
    ("_boost", "0 to 1"),
    ("_cosine", "cosine"),
)

CONFIGURATION = """# Configuration

`slowwave.toml` in the working directory, or the file named by `--config`. Every key is optional. An unknown
key or a wrong value stops the run with exit code 4 and names the key. Values that are not set keep the
defaults below, also inside a table such as `decay.half_life_days`, where single entries can be set. TOML
has no null: a default of null can be replaced but not written, except that a lifetime (`retention`) and a
half-life (`decay.half_life_days`) take `"never"`. The shares of a context and the five
weights of recall each sum to 1, so they are set together.

```toml
lake = "/data/memory"

[embedder]
provider = "local"

[retention]
default_tier = "long_term"

[decay.half_life_days]
conversation = 14.0

[[sources]]
path = "traces/*.jsonl"
tenant = "acme"
timezone = "Europe/Berlin"
```

Environment: `SLOWWAVE_LAKE` names the lake (the flag `--lake` wins, then this, then the file);
`SLOWWAVE_API_KEY`, else `OPENAI_API_KEY`, is the key of the configured endpoint where the file holds none
(of a reranker, `SLOWWAVE_RERANKER_API_KEY`);
`SLOWWAVE_PROGRESS` says [how far a job is](progress.md) in `bars`, `lines` or not at all (`none`);
`SLOWWAVE_TRACEBACK=1` shows the traceback of an unexpected error; the `AWS_*` variables are those of the
object store ([data engineers](data-engineers.md#object-stores)).
"""


TABLES = """# Tables

Delta tables below `<lake>/tables/`, and the table of the published index. Instants are UTC microseconds,
ids are 32 lower-case hex digits. *Personal* columns may hold text or ids of a person; they get no minimum
and maximum in the table's log. How to read them: [data engineers](data-engineers.md#reading-the-tables).
"""


def documents() -> dict[str, str]:
    """File name below ``docs/`` -> its text."""
    return {"configuration.md": configuration(), "tables.md": tables()}


def configuration() -> str:
    """Every key of ``slowwave.toml``."""
    parts = [MADE_BY, CONFIGURATION, "## Top level\n", _head()]
    parts[-1] += "\n| `lake` | text | null |  | Path or `s3://bucket/memory` of the lake. |\n"
    parts += _section("[embedder]", "embedder", EmbedderConfig)
    parts += _section("[model]", "model", ModelConfig)
    parts += _section("[reranker]", "reranker", RerankerConfig)
    parts += _section("[encryption]", "encryption", EncryptionConfig)
    parts += _section("[engine]", "engine", EngineConfig)
    parts += _section("[[sources]]", "sources", SourceConfig)
    for name, entry in Policy.model_fields.items():
        parts += _section(f"[{name}]", name, typing.cast("type[BaseModel]", entry.annotation))
    return "\n".join(parts).rstrip() + "\n"


def _head() -> str:
    return "| key | type | default | unit | meaning |\n|---|---|---|---|---|"


def _section(title: str, name: str, model: type[BaseModel]) -> list[str]:
    meanings = _strings(model)
    rows = [_field(f"{name}.{key}", key, field, meanings) for key, field in model.model_fields.items()]
    told = " ".join((inspect.getdoc(model) or "").split()).replace("``", "`")
    return [f"## {title}\n", f"{told}\n", "\n".join([_head(), *rows]), ""]


def _field(path: str, key: str, field: FieldInfo, meanings: dict[str, str]) -> str:
    meaning = meanings.get(key) or MEANINGS.get(path, "")
    unit = next((unit for suffix, unit in UNITS if key.endswith(suffix)), "")
    kind = _cell(_type(field.annotation) + _limits(field.metadata))
    return f"| `{key}` | {kind} | {_cell(_default(field))} | {unit} | {_cell(meaning)} |"


def _strings(model: type[BaseModel]) -> dict[str, str]:
    """The string that stands below each field of the class."""
    tree = ast.parse(inspect.cleandoc("\n" + inspect.getsource(model)))
    body = next(node for node in tree.body if isinstance(node, ast.ClassDef)).body
    found = {}
    for node, follower in pairwise(body):
        is_string = isinstance(follower, ast.Expr) and isinstance(follower.value, ast.Constant)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and is_string:
            text = str(typing.cast(ast.Constant, typing.cast(ast.Expr, follower).value).value)
            found[node.target.id] = " ".join(text.split()).replace("``", "`")
    return found


def _type(annotation: Any) -> str:
    words = {
        str: "text",
        int: "integer",
        float: "number",
        bool: "boolean",
        datetime: "instant",
        SecretStr: "text",
    }
    if annotation in words:
        return words[annotation]
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _type(parts[0]) + _limits(parts[1:])
    if origin is typing.Literal:
        return " or ".join(f"`{part}`" for part in parts)
    if origin is dict:
        return f"table of {_type(parts[1])}"
    if origin is tuple:
        return f"list of {_type(parts[0])}"
    return " or ".join(_type(part) for part in parts if part is not type(None))


def _limits(metadata: Iterable[Any]) -> str:
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    held = [
        f"{sign} {getattr(rule, name):,}"
        for entry in metadata
        for rule in (entry.metadata if isinstance(entry, FieldInfo) else [entry])
        for name, sign in signs.items()
        if getattr(rule, name, None) is not None
    ]
    return f", {', '.join(held)}" if held else ""


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.default
    if isinstance(value, dict):
        return ", ".join(f"{key} {'null' if item is None else item}" for key, item in value.items())
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return json.dumps(value)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def tables() -> str:
    """Every table that is stored."""
    parts = [MADE_BY, TABLES]
    for table in STORED:
        parts += _table(table)
    parts += _table(MEMORIES)
    return "\n".join(parts).rstrip() + "\n"


def _table(table: Table) -> Iterator[str]:
    yield f"## {table.name}\n\n{table.description}\n"
    facts = {"Key": table.key, "Partitioned by": table.partition_by, "Sorted in each file by": table.sort_by}
    yield ". ".join(f"{k}: {', '.join(f'`{c}`' for c in v)}" for k, v in facts.items() if v) + ".\n"
    yield "| column | type | null | personal | meaning |\n|---|---|---|---|---|"
    yield "\n".join(map(_column, table.columns)) + "\n"


def _column(column: Column) -> str:
    values = f" One of {', '.join(f'`{value}`' for value in column.allowed)}." if column.allowed else ""
    marks = f"{'yes' if column.is_nullable else ''} | {'yes' if column.is_personal else ''}"
    dot = "" if column.description.endswith((".", "...")) else "."
    meaning = _cell(f"{column.description}{dot}{values}")
    return f"| `{column.name}` | {_dtype(column.dtype)} | {marks} | {meaning} |"


def _dtype(dtype: Any) -> str:
    if isinstance(dtype, pl.List):
        return f"list of {_dtype(dtype.inner)}"
    if isinstance(dtype, pl.Datetime):
        return "instant"
    words = {
        pl.String: "text",
        pl.Boolean: "boolean",
        pl.Int32: "int32",
        pl.Int64: "int64",
        pl.Float32: "float32",
        pl.Float64: "float64",
    }
    return words[dtype if isinstance(dtype, type) else type(dtype)]


def main() -> None:
    """Write the documents."""
    for name, text in documents().items():
        (FOLDER / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
