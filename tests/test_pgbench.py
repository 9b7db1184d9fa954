"""pgbench's command, and its output as captured from real trials in ``fixtures/pgbench``."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from clusterbench import pgbench
from clusterbench.connections import Connection
from clusterbench.engines import Endpoint

CAPTURED = Path(__file__).parent / "fixtures" / "pgbench"
TRANSACTIONS = {
    "cold_4_clients_sql_prepare": 200,
    "warm_1_client_sql_prepare": 50,
    "session_per_lookup": 40,
    "scan_of_1000_rows": 10,
    "protocol_prepare": 100,
    "index_build_10000_rows": 1,
}
ENDPOINT = Endpoint("db.example", 5432, "bench", "data")
DATABASE = Connection("lab_db1", "db.example", 5432, "bench", "s3cr\\et:word", "data", {})
LOAD = pgbench.Load("SELECT 1;\n", 4, 50, "simple", reconnect=False, seed=7)


def log_lines(output: Path) -> list[list[int]]:
    return [
        [int(word) for word in line.split()] for log in output.glob("log.*") for line in log.read_text().splitlines()
    ]


def percentile(sorted_values: list[float], share: float) -> float:
    """By linear interpolation between neighbours, in plain Python."""
    place = share * (len(sorted_values) - 1)
    below = int(place)
    above = min(below + 1, len(sorted_values) - 1)
    return sorted_values[below] + (place - below) * (sorted_values[above] - sorted_values[below])


@pytest.fixture
def captured(tmp_path: Path) -> Path:
    """A copy of real output that a test may spoil."""
    return Path(shutil.copytree(CAPTURED / "cold_4_clients_sql_prepare", tmp_path / "output"))


# Reading.


@pytest.mark.parametrize("case", TRANSACTIONS)
def test_latencies_are_those_of_the_log(case: str) -> None:
    read = pgbench.read(CAPTURED / case, TRANSACTIONS[case])
    latencies = sorted(line[2] / 1000 for line in log_lines(CAPTURED / case))
    assert (read.errors, read.samples, len(latencies)) == (0, TRANSACTIONS[case], TRANSACTIONS[case])
    for name, share in {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999, "max": 1.0}.items():
        assert read.measurements[f"latency_ms_{name}"] == pytest.approx(percentile(latencies, share)), name
    assert read.measurements["latency_ms_mean"] == pytest.approx(sum(latencies) / len(latencies))


@pytest.mark.parametrize("case", TRANSACTIONS)
def test_throughput_is_transactions_over_the_window_from_first_start_to_last_end(case: str) -> None:
    read = pgbench.read(CAPTURED / case, TRANSACTIONS[case])
    lines = log_lines(CAPTURED / case)
    start_us = min(line[4] * 1_000_000 + line[5] - line[2] for line in lines)
    end_us = max(line[4] * 1_000_000 + line[5] for line in lines)
    assert read.measurements["response_time_s"] == (end_us - start_us) / 1e6
    assert read.measurements["throughput_per_s"] == pytest.approx(len(lines) * 1e6 / (end_us - start_us))
    assert (read.window_start_s, read.window_end_s) == (start_us / 1e6, end_us / 1e6)


@pytest.mark.parametrize("case", ["cold_4_clients_sql_prepare", "protocol_prepare"])  # long enough for its own ends
def test_throughput_agrees_with_what_pgbench_says_of_itself(case: str) -> None:
    read = pgbench.read(CAPTURED / case, TRANSACTIONS[case])
    said = re.search(r"tps = ([\d.]+)", (CAPTURED / case / "driver.txt").read_text())
    assert said
    assert read.measurements["throughput_per_s"] == pytest.approx(float(said[1]), rel=0.05)


@pytest.mark.parametrize(
    ("case", "connection_ms"), [("cold_4_clients_sql_prepare", 22.855), ("session_per_lookup", 13.196)]
)
def test_time_to_connect_is_read_for_kept_and_for_new_sessions(case: str, connection_ms: float) -> None:
    assert pgbench.read(CAPTURED / case, TRANSACTIONS[case]).measurements["connection_ms_mean"] == connection_ms


def test_every_measurement_is_declared() -> None:
    for case, expected in TRANSACTIONS.items():
        read = set(pgbench.read(CAPTURED / case, expected).measurements)
        assert read == set(pgbench.MEASUREMENTS) - {"segment_transactions_per_transaction"}


def test_work_on_segments_is_counted_per_transaction_where_the_engine_counts(tmp_path: Path) -> None:
    """Greenplum 6.24: 2000 lookups by the extended protocol were 10,070 transactions on four segments."""
    (tmp_path / "before.json").write_text('{"counters": {"segment_transactions": 48063}}')
    (tmp_path / "after.json").write_text('{"counters": {"segment_transactions": 58133}}')
    assert pgbench.work_per_transaction(tmp_path, 2000) == {"segment_transactions_per_transaction": 5.035}
    assert pgbench.work_per_transaction(tmp_path, 999) == {}, "too few to tell them from our own questions"


def test_an_engine_that_counts_nothing_gives_no_such_measurement(tmp_path: Path) -> None:
    assert pgbench.work_per_transaction(tmp_path, 2000) == {}
    (tmp_path / "before.json").write_text('{"counters": {}}')
    (tmp_path / "after.json").write_text('{"faults": ["segment 1 went down"]}')
    assert pgbench.work_per_transaction(tmp_path, 2000) == {}


def test_aborted_clients_give_errors_and_no_number() -> None:
    read = pgbench.read(CAPTURED / "clients_aborted", 200)
    assert (read.measurements, read.errors, read.samples, read.window_start_s) == ({}, 200, 0, None)


def test_aborted_clients_give_the_driver_s_own_words() -> None:
    """They are the reason in the results table (``trial.py``), so they must not be lost when nothing was measured."""
    details = pgbench.read(CAPTURED / "clients_aborted", 200).details
    assert 'undefined variable "prepared"' in str(details["driver_errors"])
    assert "0/200" in str(details["driver_said"])


def test_transactions_that_are_missing_are_errors(captured: Path) -> None:
    log = next(captured.glob("log.*.1"))
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:-7]))
    read = pgbench.read(captured, 200)
    assert (read.errors, read.samples) == (7, 193)


def test_log_file_that_is_missing_is_errors(captured: Path) -> None:
    next(captured.glob("log.*.1")).unlink()
    assert pgbench.read(captured, 200).errors == 100


def test_failed_and_skipped_transactions_are_errors_and_no_latencies(captured: Path) -> None:
    log = next(captured.glob("log.*.1"))
    lines = log.read_text().splitlines()
    lines[3:6] = [
        re.sub(r"^(\d+ \d+) \d+", rf"\1 {word}", line)
        for word, line in zip(("failed", "skipped", "failed"), lines[3:6], strict=True)
    ]
    log.write_text("\n".join(lines) + "\n")
    read = pgbench.read(captured, 200)
    assert (read.errors, read.samples) == (3, 197)


def test_failures_that_only_the_driver_counts_are_errors(captured: Path) -> None:
    said = captured / "driver.txt"
    said.write_text(said.read_text().replace("failed transactions: 0 (0.000%)", "failed transactions: 5 (2.500%)"))
    assert pgbench.read(captured, 200).errors == 5


def test_line_cut_off_by_a_crash_is_an_error_and_no_latency(captured: Path) -> None:
    log = next(captured.glob("log.*.1"))
    log.write_text(log.read_text()[:-9])
    assert (pgbench.read(captured, 200).errors, pgbench.read(captured, 200).samples) == (1, 199)


def test_no_output_at_all_is_as_many_errors_as_were_asked_for(tmp_path: Path) -> None:
    assert (pgbench.read(tmp_path, 9).errors, pgbench.read(tmp_path, 9).measurements) == (9, {})


def test_driver_s_share_is_its_processor_time_over_elapsed_time_of_its_threads() -> None:
    text = (CAPTURED / "cold_4_clients_sql_prepare" / "driver_cpu.txt").read_text()
    assert text.split() == ["threads", "2", "elapsed_s", "0.109", "user_s", "0.061", "system_s", "0.008"]
    assert pgbench.driver_cpu(text) == pytest.approx((0.061 + 0.008) / (0.109 * 2))


@pytest.mark.parametrize(
    "text",
    ["", "threads 2", "threads 2\nelapsed_s 0\nuser_s 0\nsystem_s 0", "threads two\nelapsed_s 1\nuser_s 1\nsystem_s 1"],
)
def test_driver_s_share_is_absent_where_it_was_not_measured(text: str) -> None:
    assert pgbench.driver_cpu(text) is None


# The command.


def test_command_is_bash() -> None:
    made = pgbench.job(replace(LOAD, reconnect=True, variables={"prepared": 0}), ENDPOINT, DATABASE)
    subprocess.run(["bash", "-n"], input=made.command, text=True, check=True)


def test_command_says_what_was_asked_for() -> None:
    command = pgbench.job(LOAD, ENDPOINT, DATABASE).command
    for option in (
        "--client=4",
        "--transactions=50",
        "--protocol=simple",
        "--random-seed=7",
        "--host=db.example",
        "--port=5432",
        "--username=bench",
        "--log",
    ):
        assert option in command.split(), option
    assert "--connect" not in command


def test_new_session_per_lookup_is_an_option_of_pgbench() -> None:
    assert "--connect" in pgbench.job(replace(LOAD, reconnect=True), ENDPOINT, DATABASE).command.split()


def test_variables_are_defined_before_the_first_transaction() -> None:
    assert "--define=prepared=0" in pgbench.job(replace(LOAD, variables={"prepared": 0}), ENDPOINT, DATABASE).command


def test_password_is_in_the_secret_file_alone() -> None:
    made = pgbench.job(LOAD, ENDPOINT, DATABASE)
    assert "s3cr" not in made.command + "".join(made.files.values())
    assert "s3cr" in made.secrets["pgpass"]


def test_colon_and_backslash_are_escaped_in_the_password_file() -> None:
    odd = Endpoint("::1", 5432, "be:nch", "da\\ta")
    assert pgbench.job(LOAD, odd, DATABASE).secrets == {"pgpass": r"\:\:1:5432:da\\ta:be\:nch:s3cr\\et\:word" + "\n"}


def test_hostile_names_are_words_to_the_shell_and_never_commands(tmp_path: Path) -> None:
    """The command is run with a pgbench and a psql that note their arguments."""
    for program in ("pgbench", "psql"):
        (tmp_path / program).write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" >>{tmp_path}/{program}.said\n")
        (tmp_path / program).chmod(0o755)
    hostile = Endpoint("$(touch stolen)", 5432, "a b'; touch stolen;'", '`touch stolen`" x')
    made = pgbench.job(replace(LOAD, answers="SELECT 1;\n"), hostile, DATABASE)
    for name, text in made.files.items():
        (tmp_path / name).write_text(text)
    subprocess.run(["bash", "-c", f"PATH={shlex.quote(str(tmp_path))}:$PATH\n{made.command}"], cwd=tmp_path, check=True)
    said = (tmp_path / "pgbench.said").read_text().splitlines()
    assert said[0] == "--host=$(touch stolen)"
    assert said[2] == "--username=a b'; touch stolen;'"
    assert said[-1].startswith("dbname='`touch stolen`\" x' application_name=clusterbench_driver keepalives_idle=")
    assert said[-1] in (tmp_path / "psql.said").read_text().replace("--dbname=", "").splitlines()
    assert not (tmp_path / "stolen").exists()
    assert pgbench.driver_cpu((tmp_path / "driver_cpu.txt").read_text()) is not None


def test_no_answers_asked_for_starts_no_psql(tmp_path: Path) -> None:
    for program in ("pgbench", "psql"):
        (tmp_path / program).write_text(f"#!/bin/sh\ntouch {tmp_path}/{program}.ran\n")
        (tmp_path / program).chmod(0o755)
    made = pgbench.job(LOAD, ENDPOINT, DATABASE)
    (tmp_path / "answers.sql").write_text(made.files["answers.sql"])
    subprocess.run(["bash", "-c", f"PATH={shlex.quote(str(tmp_path))}:$PATH\n{made.command}"], cwd=tmp_path, check=True)
    assert (tmp_path / "pgbench.ran").exists()
    assert not (tmp_path / "psql.ran").exists()
