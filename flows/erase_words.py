"""Words that every lake and every certificate is written with: as a name they cannot be looked for."""

from __future__ import annotations

import json
import re

from flows.erase_certificate import PREFIX
from lake.lake import Lake
from transforms.derived import CLAIM_SOURCES, OPERATIONS, POLARITIES, SENTIMENTS
from transforms.schemas import MEMORIES, STORED

_FORMATS = """
add remove metaData protocol commitInfo txn path size partitionValues modificationTime dataChange stats
numRecords schema root struct type name nullable metadata fields string integer long float double boolean
timestamp array element list item map key value keys version data file files operation parquet delta lance
arrow pandas polars zstd none null true false default main index payload slowwave append create write ignore
arrow_schema appId cardinality clientVersion configuration containsNull createdTime domain domainMetadata
days day deletionTimestamp deletionVector description elementType engineInfo extendedFileMetadata format
interval key_value lake lastUpdated location minReaderVersion minWriterVersion mode numOfAddFiles offset
operationParameters options partitionBy partitionColumns provider readerFeatures writerFeatures removed
schemaString sidecar sizeInBytes storageType logRetentionDuration delta-rs rust cpp tables part parts
checkpoint last commit tmp json jsonl html crc bin idx manifest english icu language base tokenizer batch
block binary large fixed chars child deleted fragments fst ids impacts length max min score num tokens token
posting rowid lower case stem stop words custom with position prefix only preserve original split total
params partitions partition range codec tail omitted varint utf8 utc utc0 utc8 values uint8 uint16 uint32
uint64 int8 int16 int32 int64 float16 float32 float64 halffloat bool date date32 decimal dictionary enum
utf8view binaryview list8 string0 string8 fixed_size_list large_string large_binary page page_data
page_lookup docs invert btree inverted transactions versions indices hint latest latest_version_hint
not head current gen history rolled_back hash seq prev audit certificates certificate tombstones standing
state salt locks nightly scratch targets requests landing exports reports batches embedded ingested
consolidated retained retaining encryption night open sealed recall log recall_log folding twins hive month
bucket rows row column columns working pulled change summary covered people set add drop sentences line until
fields at opened_at closed_at sub_tasks completed current_action last_tool_result errors notes
pending_decisions goal
"""


def vocabulary(lake: Lake) -> set[str]:
    """Words of file formats, of tables and their closed lists, and the folders that the lake lies in."""
    words = {*_FORMATS.split(), *OPERATIONS, *POLARITIES, *SENTIMENTS, *CLAIM_SOURCES}
    for table in (*STORED, MEMORIES):
        words |= {table.name, *table.names}
        words |= {value for column in table.columns for value in column.allowed}
    # A table's log names the folder that it was made in.
    folders = [part for part in re.split(r"[/\\]", lake.uri) if part]
    return {*words, *folders, *(piece for part in folders for piece in re.split(r"\W", part) if piece)}


def plain_pages(lake: Lake) -> list[str]:
    """Pages that are what their certificate is shown as, to the byte: words of the page, and nothing else."""
    from flows.certificate_page import certificate_html

    found = []
    for entry in lake.storage.entries(PREFIX):
        name, _, kind = entry.key.rpartition(".")
        told = lake.storage.read(f"{name}.json") if kind == "html" else None
        if told is not None:
            try:
                page = certificate_html(json.loads(told)).encode()
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                continue  # changed by hand: it is searched
            if page == lake.storage.read(entry.key):
                found.append(entry.key)
    return found
