"""Tables brought to the columns that this version declares, by commits that hold no rows.

Old data files stay as they are: what reads them gives null for a column that they do not have.
"""

from __future__ import annotations

from collections.abc import Iterator

from deltalake import DeltaTable

from lake.commits import retried, sync_log
from lake.lake import Lake
from lake.opened import forget, open_table
from lake.table_shape import Drift, configuration, declared, drift_of, remedy_of
from transforms.errors import LakeError
from transforms.schemas import STORED, Table


def drifts(lake: Lake) -> list[Drift]:
    """Tables whose columns are not those declared, in the order of the tables' list."""
    found = (drift_of(table, state) for table, state in _made(lake))
    return [drift for drift in found if not drift.is_none]


def plan(lake: Lake) -> list[str]:
    """What has to be added, table by table.

    Raises:
        LakeError: A table differs in a way that adding cannot mend; names all such tables.
    """
    found = drifts(lake)
    fatal = [drift for drift in found if drift.is_lasting or drift.unknown]
    if fatal:
        raise LakeError("; ".join(f"table {drift}" for drift in fatal), remedy_of(fatal))
    changed = [(table.name, _changed(table, state)) for table, state in _made(lake)]
    settings = [f"{name}: {', '.join(sorted(new))} set anew" for name, new in changed if new]
    return [*(_told(drift) for drift in found), *settings]


def apply(lake: Lake) -> None:
    """Bring every table to the columns of this version.

    Raises:
        LakeError: As ``plan``; nothing is changed then.
        StorageError: The disk is full or the store fails; what is missing is added by the next try.
    """
    plan(lake)
    for table, state in _made(lake):
        _bring(lake, table, state)


def _made(lake: Lake) -> Iterator[tuple[Table, DeltaTable]]:
    for table in STORED:
        state = open_table(lake, table)
        if state is not None:
            yield table, state


def _bring(lake: Lake, table: Table, state: DeltaTable) -> None:
    drift, fields = drift_of(table, state), {field.name: field for field in declared(table).fields}
    where, uri = f"migrating table {table.name}", lake.table_uri(table)
    if drift.lacking:
        added = [fields[name] for name in drift.lacking]
        retried(lambda: DeltaTable(uri).alter.add_columns(added), where)
    for name in drift.strict:
        retried(lambda name=name: DeltaTable(uri).alter.drop_column_not_null(name), where)  # type: ignore[misc]
    if changed := _changed(table, state):
        retried(lambda: DeltaTable(uri).alter.set_table_properties(changed, raise_if_not_exists=False), where)
    forget(lake, table)
    sync_log(lake, table)


def _changed(table: Table, state: DeltaTable) -> dict[str, str]:
    """Properties that the table does not have as this version sets them."""
    held = state.metadata().configuration
    return {name: value for name, value in configuration(table).items() if held.get(name) != value}


def _told(drift: Drift) -> str:
    parts = (
        ("columns added", drift.lacking),
        ("null allowed in", drift.strict),
    )
    return f"{drift.table}: " + "; ".join(f"{verb} {', '.join(names)}" for verb, names in parts if names)
