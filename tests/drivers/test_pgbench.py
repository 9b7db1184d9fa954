"""pgbench's command, and its output as captured from real trials in ``fixtures/pgbench``."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from clusterbench.base.job import Job
from clusterbench.base.measurements import Reading
from clusterbench.drivers import pgbench, pgbench_log
from clusterbench.engines import Endpoint
from clusterbench.hosts.detached_job import TIMED_OUT
from tests import FIXTURES
from tests.drivers.stand_in import reduce_log, stand_in

CAPTURED = FIXTURES / "pgbench"
TRANSACTIONS = {
    "cold_4_clients_sql_prepare": 200,
    "warm_1_client_sql_prepare": 50,
    "session_per_lookup": 40,
    "scan_of_1000_rows": 10,
    "protocol_prepare": 100,
    "index_build_10000_rows": 1,
}
PASSWORD = "s3cr\\et:word"
ENDPOINT = Endpoint("db.example", 5432, "bench", "data", PASSWORD)
LOAD = pgbench.ScriptLoad("SELECT 1;\n", 4, 50, "simple", reconnect=False, seed=7)
MIX = pgbench.Mix(
    scripts={"one": "SELECT 1;\n", "two": "SELECT 2;\n"},
    weights={"one": 9955, "two": 45},
    clients=4,
    ramp_up_s=10,
    window_s=60,
    rate_per_s=0,
    max_tries=1000,
    protocol="prepared",
    seed=7,
    before={"orders": "SELECT 3;\n"},
    after={"orders": "SELECT 3;\n", "checks": "SELECT 4;\n"},
)


def log_lines(output: Path) -> list[list[int]]:
    return [
        [int(word) for word in line.split()] for log in output.glob("log.*") for line in log.read_text().splitlines()
    ]


def percentile(sorted_values: list[float], share: float) -> float:
    """The smallest that so great a share does not exceed, in plain Python."""
    return next(value for rank, value in enumerate(sorted_values, 1) if rank >= share * len(sorted_values))


def read(output: Path, expected: int) -> Reading:
    """What is read when the log was made small, as on the client host; of a copy."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(shutil.copytree(output, Path(made) / "output"))
        reduce_log(folder)
        return pgbench.read(folder, expected)


@pytest.fixture
def captured(tmp_path: Path) -> Path:
    """A copy of real output that a test may spoil."""
    return Path(shutil.copytree(CAPTURED / "cold_4_clients_sql_prepare", tmp_path / "output"))


# Reading.


@pytest.mark.parametrize("case", TRANSACTIONS)
def test_latencies_are_those_of_the_log(case: str) -> None:
    found = read(CAPTURED / case, TRANSACTIONS[case])
    latencies = sorted(line[2] / 1000 for line in log_lines(CAPTURED / case))
    assert (found.errors, found.samples, len(latencies)) == (0, TRANSACTIONS[case], TRANSACTIONS[case])
    for name, share in {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999, "max": 1.0}.items():
        assert found.measurements[f"latency_ms_{name}"] == pytest.approx(percentile(latencies, share), rel=0.001), name
    assert found.measurements["latency_ms_mean"] == pytest.approx(sum(latencies) / len(latencies))


@pytest.mark.parametrize("case", TRANSACTIONS)
def test_throughput_is_transactions_over_the_window_from_first_start_to_last_end(case: str) -> None:
    found = read(CAPTURED / case, TRANSACTIONS[case])
    lines = log_lines(CAPTURED / case)
    start_us = min(line[4] * 1_000_000 + line[5] - line[2] for line in lines)
    end_us = max(line[4] * 1_000_000 + line[5] for line in lines)
    assert found.measurements["response_time_s"] == (end_us - start_us) / 1e6
    assert found.measurements["throughput_per_s"] == pytest.approx(len(lines) * 1e6 / (end_us - start_us))
    assert (found.window_start_s, found.window_end_s) == (start_us / 1e6, end_us / 1e6)


@pytest.mark.parametrize("case", ["cold_4_clients_sql_prepare", "protocol_prepare"])  # long enough for its own ends
def test_throughput_agrees_with_what_pgbench_says_of_itself(case: str) -> None:
    found = read(CAPTURED / case, TRANSACTIONS[case])
    said = re.search(r"tps = ([\d.]+)", (CAPTURED / case / "driver.txt").read_text())
    assert said
    assert found.measurements["throughput_per_s"] == pytest.approx(float(said[1]), rel=0.05)


