"""What a plan needs of its platforms: trials, bytes, disk by role, hours, and what cannot be had."""

from __future__ import annotations

from typing import Any

import pytest

from clusterbench.base.paths import project_root
from clusterbench.engines.capacity import size_bytes
from clusterbench.spec import Experiment, Platform
from clusterbench.spec.catalog import Catalog
from clusterbench.trial.estimate import Estimate, estimate
from clusterbench.trial.measured import Measured, Rate
from clusterbench.trial.needs import TELEMETRY_BYTES_PER_S, CellNeeds
from clusterbench.trial.plan import Plan, make_plan, read_choices

CATALOG = Catalog(project_root())
BOTH = ["lab_db1", "lab_db2"]
MILLION = 1_000_000
PAPERS = {
    "retail": ["native", "vm1", "vm2", "vm4"],
    "key_value": ["greenplum_cluster"],
    "terasort": ["hadoop_native", "hadoop_vm1", "hadoop_vm2", "hadoop_vm4", "hadoop_vm10", "hadoop_vm20"],
    "order_entry": ["order_entry_native", "order_entry_vm"],
    "tpcds_density": ["density_ideal", "density_base", "density_oversubscribed"],
}
TEMPLATES = [(experiment, platform) for experiment, platforms in PAPERS.items() for platform in platforms]


ESTIMATES: dict[tuple[str, str], Estimate] = {}
"""Of whole studies at full scale, each made once."""


class Changed(Catalog):
    """The project's files, but for some keys of one platform."""

    def __init__(self, name: str, **changes: Any) -> None:
        super().__init__(project_root())
        found = super().platform(name)
        self.changed = {name: Platform.model_validate({**found.model_dump(exclude_unset=True), **changes})}

    def platform(self, name: str) -> Platform:
        return self.changed.get(name) or super().platform(name)


@pytest.fixture(scope="module")
def key_value() -> Experiment:
    return CATALOG.experiment("key_value")


def planned(experiment: Experiment, **chosen: Any) -> Plan:
    return make_plan(experiment, read_choices(experiment, chosen), CATALOG)


def of(experiment: str, platform: str, catalog: Catalog = CATALOG, **chosen: Any) -> Estimate:
    if catalog is CATALOG and not chosen and (experiment, platform) in ESTIMATES:
        return ESTIMATES[experiment, platform]
    plan = planned(CATALOG.experiment(experiment), platforms=[platform], **{"scale": "full", **chosen})
    (one,) = estimate(plan, catalog)
    if catalog is CATALOG and not chosen:
        ESTIMATES[experiment, platform] = one
    return one


def cell(one: Estimate, name: str) -> CellNeeds:
    (found,) = (cell for cell in one.cells if cell.cell == name)
    return found


# All of a platform.


def test_trials_are_counted_and_those_that_this_engine_cannot_do(key_value: Experiment) -> None:
    (one,) = estimate(planned(key_value, scale="laptop"), CATALOG)
    assert (one.platform, one.trials, one.not_applicable) == ("lab_db1", 111, 21)


def test_bytes_are_rows_by_their_width_with_room_to_build(key_value: Experiment) -> None:
    (one,) = estimate(planned(key_value, scale="laptop"), CATALOG)
    assert one.dataset_bytes == (100_000 + 300_000 + 1_000_000) * 570
    assert one.disk_needed_bytes == int(one.dataset_bytes * 1.3)


def test_full_scale_says_terabytes_and_hours_beforehand(key_value: Experiment) -> None:
    (one,) = estimate(planned(key_value, scale="full"), CATALOG)
    assert one.dataset_bytes == sum((1, 10, 50, 100, 150, 200, 250, 500, 1000)) * MILLION * 570
    assert one.dataset_bytes > 1e12
    assert one.estimate_s > 3600


def test_time_grows_with_repetitions_but_data_is_made_and_checked_once(key_value: Experiment) -> None:
    (one,) = estimate(planned(key_value, scale="laptop", repetitions=1), CATALOG)
    (ten,) = estimate(planned(key_value, scale="laptop", repetitions=10), CATALOG)
    assert ten.dataset_bytes == one.dataset_bytes
    assert (ten.generation_s, ten.validation_s) == (one.generation_s, one.validation_s)
    assert ten.trials_s == pytest.approx(10 * one.trials_s)
    assert ten.estimate_s == pytest.approx(ten.generation_s + ten.validation_s + ten.trials_s)


def test_there_is_one_estimate_a_platform(key_value: Experiment) -> None:
    assert [one.platform for one in estimate(planned(key_value, platforms=BOTH), CATALOG)] == BOTH


