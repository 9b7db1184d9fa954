"""The bash for a host's instances, run for real."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusterbench.base.scripts import Value
from clusterbench.engines.greenplum.logs import INTERCONNECT_WARNING
from clusterbench.engines.instances import Instance
from clusterbench.engines.postgres.server import instance_script
from clusterbench.engines.postgres.settings import RELEASED, block
from tests import FIXTURES

# Against a pg_ctl that notes how it was called.

PG_CTL = """\
#!/bin/bash
echo "$*" >>"{calls}"
case "$*" in
  *start*) setsid "{program}/postgres" 600 >/dev/null 2>&1 </dev/null &
    until [ "$(cat /proc/$!/comm)" = postgres ]; do sleep 0.01; done  # as -w does; until then it has a shell's name
    printf '%s\\nx\\n17\\n' $! >"$2/postmaster.pid";;
  *stop*) kill "$(head -n 1 "$2/postmaster.pid")"; rm "$2/postmaster.pid";;
esac
"""


@pytest.fixture
def segments(tmp_path: Path) -> Iterator[list[Instance]]:
    program = tmp_path / "gp 6" / "bin"
    program.mkdir(parents=True)
    shutil.copy("/bin/sleep", program / "postgres")
    (program / "pg_ctl").write_text(PG_CTL.format(calls=tmp_path / "calls", program=program))
    (program / "pg_ctl").chmod(0o755)
    (program.parent / "greenplum_path.sh").write_text(
        'echo "$UNSET_NAME" >/dev/null; touch "${program%/bin}/sourced"\n'
    )
    made = []
    for content in (0, 1):
        data = tmp_path / f"seg's {content}"
        data.mkdir()
        options = f'{program}/postgres "-D" "{data}" "-p" "{6101 + content}" "-c" "gp_role=execute"\n'
        (data / "postmaster.opts").write_text(options)
        made.append(Instance(content, "one", "one", 6101 + content, str(data)))
    yield made
    run("postgres/stop", tmp_path, made)


def run(name: str, tmp_path: Path, segments: list[Instance], **values: Value) -> subprocess.CompletedProcess[str]:
    return run_script(instance_script(name, str(tmp_path / "gp 6" / "bin"), segments, **values))


def run_script(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-euo", "pipefail", "-s"], input=script, capture_output=True, text=True, check=False)


def test_all_instances_start_as_they_were_started_before(tmp_path: Path, segments: list[Instance]) -> None:
    done = run("postgres/start", tmp_path, segments)
    assert (done.returncode, done.stderr) == (0, "")
    calls = (tmp_path / "calls").read_text()
    assert '-o "-p" "6101" "-c" "gp_role=execute" start' in calls and '-o "-p" "6102"' in calls
    assert (tmp_path / "gp 6" / "sourced").exists(), "the installation's environment is used"
    (tmp_path / "calls").write_text("")
    run("postgres/start", tmp_path, segments)
    assert " start" not in (tmp_path / "calls").read_text(), "what runs is left alone"


def test_stopping_what_is_stopped_does_nothing(tmp_path: Path, segments: list[Instance]) -> None:
    run("postgres/start", tmp_path, segments)
    assert run("postgres/stop", tmp_path, segments).returncode == 0
    assert not any((Path(s.data_directory) / "postmaster.pid").exists() for s in segments)
    (tmp_path / "calls").write_text("")
    assert run("postgres/stop", tmp_path, segments).returncode == 0
    assert (tmp_path / "calls").read_text() == ""


def look(tmp_path: Path, segments: list[Instance]) -> list[str]:
    return run("postgres/look", tmp_path, segments, ready_s=2).stdout.splitlines()


def kill_and_wait(pid: int) -> None:
    """The signal is on its way when kill returns; what is left may be a zombie until somebody reaps it."""
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while "State:\tZ" not in status_of(pid):
        assert time.monotonic() < deadline, f"process {pid} did not end"
        time.sleep(0.01)


def status_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return "State:\tZ (gone)"


def test_what_runs_is_seen_and_what_was_killed_is_not(tmp_path: Path, segments: list[Instance]) -> None:
    """What was killed stays as a zombie for a while, or leaves its number to another process."""
    run("postgres/start", tmp_path, segments)
    both = [f"{segment.data_directory}\t17\tanswers" for segment in segments]
    assert sorted(look(tmp_path, segments)) == both
    kill_and_wait(int((Path(segments[0].data_directory) / "postmaster.pid").read_text().split()[0]))
    assert look(tmp_path, segments) == both[1:]
    (Path(segments[0].data_directory) / "postmaster.pid").write_text(f"{os.getpid()}\nx\n17\n")
    assert look(tmp_path, segments) == both[1:], "another process has its number"
    (Path(segments[0].data_directory) / "postmaster.pid").unlink()


def test_one_instance_that_fails_fails_all_with_its_log(tmp_path: Path, segments: list[Instance]) -> None:
    (tmp_path / "gp 6" / "bin" / "pg_ctl").write_text(
        '#!/bin/bash\ncase "$*" in *"seg\'s 1"*start*) echo "FATAL: no space" >"$2/start.log"; exit 1;; esac\n'
    )
    start = instance_script("postgres/start", str(tmp_path / "gp 6" / "bin"), segments)
    assert "sleep 2" in start
    done = run_script(start.replace("sleep 2", "sleep 0"))
    assert done.returncode == 1
    assert "seg's 1:" in done.stderr and "FATAL: no space" in done.stderr


def left_of_a_server(tmp_path: Path, segment: Instance, count: int) -> list[subprocess.Popen[bytes]]:
    """Processes of the server's name, in its data directory as its own are, and frozen."""
    program = str(tmp_path / "gp 6" / "bin" / "postgres")
    made = [subprocess.Popen([program, "600"], cwd=segment.data_directory) for _ in range(count)]
    for process in made:
        process.send_signal(signal.SIGSTOP)
    return made


