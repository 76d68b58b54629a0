"""Values of OpenTelemetry: attributes, however they are written -> one flat mapping of dotted names; times.

OTLP writes a list of typed values, the SDKs an object with dotted names, trace stores an object of objects;
a list of messages stands under one name, or message by message as ``llm.input_messages.0.message.role``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from transforms.readers.text import JsonFault, load_json, type_name
from transforms.readers.times import iso_number, iso_time

_MAX_DEPTH = 32
"""Values nested deeper stay as they are: no convention writes so, and Python's stack is not endless."""
_PLAIN_KINDS = ("string", "bool", "double", "bytes")
_KINDS = {
    f"{kind}{end}": kind for kind in (*_PLAIN_KINDS, "int", "array", "kvlist") for end in ("Value", "_value")
}
_NANOS = 1_000_000_000
_NANOS_FROM = 10**17
"""Smaller whole numbers are in another unit, which ``iso_number`` tells; 0 is a time that was never set."""
_MAX_DIGITS = 25
"""No instant has more."""


def attributes_of(value: object, field: str = "attributes") -> dict[str, object]:
    """Attributes by dotted name; objects are opened, lists stay.

    Args:
        value: OTLP's list of keys and values, an object, its JSON text, or null.
        field: For messages.

    Raises:
        JsonFault: ``bad_field_type``.
    """
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        value = load_json(value.encode("utf-8", "replace"))
    if isinstance(value, list):
        value = dict(_pair(item, field) for item in value)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise JsonFault("bad_field_type", f"{field} is {type_name(value)}, not an object or a list of pairs")
    flat: dict[str, object] = {}
    _open(value, "", flat, 0)
    return flat


def _pair(item: object, field: str) -> tuple[str, object]:
    key = item.get("key") if isinstance(item, dict) else None
    if not isinstance(item, dict) or not isinstance(key, str):
        raise JsonFault("bad_field_type", f"an item of {field} is {type_name(item)}, not a key and a value")
    return key, any_value(item.get("value"))


def any_value(value: object, depth: int = 0) -> object:
    """A value of OTLP (``{"stringValue": ...}``) as a plain one; a plain one as it is.

    What a later version of OTLP may say beside it is passed over.
    """
    if not isinstance(value, dict) or depth > _MAX_DEPTH:
        return value
    told = [name for name in value if name in _KINDS]
    if len(told) != 1:
        return value
    kind, inner = _KINDS[told[0]], value[told[0]]
    if kind in _PLAIN_KINDS:
        return inner
    if kind == "int":
        is_number = isinstance(inner, str) and len(inner) < _MAX_DEPTH and inner.lstrip("-").isdecimal()
        return int(inner) if is_number else inner
    values = inner.get("values") if isinstance(inner, dict) else None
    if kind == "array":
        return [any_value(v, depth + 1) for v in values] if isinstance(values, list) else []
    pairs = [_pair_at(v, depth + 1) for v in values] if isinstance(values, list) else []
    return dict(pairs)


def _pair_at(item: object, depth: int) -> tuple[str, object]:
    if not isinstance(item, dict):
        return "", item
    return str(item.get("key")), any_value(item.get("value"), depth)


def _open(value: Mapping[object, object], prefix: str, flat: dict[str, object], depth: int) -> None:
    for key, inner in value.items():
        name = f"{prefix}{key}"
        if isinstance(inner, dict) and inner and depth < _MAX_DEPTH:
            _open(inner, f"{name}.", flat, depth + 1)
        elif inner is not None:
            flat[name] = inner


def instant(value: object, name: str) -> str | None:
    """A time as OpenTelemetry writes it: nanoseconds, seconds and nanoseconds, or ISO 8601.

    Raises:
        JsonFault: ``bad_field_type`` or ``bad_time``.
    """
    if isinstance(value, list) and len(value) == 2 and all(type(part) is int for part in value):
        nanos: int = value[0] * _NANOS + value[1]
        if nanos and abs(nanos) < _NANOS_FROM:  # before 1973: the next stage judges it, not the unit
            return iso_number(nanos // _NANOS)
        value = nanos
    if isinstance(value, str) and value.isdecimal() and len(value) < _MAX_DIGITS:
        value = int(value)  # as a float, nanoseconds would lose their last digits
    if not value or (isinstance(value, str) and not value.strip()):
        return None
    return iso_time(value, name)


def read_json(value: object) -> object:
    """The value of a text that is a JSON object, list or string; anything else as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
        return value
    try:
        return load_json(value.encode("utf-8", "replace"))
    except JsonFault:
        return value


def items_under(attributes: Mapping[str, object], name: str) -> list[object]:
    """The list that stands under a name: whole, as JSON text, or item by item as ``name.0.field``.

    Items are objects of objects, whatever dots their own names hold; empty if there is nothing.
    """
    whole = attributes.get(name)
    whole = read_json(whole)
    if whole is not None:
        return [nested(item) for item in (whole if isinstance(whole, list) else [whole])]
    start = f"{name}."
    pairs = [(key[len(start) :], value) for key, value in attributes.items() if key.startswith(start)]
    tree = _tree(pairs)
    return tree if isinstance(tree, list) else []


def nested(value: object, depth: int = 0) -> object:
    """Objects with dotted names as objects of objects, and those whose names are all numbers as lists."""
    if depth > _MAX_DEPTH:
        return value
    if isinstance(value, list):
        return [nested(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return _tree((str(key), nested(inner, depth + 1)) for key, inner in value.items())
    return value


def _tree(pairs: Iterable[tuple[str, object]]) -> object:
    root: dict[str, object] = {}
    for key, value in pairs:
        parts = key.split(".", _MAX_DEPTH)
        place = root
        for part in parts[:-1]:
            inner = place.setdefault(part, {})
            if not isinstance(inner, dict):
                inner = place[part] = {"": inner}  # both a value and a beginning of names
            place = inner
        place.setdefault(parts[-1], value)
    return _as_lists(root)


def _as_lists(tree: object) -> object:
    if not isinstance(tree, dict):
        return tree
    opened = {key: _as_lists(value) if type(value) is dict else value for key, value in tree.items()}
    if opened and all(key.isdecimal() and key.isascii() for key in opened):
        return [opened[key] for key in sorted(opened, key=lambda k: (len(k), k))]
    return opened
