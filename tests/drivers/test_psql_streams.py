"""Streams of psql: the job's files, its bash run with a psql that only pretends, and what is read from its output."""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
import tarfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from clusterbench.base.job import Job
from clusterbench.base.scripts import script
from clusterbench.drivers import psql_streams
from clusterbench.drivers.psql_streams import BEGIN_LINES, LINES_PER_STATEMENT, Streams, Timed
from clusterbench.engines import Endpoint
from tests.drivers.stand_in import stand_in

ENDPOINT = Endpoint("db.example", 5432, "bench", "data", "s3cr\\et:word")
COPY = "COPY (SELECT * FROM t) TO STDOUT"
BEGIN = "\\! { : >connected.1; read _; exec date +%s.%N >clock.1; } <go\n\\timing on\n"
END = "\\o\n\\! exec date +%s.%N >>clock.1\n"


def job(load: Streams, endpoint: Endpoint = ENDPOINT) -> Job:
    return psql_streams.job(load, endpoint)


# The job's files.


def test_each_stream_is_a_script() -> None:
    made = job(Streams([["SELECT 1"], ["SELECT 2"], ["SELECT 3"]]))
    assert set(made.files) == {
        *("stream.1.sql", "stream.2.sql", "stream.3.sql", "check.sql", "on_failure.sql"),
        *("before.sh", "after.sh"),
    }
    assert [f"SELECT {n};\n" in made.files[f"stream.{n}.sql"] for n in (1, 2, 3)] == [True] * 3


def test_script_waits_until_all_are_connected_and_nothing_runs_between_its_statements() -> None:
    script = job(Streams([["SELECT 1", "SELECT\n  2"]])).files["stream.1.sql"]
    assert script == f"{BEGIN}\\o\nSELECT 1;\n\\o\nSELECT   2;\n{END}"
    lines = script.splitlines()
    assert [lines[BEGIN_LINES + LINES_PER_STATEMENT * n - 1] for n in (1, 2)] == ["SELECT 1;", "SELECT   2;"]


def test_answer_of_a_copy_goes_to_a_file_of_its_own_and_no_other() -> None:
    assert job(Streams([[COPY, "SELECT 1"]])).files["stream.1.sql"] == (
        f"{BEGIN}\\o answer.1.1\n{COPY};\n\\o\nSELECT 1;\n{END}"
    )


def test_psql_s_own_command_has_no_semicolon() -> None:
    script = job(Streams([["\\copy t FROM 'files/part-00'"]])).files["stream.1.sql"]
    assert script.endswith(f"\\o\n\\copy t FROM 'files/part-00'\n{END}")
    assert "answer" not in script


def test_check_and_what_to_do_on_failure_are_files() -> None:
    made = job(Streams([["SELECT 1"]], check="SELECT count(*) FROM t;\n", on_failure="TRUNCATE t;\n"))
    assert made.files["check.sql"] == "SELECT count(*) FROM t;\n"
    assert made.files["on_failure.sql"] == "TRUNCATE t;\n"


def test_password_is_in_the_secret_file_alone() -> None:
    made = job(Streams([[COPY]], before="true", check="SELECT 1;\n", after="true"))
    assert "s3cr" not in made.command + "".join(made.files.values())
    assert made.secrets == {"pgpass": "db.example:5432:data:bench:s3cr\\\\et\\:word\n"}


@pytest.mark.parametrize("count", [1, 16, 200])
def test_command_is_bash(count: int) -> None:
    made = job(Streams([[COPY]] * count, before="start 'x'", after="stop"))
    subprocess.run(["bash", "-n"], input=made.command, text=True, check=True)
    for name in ("before.sh", "after.sh"):
        subprocess.run(["bash", "-n"], input=made.files[name], text=True, check=True)
    assert f"\nstreams={count}\n" in made.command
    assert len([name for name in made.files if name.startswith("stream.")]) == count


def test_command_says_where_to_connect() -> None:
    kept = "application_name=clusterbench_driver keepalives_idle=30 keepalives_interval=10 keepalives_count=3"
    where = f"where=(--host=db.example --port=5432 --username=bench '--dbname=dbname=data {kept}')\n"
    assert f"\n{where}" in job(Streams([[COPY]])).command


# The job's bash, run with a psql that reads the scripts and notes what it does.