@pytest.mark.parametrize(("experiment", "platform"), TEMPLATES)
def test_nothing_of_the_papers_own_studies_is_refused(experiment: str, platform: str) -> None:
    """What the papers did fits on what they say they had."""
    one = of(experiment, platform)
    assert one.refused == []
    assert all(cell.estimate_s > 0 and cell.basis == "guess" for cell in one.cells if cell.not_applicable is None)


def test_many_hosts_make_data_sooner_than_one_processor() -> None:
    """6 TB by one processor of the lab took 17 hours in the estimates of before."""
    one = of("retail", "native")
    assert 3600 < one.generation_s < 6 * 3600
    assert one.generation_basis == "a guess: 64 processes at once, 4 hosts with 16 disks each"


def test_crowded_machines_take_longer() -> None:
    ideal, crowded = of("tpcds_density", "density_ideal"), of("tpcds_density", "density_oversubscribed")
    names = {one.cell for one in ideal.cells if one.levels["streams"] == 8}
    assert len(names) == 2
    assert all(cell(crowded, name).estimate_s > 1.5 * cell(ideal, name).estimate_s for name in names)


def test_a_measured_rate_of_about_so_many_bytes_is_used_and_no_other() -> None:
    plan = planned(CATALOG.experiment("smoke"), scale="laptop")
    rates = (Rate("smoke/near", 57 * MILLION, 3.0), Rate("smoke/far", 5700, 3.0))
    (one,) = estimate(plan, CATALOG, {"lab_db1": Measured(generated=rates)})
    assert one.generation_s == pytest.approx(one.dataset_bytes / 19e6)
    assert one.generation_basis == "19.0 MB/s, as in run smoke/near"
    (other,) = estimate(plan, CATALOG, {"lab_db1": Measured(generated=rates[1:])})
    assert other.generation_basis.startswith("a guess")


# Cells.


def test_a_lookup_reads_pages_and_a_scan_the_table(key_value: Experiment) -> None:
    one = of("key_value", "greenplum_cluster", sweeps=["table_size"])
    by_index, by_scan = (cell(one, f"table_size.rows_1000000000.access_{how}") for how in ("index", "scan"))
    table = 1000 * MILLION * 570
    assert by_index.read_bytes == table + 20 * 5 * 8192  # warm: the table goes into the caches first
    assert by_scan.read_bytes == table + 20 * table


def test_sessions_are_processes_on_every_segment_of_a_host() -> None:
    one = cell(of("key_value", "greenplum_cluster", sweeps=["concurrency"]), "concurrency.clients_200.cache_warm")
    assert (one.connections, one.ports) == (200, 200)
    assert one.open_files == 200 * 12 * 2
    assert one.memory_bytes == 12 * 125 * 2**20 + 200 * 12 * 2 * MILLION


def test_a_pooler_has_fewer_sessions_with_the_server_than_with_its_clients() -> None:
    allowed = Changed("greenplum_cluster", may=["session_settings"])
    one = of("key_value", "greenplum_cluster", allowed, sweeps=["pooling"], concurrency=[200])
    cells = {cell.levels["pooling"]: cell for cell in one.cells if cell.levels["session"] == "kept"}
    assert cells["direct"].connections == cells["pgbouncer"].connections == 200
    assert cells["direct"].memory_bytes is not None
    assert cells["pgbouncer"].memory_bytes is not None
    assert cells["direct"].memory_bytes > cells["pgbouncer"].memory_bytes


def test_a_session_for_each_lookup_may_run_out_of_ports() -> None:
    one = of("key_value", "greenplum_cluster", sweeps=["pooling"], concurrency=[200])
    (direct,) = (c for c in one.cells if c.levels["session"] == "per_lookup" and c.levels["pooling"] == "direct")
    assert direct.ports == 200 * 2000
    assert direct.mind[0].startswith("opens so many connections, one after the other")
    assert "28,232 ports" in direct.mind[0]
    assert "net.ipv4.tcp_tw_reuse" in direct.mind[0]


def test_clients_that_wait_for_their_turn_in_a_resource_group_are_told() -> None:
    group = {"manager": "group", "name": "default_group", "at_once": 20, "limits": {"concurrency": "20"}}
    plan = planned(
        CATALOG.experiment("key_value"), platforms=["greenplum_cluster"], scale="full", sweeps=["concurrency"]
    )
    measured = {"greenplum_cluster": Measured(facts={"engine": {"driver_resources": group}})}
    (one,) = estimate(plan, CATALOG, measured)
    told = {cell.levels["clients"]: cell.mind for cell in one.cells}
    assert told[1] == () and len(told[200]) == 1
    assert told[200][0].startswith(
        "200 sessions, and resource group default_group of the drivers' role lets so many transactions run at once: 20."
    )