def test_what_a_server_left_is_ended_though_it_is_frozen_and_nothing_else(
    tmp_path: Path, segments: list[Instance]
) -> None:
    theirs, others = (left_of_a_server(tmp_path, segment, 2) for segment in segments)
    reaper = threading.Thread(target=lambda: [process.wait() for process in theirs])
    reaper.start()
    try:
        assert run("postgres/end", tmp_path, segments[:1]).stderr == ""
        reaper.join(timeout=20)
        assert [process.returncode for process in theirs] == [-signal.SIGKILL] * 2
        assert all(process.poll() is None for process in others)
    finally:
        for process in (*theirs, *others):
            process.kill()
            process.wait()
    assert run("postgres/end", tmp_path, segments).returncode == 0, "nothing is left to be ended"


def test_sessions_that_a_coordinator_left_are_ended_and_no_other_process(
    tmp_path: Path, segments: list[Instance]
) -> None:
    program = str(tmp_path / "gp 6" / "bin" / "postgres")
    titles = [
        "postgres:  6102, gpadmin bench 127.0.0.1(47398) con183 seg1 cmd1128 slice1 MPPEXEC UPDATE",
        "writer process",
    ]
    left, own = (
        subprocess.Popen([title, "600"], executable=program, cwd=segments[0].data_directory) for title in titles
    )
    reaper = threading.Thread(target=left.wait)
    reaper.start()
    try:
        assert run("greenplum/end_sessions", tmp_path, segments[:1]).stderr == ""
        reaper.join(timeout=20)
        assert left.returncode == -signal.SIGTERM
        assert own.poll() is None
    finally:
        for process in (left, own):
            process.kill()
            process.wait()


CAPTURED_LOG = (FIXTURES / "greenplum" / "interconnect.csv").read_text()
QUOTED = (
    '2026-11-22 02:28:18.643541 UTC,"gpadmin","bench",p1,th-1,,,,0,,,seg2,,,,,"LOG","00000","statement: SELECT\n'
    """'""WARNING"",""01000"",""interconnect may encountered a network error' FROM log",,,,,,,0,,"postgres.c",1,\n"""
)


def test_warnings_are_counted_in_what_the_logs_got_since_the_mark(tmp_path: Path, segments: list[Instance]) -> None:
    """A real log of Greenplum 6. Old ones are not read, a statement about the warning is none, a log may be new."""
    marks = str(tmp_path / "work")
    first, second = (Path(segment.data_directory) / "pg_log" for segment in segments)
    for folder in (first, second):
        folder.mkdir()
        (folder / "gpdb-1.csv").write_text(CAPTURED_LOG)
    (first / "gpdb-0.csv").write_text(CAPTURED_LOG)

    def counted() -> int:
        done = run("greenplum/count_logged", tmp_path, segments, marks=marks, pattern=INTERCONNECT_WARNING)
        assert done.stderr == ""
        return sum(map(int, done.stdout.split()))

    assert run("greenplum/mark_logs", tmp_path, segments, marks=marks).stderr == ""
    assert counted() == 0
    with (first / "gpdb-1.csv").open("a") as log:
        log.write(QUOTED + CAPTURED_LOG + QUOTED)
    assert counted() == 12
    (second / "gpdb-2.csv").write_text(CAPTURED_LOG)
    assert counted() == 24


def test_without_a_mark_nothing_is_counted_and_that_is_said(tmp_path: Path, segments: list[Instance]) -> None:
    done = run("greenplum/count_logged", tmp_path, segments, marks=str(tmp_path / "work"), pattern="x")
    assert (done.returncode, done.stderr) == (1, f"{tmp_path}/work: nobody noted where the logs ended before\n")


# Settings in a server's configuration file: the shell, run for real with a postgres that reads what it is given.

POSTGRES = """\
#!/bin/bash
# postgres -D DATA --config-file=FILE -C port: refuses what a server would refuse
if [ "$1" != -D ] || ! [ -d "$2" ]; then echo "called with $*" >&2; exit 1; fi
if grep "^wrong" "${3#--config-file=}" >&2; then exit 1; fi
"""
WRITTEN = "port = 6101\n# their own: fsync = on\n"