PSQL = r"""
for word; do case $word in --file=*) file=${word#--file=};; --command=*) exit;; esac; done
echo "$file: $PGPASSFILE $*" >>psql.said
[ ! -e "late.$file" ] || sleep 0.3
[ ! -e "absent.$file" ] || { echo "psql: error: connection refused" >&2; exit 2; }
out=/dev/stdout
play() {
local file=$1 line
while IFS= read -r line; do
  case $line in
    '\! '*) sh -c "${line#'\! '}";;
    '\timing on') ;;
    '\i '*) play "${line#'\i '}";;
    '\o '*'\timing off'*) echo "$file: $line" >>undone;;
    '\o '*) out=${line#'\o '}; : >"$out";;
    '\o') out=/dev/stdout;;
    'SELECT wrong;') echo "psql:$file: ERROR:  refused"  >&2; exit 3;;
    'SELECT long;') touch "began.$file"; exec sleep 300;;
    'SELECT slow_at_first;')
      case $file in stream.*) echo 'Time: 650.0 ms';; *) sleep 0.45; echo 'Time: 450.0 ms';; esac;;
    'SELECT held_up_once;')
      case $file-$(wc -l <began) in again.*-1) ms=120;; *) ms=20;; esac
      echo >>began
      sleep "0.$(printf %03d $ms)"; echo "Time: $ms.0 ms";;
    'SELECT short;') sleep 0.1; echo 'Time: 100.250 ms';;
    'COPY ('*) printf 'b\t2\nB\t1\na\t3\n' >>"$out"; echo 'Time: 12.345 ms';;
    *) echo "$file: $line" >>done; echo 5000 77;;
  esac
done <"$file"
}
play "$file"
"""