def test_mirrors_are_written_too_and_temporary_files_are_not() -> None:
    one = of("retail", "native", sweeps=["data_load", "partial_scan"], concurrency=[1])
    table = 2_300_000_000 * 700
    assert cell(one, "data_load").written_bytes == 2 * 2 * table
    partial = next(c for c in one.cells if c.sweep == "partial_scan")
    assert partial.written_bytes == pytest.approx(8_400_000_000 / 5 * 50, rel=0.01)


def test_a_load_on_greenplum_has_one_session_and_a_port_for_each_file() -> None:
    one = cell(of("retail", "native", sweeps=["data_load"]), "data_load")
    assert (one.connections, one.ports) == (1, 17)
    one = cell(of("retail", "lab_db1", scale="smoke", sweeps=["data_load"]), "data_load")
    assert (one.connections, one.ports) == (16, 16)


def test_what_depends_on_speed_is_not_guessed() -> None:
    one = cell(of("order_entry", "order_entry_native", sweeps=["clients"]), "clients.clients_1024")
    assert (one.read_bytes, one.written_bytes) == (None, None)
    assert one.memory_bytes == 430 * 2**30 + 1024 * 2 * MILLION


def test_containers_and_daemons_are_the_memory_of_a_worker() -> None:
    one = next(c for c in of("terasort", "hadoop_vm20").cells if c.not_applicable is None)
    assert one.memory_bytes == (1 * (1024 + 1536) + 4096 + 2 * 1300) * 2**20
    assert one.connections == 5  # of the shuffle: the platform's own parallelcopies


def test_neighbours_have_the_same_load_from_the_same_host() -> None:
    one = cell(of("tpcds_density", "lab_oversubscribed", scale="smoke", sweeps=["lite"]), "lite.streams_4")
    assert (one.connections, one.ports) == (16, 16)


def test_a_cell_that_is_not_applicable_needs_nothing() -> None:
    one = cell(of("key_value", "lab_db1", scale="smoke", sweeps=["storage"]), "storage.storage_append_row")
    assert one.not_applicable == "PostgreSQL has no append-optimised tables; only Greenplum and its family have"
    assert (one.read_bytes, one.estimate_s, one.basis) == (None, 0, "")


# Disk.


def test_disk_is_by_the_role_of_a_host() -> None:
    found = {need.role: need for need in of("retail", "native").disks}
    rows = (8_400_000_000 + 2_300_000_000) * 700
    assert found["segment"].hosts == 4
    assert found["segment"].bytes_each == pytest.approx(rows * 1.3 * 2 / 4, rel=0.05)  # and temporary files
    assert found["segment"].declared_bytes == 16 * 500 * 10**9
    assert found["etl"].bytes_each == 2_300_000_000 * 435


def test_the_generator_of_tpcds_needs_room_for_a_few_chunks_and_no_more() -> None:
    """1 TB is made and loaded chunk by chunk: 16 at once on a host, at most."""
    found = {need.role: need.bytes_each for need in of("tpcds_density", "density_ideal").disks}
    assert 16 * 250 * MILLION <= found["etl"] <= 32 * 250 * MILLION


# What cannot be had.


def said(one: Estimate) -> str:
    (why,) = (why for why, _ in one.refused)
    return why


def test_more_clients_than_the_server_takes_are_refused() -> None:
    settings = CATALOG.platform("order_entry_native").settings | {"max_connections": "500"}
    one = of("order_entry", "order_entry_native", Changed("order_entry_native", settings=settings))
    refused = [(why, [cell.cell for cell in cells]) for why, cells in one.refused]
    assert [cells for _, cells in refused] == [
        ["clients.clients_512"],
        ["clients.clients_1024", *(f"utilisation.cpu_percent_{level}" for level in (77, 85, 90, 91))],
    ]
    assert refused[0][0] == (
        "512 sessions on the server at once, and it takes 497 (max_connections 500 in its file, less 3 for "
        "superusers); raise max_connections in 'settings' of its file, or choose fewer clients"
    )


def test_what_nobody_has_declared_refuses_nothing() -> None:
    settings = {k: v for k, v in CATALOG.platform("order_entry_native").settings.items() if k != "max_connections"}
    assert of("order_entry", "order_entry_native", Changed("order_entry_native", settings=settings)).refused == []