@pytest.mark.parametrize(
    ("case", "connection_ms"), [("cold_4_clients_sql_prepare", 22.855), ("session_per_lookup", 13.196)]
)
def test_time_to_connect_is_read_for_kept_and_for_new_sessions(case: str, connection_ms: float) -> None:
    assert read(CAPTURED / case, TRANSACTIONS[case]).measurements["connection_ms_mean"] == connection_ms


def test_every_measurement_is_declared() -> None:
    for case, expected in TRANSACTIONS.items():
        found = set(read(CAPTURED / case, expected).measurements)
        assert found == set(pgbench.MEASUREMENTS) - {"segment_transactions_per_transaction"}


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
    found = read(CAPTURED / "clients_aborted", 200)
    assert (found.measurements, found.errors, found.samples, found.window_start_s) == ({}, 200, 0, None)


def test_aborted_clients_give_the_driver_s_own_words() -> None:
    """They are the reason in the results table (``trial/protocol.py``), so they must not be lost without a number."""
    details = read(CAPTURED / "clients_aborted", 200).details
    assert 'undefined variable "prepared"' in str(details["driver_errors"])
    assert "0/200" in str(details["driver_said"])


def test_transactions_that_are_missing_are_errors(captured: Path) -> None:
    log = next(captured.glob("log.*.1"))
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:-7]))
    found = read(captured, 200)
    assert (found.errors, found.samples) == (7, 193)


def test_log_file_that_is_missing_is_errors(captured: Path) -> None:
    next(captured.glob("log.*.1")).unlink()
    assert read(captured, 200).errors == 100


def test_failed_and_skipped_transactions_are_errors_and_no_latencies(captured: Path) -> None:
    log = next(captured.glob("log.*.1"))
    lines = log.read_text().splitlines()
    lines[3:6] = [
        re.sub(r"^(\d+ \d+) \d+", rf"\1 {word}", line)
        for word, line in zip(("failed", "skipped", "failed"), lines[3:6], strict=True)
    ]
    log.write_text("\n".join(lines) + "\n")
    found = read(captured, 200)
    assert (found.errors, found.samples) == (3, 197)


def test_failures_that_only_the_driver_counts_are_errors(captured: Path) -> None:
    said = captured / "driver.txt"
    said.write_text(said.read_text().replace("failed transactions: 0 (0.000%)", "failed transactions: 5 (2.500%)"))
    assert read(captured, 200).errors == 5


def test_line_cut_off_by_a_crash_is_an_error_and_no_latency(captured: Path) -> None:
    log = next(captured.glob("log.*.1"))
    log.write_text(log.read_text()[:-9])
    assert (read(captured, 200).errors, read(captured, 200).samples) == (1, 199)


def test_no_output_at_all_is_as_many_errors_as_were_asked_for(tmp_path: Path) -> None:
    assert (read(tmp_path, 9).errors, read(tmp_path, 9).measurements) == (9, {})


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
    made = pgbench.job(replace(LOAD, reconnect=True, variables={"prepared": 0}), ENDPOINT)
    subprocess.run(["bash", "-n"], input=made.command, text=True, check=True)


def test_command_says_what_was_asked_for() -> None:
    said = options(pgbench.job(LOAD, ENDPOINT))
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
        assert option in said, option
    assert "--connect" not in said


def test_new_session_per_lookup_is_an_option_of_pgbench() -> None:
    assert "--connect" in options(pgbench.job(replace(LOAD, reconnect=True), ENDPOINT))


def test_variables_are_defined_before_the_first_transaction() -> None:
    assert "--define=prepared=0" in options(pgbench.job(replace(LOAD, variables={"prepared": 0}), ENDPOINT))


def test_password_is_in_the_secret_file_alone() -> None:
    made = pgbench.job(LOAD, ENDPOINT)
    assert "s3cr" not in made.command + "".join(made.files.values())
    assert "s3cr" in made.secrets["pgpass"]