class Ran:
    """A job's folder after the job has ended in it."""

    def __init__(
        self, folder: Path, load: Streams, flags: Sequence[str] = (), endpoint: Endpoint = ENDPOINT, limit: str = "120"
    ) -> None:
        self.folder = folder
        (folder / "bin").mkdir()
        stand_in(folder / "bin", "psql", PSQL)
        made = job(load, endpoint)
        files = {**made.files, **made.secrets, "command.sh": f"set -euo pipefail\n{made.command}"}  # as jobs.py has it
        for name, text in files.items():
            (folder / name).write_text(text)
        for flag in flags:
            (folder / flag).touch()
        began = time.monotonic()
        ended = subprocess.run(
            ["timeout", limit, "bash", "command.sh"],  # as jobs.py has it, too
            cwd=folder,
            env={**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        self.took_s = time.monotonic() - began
        self.status, self.output, self.error = ended.returncode, ended.stdout, ended.stderr

    def text(self, name: str) -> str:
        return (self.folder / name).read_text() if (self.folder / name).exists() else ""

    def starts(self) -> list[float]:
        return [float(line) for path in self.folder.glob("clock.*") for line in path.read_text().split()]


ENDS = {"check": "SELECT checked;\n", "on_failure": "TRUNCATE t;\n", "after": "echo ended >>after.ran"}


def load(*each: Sequence[str], before: str = "", check: str = ENDS["check"]) -> Streams:
    return Streams(each, before=before, check=check, on_failure=ENDS["on_failure"], after=ENDS["after"])


def test_streams_start_only_after_all_are_connected(tmp_path: Path) -> None:
    ran = Ran(tmp_path, load([COPY], [COPY], [COPY]), flags=["late.stream.3.sql"])
    assert (ran.status, ran.output, ran.error) == (0, "", "")
    connected = [(tmp_path / f"connected.{n}").stat().st_mtime for n in (1, 2, 3)]
    assert connected[2] - connected[0] > 0.2, "the third came late"
    assert len(ran.starts()) == 6, "beginning and end of each"
    assert min(ran.starts()) >= max(connected) - 0.005, "a file's time is that of the last tick of the kernel's clock"


def test_streams_run_at_the_same_time_and_the_statements_of_one_after_each_other(tmp_path: Path) -> None:
    ran = Ran(tmp_path, load(*[["SELECT short", "SELECT short"]] * 4))
    assert ran.status == 0
    reading, timed = psql_streams.read(tmp_path, 8)
    assert [one.stream for one in timed] == [1, 1, 2, 2, 3, 3, 4, 4]
    assert [one.time_s for one in timed] == [0.10025] * 8
    clocks = [(tmp_path / f"clock.{n}").read_text().split() for n in (1, 2, 3, 4)]
    assert all(float(end) - float(start) > 0.2 for start, end in clocks)
    assert max(float(start) for start, _ in clocks) < min(float(end) for _, end in clocks)
    assert reading.measurements["response_time_s"] > 0.2
    assert reading.errors == 0


def test_what_was_answered_is_what_is_kept_and_summed_up_sorted(tmp_path: Path) -> None:
    assert Ran(tmp_path, load([COPY], [COPY])).status == 0
    digest = hashlib.sha256(b"B\t1\na\t3\nb\t2\n").hexdigest()
    assert psql_streams.answers(tmp_path) == [(3, digest), (3, digest)]
    assert psql_streams.kept_answer(tmp_path) == ["B\t1", "a\t3", "b\t2"]
    assert list(tmp_path.glob("answer.[0-9]*")) == [], "what was summed up is gone"


def test_answer_that_is_too_large_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psql_streams, "ANSWER_KEPT_BYTES_MAX", 11)
    assert Ran(tmp_path, load([COPY])).status == 0
    assert psql_streams.answers(tmp_path)[0][0] == 3
    assert psql_streams.kept_answer(tmp_path) is None


def test_what_ended_well_is_checked_and_not_undone(tmp_path: Path) -> None:
    ran = Ran(tmp_path, load(["\\copy t FROM 'files/part-00'"], before="echo first >before.ran"))
    assert (ran.status, ran.text("check.txt")) == (0, "5000 77\n")
    assert ran.text("done").splitlines() == [
        "stream.1.sql: \\copy t FROM 'files/part-00'",
        "check.sql: SELECT checked;",
    ]
    assert (ran.text("before.ran"), ran.text("after.ran")) == ("first\n", "ended\n")


def test_no_check_asked_for_starts_no_psql_more(tmp_path: Path) -> None:
    ran = Ran(tmp_path, load([COPY], check=""))
    assert (ran.status, len(ran.text("psql.said").splitlines())) == (0, 1)
    assert not (tmp_path / "check.txt").exists()


def undone(ran: Ran) -> None:
    """It failed soon, the statements of ``on_failure`` were run, then ``after``; nothing was checked."""
    assert ran.status == 1
    assert ran.took_s < 100, "a statement of 300 s was ended"
    assert ran.text("done") == "on_failure.sql: TRUNCATE t;\n"
    assert ran.text("after.ran") == "ended\n"
    assert not (ran.folder / "check.txt").exists()


def test_one_that_fails_ends_the_others_and_is_undone(tmp_path: Path) -> None:
    ran = Ran(tmp_path, load(["SELECT long"], ["SELECT short", "SELECT short", "SELECT wrong"], ["SELECT long"]))
    undone(ran)
    assert sorted(path.name for path in tmp_path.glob("began.*")) == ["began.stream.1.sql", "began.stream.3.sql"]
    assert ran.error.splitlines()[:2] == ["psql:stream.2.sql: ERROR:  refused", "stream 2: psql ended with status 3"]
    assert psql_streams.read(tmp_path, 5)[0].errors == 3
    assert psql_streams.read(tmp_path, 5)[0].details["driver_errors"] == (
        "psql:stream.2.sql: ERROR:  refused\nstream 2: psql ended with status 3"
    )


def test_one_that_fails_after_others_have_ended_is_undone(tmp_path: Path) -> None:
    ran = Ran(tmp_path, load(["SELECT short"], ["SELECT short", "SELECT short", "SELECT wrong"]))
    undone(ran)
    assert psql_streams.read(tmp_path, 4)[0].errors == 1


@pytest.mark.parametrize("flags", [[], ["late.stream.1.sql"], ["late.stream.2.sql"]])
def test_one_that_cannot_connect_ends_the_others(tmp_path: Path, flags: list[str]) -> None:
    ran = Ran(tmp_path, load(["SELECT long"], ["SELECT long"], ["SELECT long"]), ["absent.stream.2.sql", *flags])
    undone(ran)
    assert ran.error.splitlines()[:2] == ["psql: error: connection refused", "stream 2: psql ended with status 2"]


def test_no_session_is_opened_where_the_preparation_fails(tmp_path: Path) -> None:
    ran = Ran(tmp_path, load(["SELECT long"], before="echo no gpfdist >&2; exit 1"))
    undone(ran)
    assert ran.error.splitlines()[0] == "no gpfdist"
    assert "stream.1.sql" not in ran.text("psql.said")


def test_file_servers_are_stopped_also_after_the_time_limit(tmp_path: Path) -> None:
    ran = Ran(tmp_path, load(["SELECT long"], ["SELECT long"]), limit="5")
    assert (ran.status, ran.text("after.ran")) == (124, "ended\n")
    assert ran.took_s < 100, "the sessions were ended, too"
    assert not (tmp_path / "check.txt").exists()


def test_check_that_fails_is_undone(tmp_path: Path) -> None:
    ran = Ran(tmp_path, load(["SELECT short"]), flags=["absent.check.sql"])
    assert ran.status == 2
    assert ran.text("done") == "on_failure.sql: TRUNCATE t;\n"
    assert ran.text("after.ran") == "ended\n"
    assert ran.text("check.txt") == ""


def test_password_is_in_no_process_list_and_found_by_all_sessions(tmp_path: Path) -> None:
    ran = Ran(tmp_path, load([COPY], [COPY]))
    said = ran.text("psql.said").splitlines()
    assert len(said) == 3
    assert all(f" {tmp_path}/pgpass --host=db.example --port=5432 " in line for line in said)
    assert "s3cr" not in ran.text("psql.said")


def test_hostile_names_are_words_to_the_shell_and_never_commands(tmp_path: Path) -> None:
    hostile = Endpoint("$(touch stolen)", 5432, "a b'; touch stolen;'", '`touch stolen`" x')
    ran = Ran(tmp_path, load([COPY]), endpoint=hostile)
    assert ran.status == 0
    said = ran.text("psql.said")
    assert "--host=$(touch stolen) --port=5432 --username=a b'; touch stolen;' --dbname=dbname='`touch stolen`" in said
    assert not (tmp_path / "stolen").exists()


def test_driver_s_share_of_its_threads_is_measured(tmp_path: Path) -> None:
    Ran(tmp_path, load(["SELECT short"], ["SELECT short"]))
    words = (tmp_path / "driver_cpu.txt").read_text().split()
    assert words[::2] == ["threads", "connecting_s", "elapsed_s", "user_s", "system_s"]
    assert int(words[1]) == min(2, len(os.sched_getaffinity(0)))
    assert 0 < psql_streams.read(tmp_path, 2)[0].measurements["driver_cpu_share"] < 1


def test_stream_that_goes_on_ends_neither_itself_nor_the_others(tmp_path: Path) -> None:
    made = Streams([["SELECT 1"], ["SELECT short", "SELECT short"]], goes_on=True)
    ran = Ran(tmp_path, made, flags=["absent.stream.1.sql"])
    assert ran.status == 1
    assert "--set=ON_ERROR_STOP=0 --file=stream.2.sql" in ran.text("psql.said")
    assert [(one.stream, one.time_s) for one in psql_streams.read(tmp_path, 3)[1]] == [(2, 0.10025), (2, 0.10025)]


def test_many_small_answers_are_kept_as_they_came(tmp_path: Path) -> None:
    assert Ran(tmp_path, Streams([[COPY, COPY], [COPY]], keeps_answers=True)).status == 0
    lines = ["b\t2", "B\t1", "a\t3"]
    assert psql_streams.kept_answers(tmp_path) == {(1, 1, 1): lines, (1, 2, 1): lines, (2, 1, 1): lines}
    assert not list(tmp_path.glob("answer.*")), "once is enough"
    assert psql_streams.kept_answers(tmp_path / "nowhere") == {}


def test_streams_go_on_until_the_window_is_full_after_rounds_that_do_not_count(tmp_path: Path) -> None:
    made = Streams([["SELECT short", COPY], ["SELECT short", COPY]], window_s=1)
    assert Ran(tmp_path, made).status == 0
    reading, timed = psql_streams.read(tmp_path, 4)
    rounds = int(1500 / (100.25 + 12.345)) + 1
    assert reading.details["rounds"] == rounds == 14
    assert (tmp_path / "told.txt").read_text() == f"1 {1 + 2 + rounds}\n", "also those that do not count"
    assert (reading.samples, reading.errors) == (4 * rounds, 0)
    assert [one.number for one in timed] == [*range(1, 2 * rounds + 1)] * 2
    assert reading.window_start_s is not None and reading.window_end_s is not None
    window_s = reading.window_end_s - reading.window_start_s
    assert window_s > 0.1 * rounds >= 1
    assert reading.measurements["response_time_s"] == pytest.approx(window_s / rounds), "of one round"
    assert reading.measurements["statement_time_s_max"] == 0.10025
    found = psql_streams.answers(tmp_path)
    assert len(found) == 2 * rounds and len(set(found)) == 1, "each that was measured, and none of those before"
    assert psql_streams.kept_answer(tmp_path) == ["B\t1", "a\t3", "b\t2"]


def test_one_that_fails_before_the_window_has_measured_nothing(tmp_path: Path) -> None:
    made = Streams([["SELECT short"], ["SELECT wrong"]], on_failure="TRUNCATE t;\n", after=ENDS["after"], window_s=1)
    ran = Ran(tmp_path, made)
    undone(ran)
    reading, timed = psql_streams.read(tmp_path, 2)
    assert (reading.measurements, reading.errors, timed) == ({}, 2, [])


def test_a_round_that_fills_two_windows_is_not_done_a_second_time_before_it(tmp_path: Path) -> None:
    ran = Ran(tmp_path, Streams([["SELECT short"] * 20, ["SELECT short"]], window_s=1))
    assert (ran.status, ran.text("again.1.sql"), ran.text("rounds.txt")) == (0, "", "1\n")
    assert psql_streams.read(tmp_path, 21)[0].samples == 21


def test_a_first_round_that_is_slower_than_the_others_leaves_the_window_no_shorter(tmp_path: Path) -> None:
    """As 51 queries in the lab: 1.3 s when a session knows no table yet, and 0.9 s then."""
    ran = Ran(tmp_path, Streams([["SELECT slow_at_first"] * 2], window_s=1))
    assert (ran.status, ran.text("rounds.txt")) == (0, "2\n")
    reading, _ = psql_streams.read(tmp_path, 2)
    assert reading.samples == 4
    assert (reading.window_end_s or 0) - (reading.window_start_s or 0) >= 1


def test_a_round_that_was_held_up_before_the_window_leaves_it_no_shorter(tmp_path: Path) -> None:
    """As an index build of 4 ms in the lab that took 14 once: of that one, 0.6 s would have been measured."""
    (tmp_path / "began").touch()
    ran = Ran(tmp_path, Streams([["SELECT held_up_once"]], window_s=1))
    assert (ran.status, ran.text("more.txt")) == (0, "11\n"), "a fifth of the window"
    reading, _ = psql_streams.read(tmp_path, 1)
    assert reading.samples == int(1500 / ((10 * 20 + 120) / 11)) + 1
    assert (reading.window_end_s or 0) - (reading.window_start_s or 0) >= 1


ORDERS = [[[1, 2, 3], [3, 1, 2]], [[1], [1]]]


def test_each_round_is_whole_and_in_the_next_order(tmp_path: Path) -> None:
    each = [["SELECT short", COPY, "SELECT 7"], ["SELECT short"]]
    ran = Ran(tmp_path, Streams(each, window_s=1, orders=ORDERS, goes_on=True, keeps_answers=True))
    assert ran.status == 0
    rounds = int(ran.text("rounds.txt"))
    lines = ran.text("rounds.1.sql").splitlines()
    done = [line for line in lines if not line.startswith("\\o")]
    orders = [["SELECT short;", f"{COPY};", "SELECT 7;"], ["SELECT 7;", "SELECT short;", f"{COPY};"]]
    assert done == [line for number in range(rounds) for line in orders[number % 2]], "they start again"
    assert [line for line in lines if line.startswith("\\o a")] == [f"\\o answer.1.2.{n + 1}" for n in range(rounds)]


def test_statements_have_their_own_numbers_again_whatever_the_order_of_their_round(tmp_path: Path) -> None:
    times = "".join(f"Time: {ms}.000 ms\n" for ms in (1, 2, 3, 30, 10, 20))
    said = {"rounds.txt": "2\n", "clock.1": "1000.0\n1000.1\n", "times.1": times}
    said["errors.1"] = "psql:again.1.sql:2: ERROR:  once\npsql:rounds.1.sql:8: ERROR:  refused\n"
    said |= {"clock.2": "1000.0\n1000.1\n", "times.2": "Time: 5.000 ms\nTime: 6.000 ms\n"}
    reading, timed = psql_streams.read(write(tmp_path, said), 4, ORDERS)
    assert [(one.stream, one.round, one.number, one.time_s, one.error) for one in timed] == [
        *((1, 1, n, n / 1e3, "") for n in (1, 2, 3)),
        (1, 2, 3, 0.03, "ERROR:  refused"),
        (1, 2, 1, 0.01, ""),
        (1, 2, 2, 0.02, ""),
        (2, 1, 1, 0.005, ""),
        (2, 2, 1, 0.006, ""),
    ]
    assert (reading.samples, reading.errors, reading.details["rounds"]) == (7, 1, 2)
    assert reading.measurements["response_time_s"] == pytest.approx(0.05), "of one round"


def test_answers_of_later_rounds_are_kept_once_where_they_are_the_same(tmp_path: Path) -> None:
    each = [[COPY, "SELECT short"], [COPY, "SELECT short"]]
    assert Ran(tmp_path, Streams(each, window_s=1, goes_on=True, keeps_answers=True)).status == 0
    rounds = int((tmp_path / "rounds.txt").read_text())
    assert rounds > 2 and len((tmp_path / "repeated.txt").read_text().splitlines()) == 2 * (rounds - 1)
    found = psql_streams.kept_answers(tmp_path)
    assert set(found) == {(stream, 1, n) for stream in (1, 2) for n in range(1, rounds + 1)}
    assert set(map(tuple, found.values())) == {("b\t2", "B\t1", "a\t3")}
    with tarfile.open(tmp_path / "answers.tar.gz") as archive:
        assert sorted(archive.getnames()) == ["answer.1.1.1", "answer.2.1.1"]


def test_an_answer_of_a_later_round_that_differs_is_kept(tmp_path: Path) -> None:
    changed = tmp_path / "changed"
    changed.mkdir()
    for name, lines in {"answer.1.1.1": "a\n", "answer.1.1.2": "b\n", "answer.1.1.3": "a\n"}.items():
        (changed / name).write_text(lines)
    script = job(Streams([[COPY]], keeps_answers=True)).command
    start = script.index("leave_out_repeated() {")
    tail = script[start : script.index("\nelse\n  checksums", start)]
    subprocess.run(["bash", "-euo", "pipefail", "-c", f"keeps_answers=1\n{tail}\nfi"], cwd=changed, check=True)
    assert psql_streams.kept_answers(changed) == {(1, 1, 1): ["a"], (1, 1, 2): ["b"], (1, 1, 3): ["a"]}


def test_what_a_statement_made_is_undone_before_the_next_one_and_out_of_its_time(tmp_path: Path) -> None:
    ran = Ran(tmp_path, Streams([["SELECT short"]], undo="DROP INDEX i", window_s=1))
    assert ran.status == 0
    rounds = int(ran.text("rounds.txt"))
    line = "\\o \\timing off \\\\ DROP INDEX i; \\timing on"
    files = [*["again.1.sql"] * 2, *["rounds.1.sql"] * rounds]
    assert ran.text("undone").splitlines() == [f"{file}: {line}" for file in files], "not before the first of all"
    assert psql_streams.read(tmp_path, 1)[0].samples == rounds


def test_a_session_that_is_lost_before_the_window_ends_those_that_would_go_on(tmp_path: Path) -> None:
    made = Streams([["SELECT short"], ["SELECT wrong"]], window_s=1, goes_on=True)
    ran = Ran(tmp_path, made)
    assert (ran.status, ran.took_s < 60) == (1, True)
    assert ran.text("ended.txt") == "stream 2: psql ended with status 3\n"
    reading, timed = psql_streams.read(tmp_path, 2)
    assert (reading.measurements, reading.errors, timed) == ({}, 2, [])


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"times.1": "Time: 1 ms\n" * 4, "errors.1": "psql:stream.1.sql:4: NOTICE:  so\n"}, "1 1"),
        (
            {
                "times.1": "Time: 1 ms\n" * 2,
                "errors.1": "psql:stream.1.sql:4: ERROR:  no\nDETAIL:  none\npsql:stream.1.sql:4: ERROR:  no\n",
                "times.2": "Time: 1 ms\n" * 2,
                "errors.2": "psql:stream.2.sql:4: FATAL:  no\n",
            },
            "0.5 1",
        ),
        ({"times.1": "", "errors.1": "psql:stream.1.sql:4: ERROR:  no\n"}, "0 1"),
        (
            {
                "rounds.txt": "2\n",
                "more.txt": "1\n",
                "times.1": "Time: 1 ms\n" * 4,
                "errors.1": "psql:again.1.sql:4: ERROR:  no\npsql:rounds.1.sql:8: ERROR:  no\n",
            },
            "0.75 4",
        ),
    ],
    ids=["notices", "half of them", "all", "in rounds"],
)
def test_how_many_statements_ended_well_is_told(tmp_path: Path, files: Mapping[str, str], told: str) -> None:
    command = f"set -euo pipefail\n{script('drivers/statements_told')}\nstatements_told"
    done = subprocess.run(
        ["bash", "-c", command], cwd=write(tmp_path, files), capture_output=True, text=True, check=True
    )
    assert (done.stdout.split(), done.stderr) == (told.split(), "")