def test_an_earlier_run_knows_how_many_the_server_takes() -> None:
    plan = planned(CATALOG.experiment("key_value"), scale="laptop", sweeps=["concurrency"], concurrency=[50])
    facts = {"engine": {"settings": {"max_connections": "40"}}}
    (one,) = estimate(plan, CATALOG, {"lab_db1": Measured(facts=facts)})
    assert said(one).startswith(
        "50 sessions on the server at once, and it takes 37 (max_connections 40 as an earlier run found it"
    )


def test_buffers_larger_than_the_memory_are_refused() -> None:
    settings = CATALOG.platform("order_entry_vm").settings | {"shared_buffers": "480GB"}
    one = of("order_entry", "order_entry_vm", Changed("order_entry_vm", settings=settings), sweeps=["durability"])
    assert said(one) == (
        "480.5 GiB of memory on a host at least (shared_buffers 480GB in its file, and its sessions), and it has 475.0 "
        "GiB in its file; choose smaller buffers or containers, or fewer clients"
    )


def test_data_larger_than_the_declared_disks_is_refused() -> None:
    host = {"cpus": 32, "memory_gb": 96, "data_disks": 16, "data_disk_gb": 250}
    one = of("retail", "native", Changed("native", segment_host=host))
    assert said(one).startswith(
        "5,036.4 GB of disk on each host with the role 'segment' (tables, indexes, log, mirrors,"
    )
    assert "and its file says 4,000.0 GB (data_disks times data_disk_gb); add hosts or disks" in said(one)


def test_a_worker_too_small_for_a_suite_is_refused() -> None:
    hadoop = {"home": "/opt/hadoop", "worker": {"cpus": 2, "memory_gib": 8, "data_disks": 1, "data_disk_gb": 300}}
    one = of("terasort", "hadoop_vm20", Changed("hadoop_vm20", hadoop=hadoop, placement=None))
    disk, memory = (why for why, _ in one.refused)
    assert disk.startswith("382.1 GB of disk on each host with the role 'worker'")
    assert memory.startswith("9.0 GiB of memory on a host at least (1 slots: containers of 6,656 MB, daemons of 2,600")


def test_too_few_ports_are_refused_where_they_are_declared() -> None:
    setup = {"hosts": [{"roles": ["client"], "sysctl": {"net.ipv4.ip_local_port_range": "40000 40099"}}]}
    one = of("key_value", "lab_db1", Changed("lab_db1", setup=setup), sweeps=["concurrency"], concurrency=[200])
    assert said(one) == (
        "200 connections at once from host 'client', which has 100 ports for them (net.ipv4.ip_local_port_range 40000 "
        "40099 in its file); widen it, or choose fewer clients"
    )


def test_a_limit_of_open_files_below_a_sessions_tables_is_refused() -> None:
    setup = {"hosts": [{"roles": ["segment"], "limits": {"nofile": 64}}]}
    one = of("retail", "native", Changed("native", setup=setup), sweeps=["full_scan"], concurrency=[1])
    assert said(one) == ("101 open files of one process, and its file limits them to 64 (limits, nofile); raise that")


def test_a_long_log_does_not_travel_and_telemetry_is_one_object_for_all_hosts(key_value: Experiment) -> None:
    sweep = key_value.sweeps["concurrency"].model_copy(
        update={"factors": {"clients": [2000], "lookups_per_client": [1_000_000], "cache": ["cold"]}}
    )
    longer = key_value.model_copy(update={"sweeps": {"concurrency": sweep}})
    (one,) = estimate(make_plan(longer, read_choices(longer, {"scale": "smoke"}), CATALOG), CATALOG)
    (cell,) = one.cells
    assert one.refused == [] and 64_000_000 <= cell.largest_object_bytes < 2**31
    density = of("tpcds_density", "density_ideal")
    longest = max(density.cells, key=lambda cell: cell.estimate_s)
    hosts = len(CATALOG.platform("density_ideal").every_host)
    assert longest.estimate_s > 3600
    assert longest.largest_object_bytes >= hosts * 3600 * TELEMETRY_BYTES_PER_S


@pytest.mark.parametrize(
    ("text", "count"), [("430GB", 430 * 2**30), ("99200kB", 99200 * 1024), ("16384", 16384 * 8192), ("on", None)]
)
def test_sizes_are_read_as_a_server_prints_them(text: str, count: int | None) -> None:
    assert size_bytes(text, 8192) == count