def test_colon_and_backslash_are_escaped_in_the_password_file() -> None:
    odd = Endpoint("::1", 5432, "be:nch", "da\\ta", PASSWORD)
    assert pgbench.job(LOAD, odd).secrets == {"pgpass": r"\:\:1:5432:da\\ta:be\:nch:s3cr\\et\:word" + "\n"}


def test_hostile_names_are_words_to_the_shell_and_never_commands(tmp_path: Path) -> None:
    """The command is run with a pgbench and a psql that note their arguments."""
    for program in ("pgbench", "psql"):
        stand_in(tmp_path, program, f"printf '%s\\n' \"$@\" >>{tmp_path}/{program}.said")
    hostile = Endpoint("$(touch stolen)", 5432, "a b'; touch stolen;'", '`touch stolen`" x')
    made = pgbench.job(replace(LOAD, answers="SELECT 1;\n"), hostile)
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


def test_no_answers_asked_for_starts_a_psql_for_the_session_alone(tmp_path: Path) -> None:
    for program in ("pgbench", "psql"):
        stand_in(tmp_path, program, f'echo "$*" >>{tmp_path}/{program}.ran')
    made = pgbench.job(LOAD, ENDPOINT)
    (tmp_path / "answers.sql").write_text(made.files["answers.sql"])
    subprocess.run(["bash", "-c", f"PATH={shlex.quote(str(tmp_path))}:$PATH\n{made.command}"], cwd=tmp_path, check=True)
    assert (tmp_path / "pgbench.ran").exists()
    (asked,) = (tmp_path / "psql.ran").read_text().splitlines()
    assert asked.endswith(r"--command=\conninfo"), "whether it is encrypted, before the clock starts"


def run_script(folder: Path, pgbench_does: str, limit_s: int) -> subprocess.CompletedProcess[str]:
    """The command as it runs on a host, under a time limit, with a pgbench and a psql of ours."""
    stand_in(folder, "pgbench", pgbench_does)
    stand_in(folder, "psql", ":")
    made = pgbench.job(LOAD, ENDPOINT)
    for name, text in made.files.items():
        (folder / name).write_text(text)
    (folder / "command.sh").write_text(f"PATH={shlex.quote(str(folder))}:$PATH\nset -euo pipefail\n{made.command}")
    command = ["timeout", "--kill-after=60", str(limit_s), "bash", "command.sh"]
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)


def test_log_of_a_script_is_made_small_and_travels_only_so(tmp_path: Path) -> None:
    assert run_script(tmp_path, "echo 3 1 1500 0 1700000002 500000 >log.77", 600).returncode == 0
    found = pgbench.read(tmp_path, 1)
    assert (found.samples, found.errors, found.measurements["latency_ms_max"]) == (1, 0, 1.5)
    assert [log.name for log in tmp_path.glob("log.*")] == ["log.77.gz"]
    assert "log.*" not in pgbench.OUTPUTS and "log.*.gz" in pgbench.OUTPUTS


def test_log_of_a_script_that_reached_its_time_limit_is_made_small(tmp_path: Path) -> None:
    done = run_script(tmp_path, "echo 3 1 1500 0 1700000002 500000 >log.77; exec sleep 600", 5)
    assert done.returncode == TIMED_OUT
    assert pgbench.read(tmp_path, 200).errors == 199
    assert [log.name for log in tmp_path.glob("log.*")] == ["log.77.gz"]


# The command of a mix of scripts.


def options(made: Job) -> list[str]:
    """The words that pgbench is given."""
    with tempfile.TemporaryDirectory() as folder:
        stand_in(Path(folder), "pgbench", "printf '%s\\n' \"$@\" >said")
        stand_in(Path(folder), "psql", ":")
        command = f"PATH={shlex.quote(folder)}:$PATH\n{made.command}"
        subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=folder, check=True)
        return (Path(folder) / "said").read_text().splitlines()


def test_mix_says_what_was_asked_for() -> None:
    said = options(pgbench.mix_job(replace(MIX, variables={"warehouses": 10}), ENDPOINT))
    for option in ("--file=one.sql@9955", "--file=two.sql@45", "--client=4", "--time=72", "--max-tries=1000"):
        assert option in said, option
    for option in ("--failures-detailed", "--protocol=prepared", "--random-seed=7", "--define=warehouses=10", "--log"):
        assert option in said, option
    assert said.index("--file=one.sql@9955") < said.index("--file=two.sql@45"), "the log numbers them in this order"
    assert not [word for word in said if word.startswith(("--rate", "--transactions", "--latency-limit"))]