@pytest.fixture
def configured(tmp_path: Path) -> list[Instance]:
    program = tmp_path / "gp 6" / "bin"
    program.mkdir(parents=True)
    (program / "postgres").write_text(POSTGRES)
    (program / "postgres").chmod(0o755)
    made = []
    for content in (0, 1):
        data = tmp_path / f"seg's {content}"
        data.mkdir()
        (data / "postgresql.conf").write_text(WRITTEN)
        (data / "postgresql.conf").chmod(0o600)
        made.append(Instance(content, "one", "one", 6101 + content, str(data)))
    return made


def configure(
    tmp_path: Path, servers: list[Instance], settings: dict[str, str], *, keep: bool = False, config_file: str = ""
) -> subprocess.CompletedProcess[str]:
    wanted = block(settings, keep=keep)
    replaced = f"^{RELEASED}"
    return run("postgres/configure", tmp_path, servers, wanted=wanted, config_file=config_file, replaced=replaced)


def texts(servers: list[Instance]) -> list[str]:
    assert all(len(list(Path(each.data_directory).iterdir())) == 1 for each in servers), "no file is left beside it"
    return [(Path(each.data_directory) / "postgresql.conf").read_text() for each in servers]


def test_the_block_is_added_replaced_and_taken_out_again(tmp_path: Path, configured: list[Instance]) -> None:
    settings = {"fsync": "on", "work_mem2.x": "1MB"}
    done = configure(tmp_path, configured, settings)
    assert (done.stdout.splitlines(), done.stderr) == (["changed", "changed"], "")
    assert texts(configured) == [WRITTEN + block(settings, keep=False)] * 2
    again = configure(tmp_path, configured, settings)
    assert sorted(again.stdout.splitlines()) == ["fsync", "fsync", "work_mem2.x", "work_mem2.x"], "nothing changed"
    done = configure(tmp_path, configured, {"fsync": "off"})
    assert set(done.stdout.splitlines()) == {"changed", "fsync", "work_mem2.x"}, (
        "what was in it is told, to be reloaded"
    )
    assert texts(configured) == [WRITTEN + block({"fsync": "off"}, keep=False)] * 2
    assert sorted(configure(tmp_path, configured, {}).stdout.splitlines()) == ["changed", "changed", "fsync", "fsync"]
    assert texts(configured) == [WRITTEN] * 2
    assert configure(tmp_path, configured, {}).stdout == ""


def test_what_is_to_be_kept_is_left_alone_until_others_are_wanted(tmp_path: Path, configured: list[Instance]) -> None:
    configure(tmp_path, configured, {"fsync": "on"}, keep=True)
    kept = texts(configured)
    assert configure(tmp_path, configured, {}).stdout == ""
    assert texts(configured) == kept == [WRITTEN + block({"fsync": "on"}, keep=True)] * 2
    configure(tmp_path, configured, {"fsync": "off"})
    assert texts(configured) == [WRITTEN + block({"fsync": "off"}, keep=False)] * 2


def test_hostile_values_stay_values(tmp_path: Path, configured: list[Instance]) -> None:
    hostile = {"a": "'; port = 1 #", "b": "$(touch hacked)", "c": "`touch hacked` {wanted} %s \\n", "d": "a\\"}
    assert configure(tmp_path, configured, hostile).returncode == 0
    assert texts(configured)[0].splitlines()[3:] == [
        "a = '''; port = 1 #'",
        "b = '$(touch hacked)'",
        "c = '`touch hacked` {wanted} %s \\\\n'",
        "d = 'a\\\\'",
        "# clusterbench end",
    ]
    assert not list(tmp_path.rglob("hacked"))


def test_a_file_without_an_end_of_line_gets_one_and_its_last_setting_stays(
    tmp_path: Path, configured: list[Instance]
) -> None:
    for each in configured:
        (Path(each.data_directory) / "postgresql.conf").write_text(WRITTEN.rstrip())
    configure(tmp_path, configured, {"fsync": "on"})
    assert texts(configured) == [WRITTEN + block({"fsync": "on"}, keep=False)] * 2
    configure(tmp_path, configured, {})
    assert texts(configured) == [WRITTEN] * 2


def test_a_value_that_the_server_refuses_changes_nothing(tmp_path: Path, configured: list[Instance]) -> None:
    done = configure(tmp_path, configured, {"wrong": "x"})
    assert (done.returncode, done.stdout) == (1, "")
    assert "wrong = 'x'" in done.stderr
    assert texts(configured) == [WRITTEN] * 2


def test_rights_stay_and_a_link_is_followed(tmp_path: Path, configured: list[Instance]) -> None:
    server = configured[0]
    real, link = Path(server.data_directory) / "postgresql.conf", tmp_path / "etc's" / "link.conf"
    link.parent.mkdir()
    link.symlink_to(real)
    assert configure(tmp_path, [server], {"fsync": "on"}, config_file=str(link)).stdout == "changed\n"
    assert link.is_symlink() and "fsync = 'on'" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o600
