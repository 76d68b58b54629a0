"""Addresses and keys of endpoints, as both configurations check and show them."""

from __future__ import annotations

from urllib.parse import urlsplit

from pydantic import SecretStr


def plain_http_url(url: str) -> str:
    """An address without credentials, query or fragment, and without a slash at its end.

    Raises:
        ValueError: It is none.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("must be an http or https address")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("must hold no user, password, query or fragment; give the key as api_key")
    _ = parts.port  # raises ValueError if it is none
    return url.rstrip("/")


def header_key(key: SecretStr | None) -> SecretStr | None:
    """A key that can be sent in a header.

    Raises:
        ValueError: It cannot; the key is not told.
    """
    text = key.get_secret_value() if key else ""
    if not all("!" <= c <= "~" for c in text):
        raise ValueError("must be printable ASCII without blanks; is there a line break at its end?")
    return key


def shown(url: str) -> str:
    """Host, port if any, and path: what may be shown."""
    parts = urlsplit(url)
    return f"{parts.netloc.lower()}{parts.path}"