def test_many_rounds_have_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psql_streams, "ROUNDS_MAX", 3)
    assert Ran(tmp_path, Streams([["SELECT short"]], window_s=60)).status == 0
    assert psql_streams.read(tmp_path, 1)[0].samples == 3


# Reading.


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


ONE = {"clock.1": "1700000000.250000000\n", "times.1": "Time: 1234.567 ms (00:01.235)\n", "errors.1": ""}
THREE = {
    "clock.1": "1000.5\n1003.0005\n",
    "times.1": "Time: 2000.000 ms (00:02.000)\nTime: 500.500 ms\n",
    "clock.2": "1000.25\n1004.8\n",
    "times.2": "Time: 750.000 ms\nTime: 3750.250 ms (00:03.750)\n",
    "clock.10": "1000.75\n1000.751\n",
    "times.10": "Time: 1.000 ms\n",
    "errors.1": "",
    "errors.2": "",
    "errors.10": "",
}


def test_an_error_of_a_round_is_told_by_the_line_of_its_own_file(tmp_path: Path) -> None:
    said = {"rounds.txt": "2\n", "errors.1": "psql:rounds.1.sql:4: ERROR:  refused\n"}
    times = {"clock.1": "1000.0\n", "times.1": "Time: 10.000 ms\nTime: 10.000 ms\n"}
    reading, timed = psql_streams.read(write(tmp_path, said | times), 2)
    assert [one.error for one in timed] == ["", "ERROR:  refused"]
    assert (reading.samples, reading.errors) == (1, 3)