def test_mix_runs_longer_than_ramp_up_and_window_so_that_the_window_s_last_second_is_whole() -> None:
    """It begins at the next whole second, so one second could still lack what began after the first transaction."""
    assert pgbench.BEYOND_WINDOW_S >= 2


def test_mix_at_a_rate_has_one_and_its_log_is_read_so() -> None:
    made = pgbench.mix_job(replace(MIX, rate_per_s=66.5), ENDPOINT)
    assert "--rate=66.5" in options(made)
    assert "throttled=1" in made.command
    assert "throttled=0" in pgbench.mix_job(MIX, ENDPOINT).command


def run_mix(folder: Path, pgbench_does: str) -> subprocess.CompletedProcess[str]:
    """The command as it runs on a host, with a pgbench and a psql of ours."""
    stand_in(folder, "pgbench", pgbench_does)
    stand_in(folder, "psql", 'for last; do :; done; case $last in --file*) echo "$last" >>psql.said;; esac')
    made = pgbench.mix_job(replace(MIX, ramp_up_s=1, window_s=2), ENDPOINT)
    for name, text in made.files.items():
        (folder / name).write_text(text)
    command = f"PATH={shlex.quote(str(folder))}:$PATH\nset -euo pipefail\n{made.command}"
    return subprocess.run(["bash", "-c", command], cwd=folder, check=False, capture_output=True, text=True)


def test_mix_asks_before_and_after_and_makes_the_log_small(tmp_path: Path) -> None:
    assert run_mix(tmp_path, "echo 0 1 1500 1 1700000002 500000 3 >log.77").returncode == 0
    said = (tmp_path / "psql.said").read_text().split()
    assert said == ["--file=before.orders.sql", "--file=after.orders.sql", "--file=after.checks.sql"]
    assert all((tmp_path / f"{name}.csv").exists() for name in ("before.orders", "after.orders", "after.checks"))
    log = pgbench_log.read(tmp_path)
    assert log
    assert log.seconds == {(1, 1700000002): pgbench_log.Counts(1, 3, 0)}
    assert log.window == range(1700000004, 1700000006)


def test_mix_that_broke_off_still_makes_its_log_small_and_ends_as_pgbench_did(tmp_path: Path) -> None:
    """At full scale what is left of the log would be gigabytes."""
    done = run_mix(tmp_path, "echo 0 1 1500 0 1700000002 500000 0 >log.77; echo aborted >&2; exit 2")
    assert done.returncode == 2
    assert (tmp_path / "psql.said").read_text().split() == ["--file=before.orders.sql"]
    assert pgbench_log.read(tmp_path)
    assert [log.name for log in tmp_path.glob("log.*")] == ["log.77.gz"]
    assert (tmp_path / "driver_errors.txt").read_text() == "aborted\n"


def test_mix_whose_sessions_hang_is_ended_and_its_log_is_made_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pgbench, "HUNG_S", -4)  # of 1 + 2 + 2 seconds, one is left
    done = run_mix(tmp_path, "echo 0 1 1500 0 1700000002 500000 0 >log.77; exec sleep 600")
    assert done.returncode == TIMED_OUT
    assert pgbench_log.read(tmp_path)


def test_driver_s_processor_time_has_nothing_of_making_the_log_small(tmp_path: Path) -> None:
    lines = "yes '0 1 1500 1 1700000002 500000 3' | head -n 100000 >log.77"
    (tmp_path / "awk").write_text('#!/bin/bash\nsleep 0.3; exec /usr/bin/awk "$@"\n')
    (tmp_path / "awk").chmod(0o755)
    assert run_mix(tmp_path, lines).returncode == 0
    driver = dict(line.split() for line in (tmp_path / "driver_cpu.txt").read_text().splitlines())
    asked = (tmp_path / "driver_cpu.txt").stat().st_mtime_ns
    assert (tmp_path / "reduced.txt").stat().st_mtime_ns > asked, "it is written before the log is read"
    assert set(driver) == {"threads", "elapsed_s", "user_s", "system_s"}
