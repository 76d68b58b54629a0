"""Assumptions of the capacity report that no lake can measure: prices, machines, growth."""

from __future__ import annotations

from pydantic import Field

from transforms.policy_entries import Section, Share


class PlanPolicy(Section):
    """Planning of capacity. Prices are in one currency of the planner's choice."""

    window_days: float = Field(90.0, gt=0, le=36_500)
    """How far back growth is measured."""
    min_days: int = Field(14, ge=2, le=36_500)
    """Fewest whole days of history for a forecast; with fewer none is made."""
    spike_ratio: float = Field(20.0, gt=1, le=1_000_000)
    """A day with so many times the rows of a middle day is a load stamped with its own day: not counted."""
    spike_days: int = Field(5, ge=3, le=36_500)
    """Fewest days with rows for that to be told."""
    late_days: float = Field(7.0, gt=0, le=36_500)
    """A row that landed longer than this after it happened came with a load of older traces."""
    reach_ratio: float = Field(5.0, gt=0, le=1_000)
    """A forecast reaches so many times the history at most."""
    trend_ratio: float = Field(1.25, gt=1, le=1_000)
    """Later half of the window over the earlier one, or the reverse, from which growth is called unsteady."""
    timed_calls: int = Field(100, ge=1, le=10**9)
    """Fewest timed recalls whose middle latency stands for the processor time of a search."""
    near_days: int = Field(30, ge=1, le=3_650)
    """First horizon of the forecast."""
    middle_days: int = Field(90, ge=1, le=3_650)
    """Second horizon."""
    far_days: int = Field(365, ge=1, le=3_650)
    """Third horizon."""
    block_days: int = Field(7, ge=1, le=365)
    """Days drawn together by the bootstrap: a week keeps the rhythm of weekdays."""
    resamples: int = Field(1_000, ge=100, le=100_000)
    """Futures that are drawn."""
    level: float = Field(0.9, gt=0, lt=1)
    """Share of the drawn futures inside an interval."""
    seed: int = Field(0, ge=0, le=2**31)
    """Of draws."""
    tenants: int = Field(20, ge=1, le=10_000)
    """Largest tenants that are forecast by themselves; the others are one line."""
    sampled_files: int = Field(300, ge=1, le=1_000_000)
    """Footers read of a table, evenly over its files; shares by column are scaled to the exact bytes."""
    probe_rows: int = Field(32_768, ge=64, le=1_000_000)
    """Rows of a table that are encoded again as fuller files, to see what such files would take."""
    probe_scopes: int = Field(5, ge=1, le=1_000)
    """Scopes that are read from the index, to see what one holds in memory and how many reads it takes."""
    search_cpu_seconds: float = Field(0.0257, gt=0, le=60)
    """Processor time of a search whose scope is not held (`benchmarks recall`: scopes of 5,000 at random)."""
    large_search_cpu_seconds: float = Field(0.0297, gt=0, le=60)
    """The same in a scope with a table and a vector index of its own (`benchmarks recall`: 100,000 rows)."""
    search_dimensions: int = Field(256, ge=1, le=100_000)
    """Dimensions of the vectors that both were measured with; longer ones are taken to cost in proportion."""
    reader_bytes: int = Field(632_000_000, ge=1_000_000, le=10**13)
    """Resident memory of a reader at work (`benchmarks recall`: 524 to 632 MB at 1,000,000 memories)."""
    reader_callers: int = Field(8, ge=1, le=10_000)
    """Searches that one reader process takes at once."""
    view_bytes: int = Field(80 * 2**20, ge=0, le=10**12)
    """Memory in which a reader holds whole scopes (`lake/online/held_views.py`)."""
    held_row_bytes: float = Field(1_500.0, gt=0, le=10**9)
    """Memory of one row of a scope that is held, where there is no index to measure it in."""
    scope_reads: float = Field(16.0, gt=0, le=10**6)
    """Reads that reading one scope takes, where there is no index to measure it in."""
    index_row_bytes: float = Field(555.0, gt=0, le=10**6)
    """Bytes of a row of the index beside its vector, where there is none to measure."""
    file_rows: int = Field(250_000, ge=1_000, le=10**9)
    """Rows of the fullest data files (`lake/parts.py`)."""
    large_lake_rows: int = Field(50_000_000, ge=1, le=10**13)
    """Memories from which a planned lake has `large_lake_buckets`."""
    lake_buckets: int = Field(16, ge=1, le=1_024)
    """Tenant buckets of a planned lake below that."""
    large_lake_buckets: int = Field(64, ge=1, le=1_024)
    """Tenant buckets of a large one."""
    transfer_bytes: int = Field(8 * 2**20, ge=2**16, le=2**32)
    """Bytes of one request when a generation is copied from an object store."""
    recall_row_bytes: float = Field(82.0, gt=0, le=10**6)
    """Bytes of a row of the recall log, where none is on record (measured: 81 over 150,000 rows)."""
    peak_ratio: float = Field(3.0, ge=1, le=1_000)
    """Busiest hour over the mean, where no recall is on record."""
    busy_ratio: float = Field(0.6, gt=0, le=1)
    """Share of a core that is planned for; the rest is room for bursts."""
    parallel_ratio: float = Field(0.7, gt=0, le=1)
    """What each core that a night has beyond those it was measured on adds, as a share of a core."""
    sure_rows: int = Field(10_000, ge=1, le=10**9)
    """Rows from which a run shows how fast a step is, and a lake what a row takes."""
    ingest_rows_per_second: float = Field(36_000.0, gt=0, le=10**9)
    """Where no such run is on record, as the next four: `benchmarks night`, 1,000,000 rows on two cores."""
    embed_rows_per_second: float = Field(9_800.0, gt=0, le=10**9)
    """With the local model."""
    consolidate_rows_per_second: float = Field(2_200.0, gt=0, le=10**9)
    """By rule (`benchmarks sleep`)."""
    publish_rows_per_second: float = Field(17_000.0, gt=0, le=10**9)
    """Of the whole index: a generation is built anew."""
    retain_rows_per_second: float = Field(69_000.0, gt=0, le=10**9)
    """Of the rows that are judged (`benchmarks forgetting`, 10,000,000 rows)."""
    night_seconds: int = Field(28_800, ge=60, le=86_400)
    """Time that a night may take."""
    node_cores: int = Field(16, ge=1, le=10_000)
    """Cores of a node."""
    node_memory_bytes: int = Field(256 * 2**30, ge=2**30, le=2**50)
    """Memory of a node."""
    node_disk_bytes: int = Field(4_000_000_000_000, ge=10**9, le=10**18)
    """Local disk of a node, where the index lies."""
    usable_ratio: Share = 0.8
    """Share of a node's memory and disk that is planned for."""
    graph_ratio: float = Field(1.5, ge=1, le=100)
    """Memory of a resident graph index over that of its bare vectors."""
    graph_dimensions: int = Field(1_536, ge=1, le=100_000)
    """Dimensions of the vectors that the planning figures are about."""
    object_month_price: float = Field(0.023, ge=0, le=10**9)
    """Of a GB and month of object storage. Illustrative, as all prices here: set your own."""
    disk_month_price: float = Field(0.08, ge=0, le=10**9)
    """Of a GB and month of local disk. Illustrative."""
    node_month_price: float = Field(900.0, ge=0, le=10**9)
    """Of a node and month. Illustrative."""
    writes_price: float = Field(5.0, ge=0, le=10**9)
    """Of a million writing requests to the object store. Illustrative."""
    reads_price: float = Field(0.4, ge=0, le=10**9)
    """Of a million reading requests to it. Illustrative."""