def test_one_statement_s_time_is_psql_s_own(tmp_path: Path) -> None:
    reading, timed = psql_streams.read(write(tmp_path, ONE), 1)
    assert timed == [Timed(1, 1, 1.234567)]
    assert reading.measurements == dict.fromkeys(
        ("response_time_s", "statement_time_s_mean", "statement_time_s_max"), 1.234567
    )
    assert (reading.errors, reading.samples, reading.invalid) == (0, 1, ())
    assert reading.window_start_s == 1700000000.25
    assert reading.window_end_s == pytest.approx(1700000001.484567, abs=1e-6)


def test_several_statements_time_is_from_the_first_start_to_the_last_end(tmp_path: Path) -> None:
    reading, timed = psql_streams.read(write(tmp_path, THREE), 5)
    assert [(one.stream, one.number) for one in timed] == [(1, 1), (1, 2), (2, 1), (2, 2), (10, 1)]
    assert (reading.window_start_s, reading.window_end_s) == (1000.25, 1004.8), "what lies between statements counts"
    assert reading.measurements["response_time_s"] == pytest.approx(4.55)
    assert reading.measurements["statement_time_s_max"] == 3.75025
    assert reading.measurements["statement_time_s_mean"] == pytest.approx((2 + 0.5005 + 0.75 + 3.75025 + 0.001) / 5)
    assert (reading.errors, reading.samples) == (0, 5)


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("Time: 0.345 ms", 0.000345),
        ("Time: 61234.500 ms (01:01.235)", 61.2345),
        ("Time: 991234.567 ms (16:31.235)", 991.234567),
        ("Time: 90061234.567 ms (1 d 01:01:01.235)", 90061.234567),
    ],
)
def test_psql_s_words_for_a_time_are_understood(tmp_path: Path, words: str, seconds: float) -> None:
    write(tmp_path, {**ONE, "times.1": f"{words}\n"})
    assert psql_streams.read(tmp_path, 1)[0].measurements["response_time_s"] == pytest.approx(seconds)


