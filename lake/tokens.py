"""Exact token counts with tiktoken, with no network, cache directory or environment variable.

tiktoken fetches its tables at run time. The same tables come with bpe-openai, so tiktoken's own
recipe of an encoding is run with a loader that reads them from there.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from binascii import a2b_base64
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from threading import Lock
from types import FunctionType
from typing import TYPE_CHECKING, Literal, get_args

from lake.package_data import REINSTALL, package_file
from transforms.errors import ConfigError

if TYPE_CHECKING:
    from tiktoken import Encoding

EncodingName = Literal["o200k_base", "cl100k_base"]

_BUILDING = Lock()
# tiktoken's pattern engine panics after 1,000,000 steps of backtracking in one run of blanks.
_LONG_BLANK = re.compile(r"\s{400000}")


def encoding(name: EncodingName) -> Encoding:
    """The tiktoken encoding of that name: built once a process (about 0.3 s), then shared by threads.

    Its ``encode_ordinary`` fails on a million blanks in a row; ``count_tokens`` does not.

    Raises:
        ConfigError: The name is unknown, or the installed table is missing or not the genuine one.
    """
    if name not in get_args(EncodingName):
        known = ", ".join(get_args(EncodingName))
        raise ConfigError(f"unknown token encoding {name!r}", f"Use one of {known}.")
    with _BUILDING:
        return _build(name)


def count_tokens(texts: Sequence[str], name: EncodingName) -> list[int]:
    """Tokens of each text, in order. Special tokens such as ``<|endoftext|>`` count as plain text."""
    if not texts:
        return []
    encode = encoding(name)
    return [sum(len(encode.encode_ordinary(piece)) for piece in _pieces(text)) for text in texts]


def truncate_tokens(text: str, limit: int, name: EncodingName) -> str:
    """The longest beginning of the text, cut between two tokens, that counts at most ``limit`` tokens.

    Never cuts inside a code point. A lone surrogate comes back as U+FFFD when the text is cut.
    """
    if limit <= 0:
        return ""
    if len(text) * 4 <= limit:  # a code point is at most four bytes, a token at least one
        return text
    encode = encoding(name)
    tokens = list(chain.from_iterable(encode.encode_ordinary(piece) for piece in _pieces(text)))
    if len(tokens) <= limit:
        return text
    for keep in range(limit, 0, -1):
        # The last token may hold only the first bytes of a code point: those are what "ignore" drops.
        cut = encode.decode_bytes(tokens[:keep]).decode("utf-8", "ignore")
        # What is left without those bytes could need one token more; none such is known.
        if count_tokens([cut], name)[0] <= limit:
            return cut
    return ""


def _pieces(text: str) -> Iterator[str]:
    """The text, cut only inside runs of blanks so long that tiktoken fails on them."""
    start = 0
    if len(text) >= 400_000:
        for match in _LONG_BLANK.finditer(text):
            yield text[start : match.end()]
            start = match.end()
    yield text[start:]


@cache
def _build(name: EncodingName) -> Encoding:
    import tiktoken
    from tiktoken_ext import openai_public  # type: ignore[import-untyped]

    recipe = getattr(openai_public, name)
    if "load_tiktoken_bpe" not in recipe.__code__.co_names:  # else the recipe would go to the network
        raise ConfigError(f"tiktoken {tiktoken.__version__} builds {name} in an unknown way", REINSTALL)
    # The same code with one name bound otherwise: nothing is patched for other users of tiktoken.
    offline = FunctionType(recipe.__code__, {**recipe.__globals__, "load_tiktoken_bpe": _load_table})
    return tiktoken.Encoding(**offline())


def _load_table(url: str, expected_hash: str) -> dict[bytes, int]:
    """Rank of each token's bytes; same arguments as tiktoken's loader, which names the table by its URL."""
    file_name = f"{url.rsplit('/', 1)[-1]}.gz"
    try:
        table = gzip.decompress(package_file("bpe_openai", "data", file_name).read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise ConfigError(f"the token table {file_name} cannot be read", REINSTALL) from error
    if hashlib.sha256(table).hexdigest() != expected_hash:
        raise ConfigError(f"the token table {file_name} is not the one tiktoken expects", REINSTALL)
    words = table.split()  # token, rank, token, rank: line by line this took twice as long
    return dict(zip(map(a2b_base64, words[::2]), map(int, words[1::2]), strict=True))
