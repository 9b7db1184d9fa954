"""The mix of transactions, and what pgbench's scripts draw: what TPC-C 5.11 says of each."""

from __future__ import annotations

import re

import pytest

from clusterbench.workloads.order_entry import mix, rows

SCRIPTS = mix.scripts()


def arguments(name: str) -> list[str]:
    """Variables that a script hands to its function, in their order."""
    (call,) = re.findall(r"SELECT \* FROM \w+\((.*?)\);", SCRIPTS[name], re.DOTALL)
    return re.findall(r"(?<!:):(\w+)", call)


def test_weights_are_tpc_c_s_and_one_new_order_in_a_hundred_is_rolled_back() -> None:
    """Clause 5.2.3: at least 43 % Payment and 4 % of each of the three others; 2.4.1.4: 1 % of New-Order."""
    assert sum(mix.WEIGHTS.values()) == 10_000
    assert mix.WEIGHTS["payment"] >= 4300
    assert all(mix.WEIGHTS[name] >= 400 for name in ("order_status", "delivery", "stock_level"))
    assert mix.WEIGHTS["rolled_back"] * 100 == mix.WEIGHTS["new_order"] + mix.WEIGHTS["rolled_back"]


def test_scripts_are_numbered_as_the_log_numbers_them() -> None:
    assert list(SCRIPTS) == list(mix.WEIGHTS) == sorted(mix.NUMBER, key=lambda name: mix.NUMBER[name])


@pytest.mark.parametrize("name", mix.TRANSACTIONS)
def test_transaction_is_one_call_and_so_one_round_trip(name: str) -> None:
    statements = [line for line in SCRIPTS[name].splitlines() if line and not line.startswith(("\\", "--"))]
    assert " ".join(statements).count(";") == 1
    assert statements[0].startswith(f"SELECT * FROM {name}(")


def test_rolled_back_one_is_a_new_order_whose_last_used_item_does_not_exist() -> None:
    text = SCRIPTS["rolled_back"]
    assert text.index("BEGIN;") < text.index("SELECT * FROM new_order(") < text.index("ROLLBACK;")
    assert arguments("rolled_back") == arguments("new_order")
    for line in range(5, 16):
        assert f"\\set item{line} CASE WHEN :lines = {line} THEN {rows.ITEMS + 1} ELSE :item{line} END\n" in text


@pytest.mark.parametrize("name", mix.WEIGHTS)
def test_every_variable_is_drawn_before_it_is_used_or_given(name: str) -> None:
    known = set(mix.variables(1))
    for line in SCRIPTS[name].splitlines():
        if line.startswith("--"):
            continue
        assert set(re.findall(r"(?<!:):([a-z]\w*)", line)) <= known, line
        known |= set(re.findall(r"^\\set (\w+)", line))


def test_client_s_number_decides_nothing() -> None:
    """A home warehouse a client would leave a few clients a few warehouses, which lie in memory."""
    assert all(":client_id" not in text for text in SCRIPTS.values())
    assert all("\\set warehouse random(1, :warehouses)\n" in text for text in SCRIPTS.values())


def test_nurand_is_tpc_c_s() -> None:
    """Clause 2.1.6: (((random(0, A) | random(x, y)) + C) % (y - x + 1)) + x; A is 255, 1023 and 8191."""
    assert "((random(0, 8191) | random(1, 100000)) + :c_item) % 100000 + 1" in SCRIPTS["new_order"]
    assert "((random(0, 1023) | random(1, 3000)) + :c_customer) % 3000 + 1" in SCRIPTS["new_order"]
    for name in ("payment", "order_status"):
        assert "((random(0, 255) | random(0, 999)) + :c_name) % 1000" in SCRIPTS[name]
        assert "((random(0, 1023) | random(1, 3000)) + :c_customer) % 3000 + 1" in SCRIPTS[name]
    assert 0 <= mix.C["c_name"] <= 255
    assert 0 <= mix.C["c_customer"] <= 1023
    assert 0 <= mix.C["c_item"] <= 8191


def test_constant_of_last_names_differs_from_the_data_s_as_tpc_c_wants() -> None:
    """Clause 2.1.6.1."""
    difference = abs(mix.C["c_name"] - rows.LAST_NAME_C)
    assert 65 <= difference <= 119
    assert difference not in {96, 112}


def test_seed_differs_by_trial_and_by_load_and_is_the_same_in_every_run() -> None:
    seeds = [
        mix.random_seed(7, trial, clients, rate)
        for trial in ("clients.1.r1", "clients.1.r2", "clients.2.r1")
        for clients in (1, 2)
        for rate in (0, 500, 500.5)
    ]
    assert len(set(seeds)) == len(seeds)
    assert mix.random_seed(7, "clients.1.r1", 1, 0) == mix.random_seed(7, "clients.1.r1", 1, 0.0) == seeds[0]
    assert all(0 <= seed < 2**63 for seed in seeds)