def test_lines_that_only_look_like_times_are_none(tmp_path: Path) -> None:
    write(tmp_path, {**ONE, "times.1": f"COPY 5\nits Time: 5.000 ms\n{ONE['times.1']}"})
    assert [one.time_s for one in psql_streams.read(tmp_path, 1)[1]] == [1.234567]


def test_fewer_statements_than_asked_for_are_errors(tmp_path: Path) -> None:
    write(tmp_path, {**THREE, "errors.2": "psql:stream.2.sql:6: ERROR:  out of memory\n"})
    reading, timed = psql_streams.read(tmp_path, 8)
    assert [one.error for one in timed] == ["", "", "", "ERROR:  out of memory", ""]
    assert (reading.errors, reading.samples) == (4, 4), "psql tells the time of the statement that failed, too"
    said = "psql:stream.2.sql:6: ERROR:  out of memory"
    assert reading.details == {"driver_errors": said, "session": {"tls": "unknown"}}


def test_statement_that_began_and_never_ended_is_an_error_and_no_time(tmp_path: Path) -> None:
    write(tmp_path, {**ONE, "clock.2": "1700000000.5\n", "times.2": ""})
    reading, timed = psql_streams.read(tmp_path, 2)
    assert (reading.errors, len(timed), reading.measurements["response_time_s"]) == (1, 1, 1.234567)


