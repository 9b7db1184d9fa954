"""Which member of the family a cluster is, by what servers have printed, and which group or queue drivers are in.

The versions were printed by real servers, and published by those who had them; one of generation 6 was built here.
"""

from __future__ import annotations

from typing import Any

import pytest

from clusterbench.engines.greenplum import capacity, family, resources
from clusterbench.engines.greenplum.engine import Greenplum
from tests.engines.greenplum.test_engine import PLATFORM

GREENPLUM_6 = (
    "PostgreSQL 9.4.26 (Greenplum Database 6.24.3 build commit:25d3498a400ca5230e81abb94861f23389315213) on "
    "x86_64-unknown-linux-gnu, compiled by gcc (Debian 12.2.0-14+deb12u1) 12.2.0, 64-bit"
)
GREENPLUM_7 = (
    "PostgreSQL 12.12 (Greenplum Database 7.0.0 build commit:0a7a3566873325aca1789ae6f818c80f17a9402d) on "
    "x86_64-pc-linux-gnu, compiled by gcc (GCC) 8.5.0 20210514 (Red Hat 8.5.0-18), 64-bit compiled on Sep 20 2023 "
    "23:21:05 Bhuvnesh C."
)
CLOUDBERRY_2 = (
    "PostgreSQL 14.4 (Apache Cloudberry 2.0.0-incubating build 1) on aarch64-unknown-linux-gnu, compiled by gcc (GCC) "
    "11.5.0 20240719 (Red Hat 11.5.0-11), 64-bit"
)
CLOUDBERRY_1 = (
    "PostgreSQL 14.4 (Cloudberry Database 1.0.0 build dev) on aarch64-unknown-linux-gnu, compiled by gcc (GCC) 10.2.1 "
    "20210130 (Red Hat 10.2.1-11), 64-bit compiled on Dec  1 2022 11:38:02"
)
GREENGAGE_7 = (
    "PostgreSQL 12.22 (Greengage Database 7.3.0+dev.840.g53480a5ef6 build 240+git53480a5) on x86_64-pc-linux-gnu, "
    "compiled by gcc (Ubuntu 11.4.0-1ubuntu1~22.04.2) 11.4.0, 64-bit compiled on Oct  7 2025 20:21:20 Bhuvnesh C."
)
GREENGAGE_6 = (
    "PostgreSQL 9.4.26 (Greengage Database 6.26.35_arenadata53 build 2625.gitac00af7.el7) on x86_64-unknown-linux-gnu"
)
ARENADATA_7 = (
    "PostgreSQL 12.12 (Greenplum Database 7.2.0_arenadata5 build 103+git7888a88) on x86_64-pc-linux-gnu, compiled by "
    "gcc (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0, 64-bit compiled on Sep 16 2024 20:02:13 Bhuvnesh C."
)
HASHDATA = (
    "PostgreSQL 9.4.26 (Greenplum Database 6.20.0 build 9999) (HashData Warehouse 3.13.8 build 27594) on "
    "x86_64-unknown-linux-gnu, compiled by gcc (GCC) 10.2.1 20210130 (Red Hat 10.2.1-11), 64-bit"
)


@pytest.mark.parametrize(
    ("version", "number", "product", "generation"),
    [
        (GREENPLUM_6, 90426, ("Greenplum Database", "6.24.3"), 6),
        (GREENPLUM_7, 120012, ("Greenplum Database", "7.0.0"), 7),
        (CLOUDBERRY_2, 140004, ("Apache Cloudberry", "2.0.0-incubating"), 7),
        (CLOUDBERRY_1, 140004, ("Cloudberry Database", "1.0.0"), 7),
        (GREENGAGE_7, 120022, ("Greengage Database", "7.3.0+dev.840.g53480a5ef6"), 7),
        (GREENGAGE_6, 90426, ("Greengage Database", "6.26.35_arenadata53"), 6),
        (ARENADATA_7, 120012, ("Greenplum Database", "7.2.0_arenadata5"), 7),
        (HASHDATA, 90426, ("HashData Warehouse", "3.13.8"), 6),
    ],
)
def test_product_and_generation_are_read_from_the_version(
    version: str, number: int, product: tuple[str, str], generation: int
) -> None:
    assert family.product_of(version) == product
    assert family.generation_of(number) == generation


def facts(version: str, number: int, **told: Any) -> dict[str, Any]:
    product, product_version = family.product_of(version)
    return {
        "product": product,
        "product_version": product_version,
        "generation": family.generation_of(number),
        "version": version,
        "compresstypes": "none, rle_type, zlib, zstd",
        "orca": "Server has been compiled without ORCA",
        "interconnect": "udpifc",
        "resource_manager": "queue",
        **told,
    }


def words(known: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {each.what: (each.found, each.remedy) for each in Greenplum.features(object.__new__(Greenplum), known)}


def test_doctor_says_which_member_it_is_and_whether_it_was_ever_tried() -> None:
    six = words(facts(GREENPLUM_6, 90426))
    said = "Greenplum Database 6.24.3, generation 6, on PostgreSQL 9.4.26; tried was 6.24.3"
    assert six["product"] == (said, "")
    assert six["storage"][0] == "heap, append_row, append_column; compression none, rle_type, zlib, zstd"
    assert six["utilities"][0].startswith("none that run")
    two = words(facts(CLOUDBERRY_2, 140004, access_methods="ao_column, ao_row, pax", utilities=["gpstop", "gpstart"]))
    assert two["product"][0] == "Apache Cloudberry 2.0.0-incubating, generation 7, on PostgreSQL 14.4"
    assert two["product"][1].startswith("clusterbench was never tried on it: 'make test-engine PLATFORM=…' does")
    assert two["storage"][0].startswith("heap, append_row, append_column, pax; ")
    assert two["utilities"][0] == "gpstop, gpstart"


def test_a_group_is_told_in_the_servers_own_words_and_limits_what_runs_at_once() -> None:
    row = {
        "groupid": 6437,
        "groupname": "default_group",
        "concurrency": "20",
        "cpu_max_percent": "20",
        "cpu_weight": "100",
        "cpuset": "",
        "memory_quota": "-1",
        "min_cost": "0",
        "io_limit": None,
    }
    found = resources.said_of("group-v2", [row])
    assert (found["name"], found["at_once"]) == ("default_group", 20)
    told = words(facts(GREENPLUM_7, 120012, driver_resources=found))["drivers' resources"]
    said = (
        "resource group default_group: concurrency 20, cpu_max_percent 20, cpu_weight 100, memory_quota -1, min_cost 0"
    )
    assert told == (said, "")
    known = capacity.capacity(PLATFORM, {"driver_resources": found}).running_at_once
    assert known is not None and known.value == 20
    assert "resource group default_group of the drivers' role lets so many transactions run" in known.said_by


def test_a_queue_limits_statements_and_holds_no_superuser() -> None:
    rows = [
        {"rsqname": "pg_default", "resname": name, "ressetting": value}
        for name, value in {"active_statements": "20", "max_cost": "-1", "priority": "medium"}.items()
    ]
    found = resources.said_of("queue", rows)
    assert found["at_once"] == 20 and "so many statements run" in str(
        resources.running_at_once({"driver_resources": found})
    )
    unlimited = resources.said_of("queue", [{**rows[0], "ressetting": "-1"}])
    assert resources.running_at_once({"driver_resources": unlimited}) is None
    assert resources.said_of("queue", []) == {"manager": "queue"}
    assert resources.feature({"manager": "queue"}).found == "resource manager queue, in no queue"
    assert resources.feature(resources.said_of("none", [])).found == "resource manager none"
    assert resources.running_at_once({}) is None
