"""Legal bases of requests: a closed list, so that no text about a person gets into the log of requests."""

from __future__ import annotations

import re

from transforms.errors import UsageError

BASES = (
    "gdpr-art-15",
    "gdpr-art-16",
    "gdpr-art-17",
    "gdpr-art-18",
    "gdpr-art-20",
    "gdpr-art-21",
    "ccpa",
    "consent",
    "contract",
    "court-order",
    "policy",
)
"""What a request can rest on; ``other:<word>`` is anything else."""
_OTHER = re.compile(r"other:[a-z][a-z0-9-]{0,30}\Z")


def basis_of(text: str) -> str:
    """A basis as it is recorded; underscores may stand for dashes.

    Raises:
        UsageError: It is none.
    """
    basis = text.strip().lower().replace("_", "-")
    if basis in BASES or _OTHER.match(basis):
        return basis
    raise UsageError(
        "the legal basis is none of the list",
        f"Name one of {', '.join(BASES)}, or other:<word>, a word that says nothing of a person.",
    )