def test_time_without_a_start_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, {**ONE, "times.2": "Time: 5.000 ms\n"})
    assert psql_streams.read(tmp_path, 2)[0].errors == 1


def test_no_output_at_all_is_as_many_errors_as_were_asked_for(tmp_path: Path) -> None:
    reading, timed = psql_streams.read(tmp_path, 4)
    assert (reading.measurements, reading.errors, reading.samples, timed) == ({}, 4, 0, [])
    assert (reading.window_start_s, reading.details) == (None, {"driver_errors": "", "session": {"tls": "unknown"}})


def test_driver_s_own_words_are_kept_where_nothing_was_measured(tmp_path: Path) -> None:
    write(tmp_path, {"clock.1": "1.0\n", "times.1": "", "errors.1": "psql: error: down\n", "errors.2": ""})
    assert psql_streams.read(tmp_path, 2)[0].details["driver_errors"] == "psql: error: down"


def test_of_many_errors_the_last_are_kept(tmp_path: Path) -> None:
    write(tmp_path, {**ONE, "errors.1": "x" * 5000 + "the last\n"})
    kept = str(psql_streams.read(tmp_path, 1)[0].details["driver_errors"])
    assert (len(kept), kept[-9:]) == (2000, "xthe last")


def test_driver_s_share_is_its_processor_time_over_that_of_its_threads(tmp_path: Path) -> None:
    write(tmp_path, {**ONE, "driver_cpu.txt": "threads 2\nelapsed_s 1.300\nuser_s 0.100\nsystem_s 0.030\n"})
    assert psql_streams.read(tmp_path, 1)[0].measurements["driver_cpu_share"] == pytest.approx(0.05)


def test_every_measurement_is_declared(tmp_path: Path) -> None:
    write(tmp_path, {**THREE, "driver_cpu.txt": "threads 2\nelapsed_s 1.300\nuser_s 0.100\nsystem_s 0.030\n"})
    assert set(psql_streams.read(tmp_path, 5)[0].measurements) == set(psql_streams.MEASUREMENTS)


# Answers.


def test_answers_are_rows_and_sums_of_each(tmp_path: Path) -> None:
    text = "answer.1.1 22 2abf  -\nanswer.2.1 22 3abf  -\n"
    assert psql_streams.answers(write(tmp_path, {"answers.txt": text})) == [(22, "2abf"), (22, "3abf")]
    reading, _ = psql_streams.read(write(tmp_path, ONE), 1)
    assert reading.details["answers"] == text.splitlines()


def test_line_cut_off_is_no_answer(tmp_path: Path) -> None:
    assert psql_streams.answers(write(tmp_path, {"answers.txt": "answer.1.1 22 2abf  -\nanswer.2.1 22"})) == [
        (22, "2abf")
    ]


def test_no_answers_at_all_are_none(tmp_path: Path) -> None:
    assert psql_streams.answers(tmp_path) == []
    assert psql_streams.kept_answer(tmp_path) is None


def test_kept_answer_is_its_lines(tmp_path: Path) -> None:
    (tmp_path / "answer.gz").write_bytes(gzip.compress("1\tAudio\n2\tBücher\n".encode()))
    assert psql_streams.kept_answer(tmp_path) == ["1\tAudio", "2\tBücher"]


def test_everything_that_is_read_is_collected() -> None:
    written = [*THREE, "answers.txt", "answer.gz", "check.txt", "driver_cpu.txt"]
    assert [name for name in written if not any(Path(name).match(pattern) for pattern in psql_streams.OUTPUTS)] == []
