"""What a platform's logins may do as root: line by line, and nothing beyond; read by sudo's own programs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from clusterbench.base.errors import ClusterbenchError
from clusterbench.base.paths import project_root
from clusterbench.hosts.sudoers import sudoers
from clusterbench.spec import Platform
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.setup import Setup

LAB_DB1 = Catalog(project_root()).platform("lab_db1")


def platform(page_cache: str = "none", may: Sequence[str] = (), **setup: Any) -> Platform:
    return LAB_DB1.model_copy(update={"page_cache": page_cache, "may": may, "setup": Setup.model_validate(setup)})


def lines(of: Platform, *logins: str) -> list[str]:
    """Without the comments."""
    return [line for line in sudoers(of, logins or ["pg"]).splitlines() if not line.startswith("#")]


def applied(group: dict[str, Any]) -> Platform:
    return platform(may=["host_settings"], hosts=[group])


EVERYTHING = applied(
    {
        "sysctl": {"vm.swappiness": 0, "net.ipv4.ip_local_port_range": "10000 65535"},
        "limits": {"nofile": 65536, "nproc": 131072},
        "transparent_huge_pages": "never",
        "disks": {"sdb": {"scheduler": "none", "read_ahead_kib": 8192}},
        "mounts": {"/data1": {"type": "xfs", "options": ["noatime", "allocsize=16m"], "xfs_agcount": 4}},
        "services": {"chrony": "running"},
        "clock_synchronised": True,
        "clock_offset_ms_max": 5.0,
    }
)


def test_nothing_is_needed_where_nothing_is_changed() -> None:
    only_compared = platform(hosts=[{"sysctl": {"vm.swappiness": 0}}])
    assert lines(only_compared) == []
    assert "# Nothing: 'may' of its file names nothing that needs root." in sudoers(only_compared, ["pg"])


def test_a_reboot_is_one_command() -> None:
    assert lines(platform(may=["reboot"])) == ["pg ALL=(root) NOPASSWD: /usr/bin/systemctl reboot"]


def test_page_cache_alone_is_one_file() -> None:
    assert lines(platform("drop_caches")) == []
    dropping = platform("drop_caches", ["drop_caches"], hosts=[{"sysctl": {"vm.swappiness": 0}}])
    assert lines(dropping) == ["pg ALL=(root) NOPASSWD: /usr/bin/tee /proc/sys/vm/drop_caches"]


def test_the_engine_s_own_settings_need_no_root() -> None:
    assert lines(platform(may=["engine_settings"], hosts=[{"sysctl": {"vm.swappiness": 0}}])) == []


def test_every_setting_is_a_line_of_its_own_and_the_same_one_stands_once() -> None:
    """Three hosts have them all; what is only read has no line."""
    assert [line.removeprefix("pg ALL=(root) NOPASSWD: ") for line in lines(EVERYTHING)] == [
        "/usr/bin/tee /proc/sys/vm/swappiness",
        "/usr/bin/tee /proc/sys/net/ipv4/ip_local_port_range",
        "/usr/bin/tee /etc/security/limits.d/90-clusterbench.conf",
        "/usr/bin/systemctl start chrony",
        "/usr/bin/systemctl stop chrony",
        "/usr/sbin/service chrony start",
        "/usr/sbin/service chrony stop",
        "/usr/bin/tee /sys/block/sdb/queue/scheduler",
        "/usr/bin/tee /sys/block/sdb/queue/read_ahead_kb",
        "/usr/bin/mount -o remount\\,noatime\\,allocsize\\=16m /data1",
        "/usr/bin/tee /sys/kernel/mm/transparent_hugepage/enabled",
    ]


def test_of_a_disk_known_by_its_mount_point_each_bracket_is_one_character() -> None:
    found = lines(applied({"disks": {"/data1": {"scheduler": "none"}}}))
    patterns = [re.sub(r".*/sys/block/(.*)/queue/scheduler$", r"\1", line) for line in found]
    names = ["sd[a-z]", "sd[a-z][a-z]", "vd[a-z]", "nvme[0-9]n[0-9]", "nvme[0-9][0-9]n[0-9]"]
    assert patterns == [*names, "dm-[0-9]", "dm-[0-9][0-9]"]


def test_an_interface_s_mtu_is_one_of_the_usual_names() -> None:
    found = lines(applied({"mtu": 9000}))
    for name in ("eth[0-9]", "ens[0-9]", "ens[0-9]f[0-9]np[0-9]", "enp[0-9][0-9]s[0-9]f[0-9]", "bond[0-9]"):
        assert f"pg ALL=(root) NOPASSWD: /usr/bin/tee /sys/class/net/{name}/mtu" in found
    assert all(line.endswith("/mtu") for line in found)


@pytest.mark.parametrize("of", [EVERYTHING, applied({"mtu": 9000, "disks": {"/d": {"read_ahead_kib": 1}}})])
def test_no_pattern_reaches_further_than_a_character(of: Platform) -> None:
    for line in lines(of):
        assert not re.search(r"[*?!]", line)
        assert all(re.fullmatch(r"\[(a-z|0-9)\]", each) for each in re.findall(r"\[[^]]*\]", line))
        assert len(line.split("NOPASSWD: ")[1].split()) > 1, "a program without arguments would be allowed with any"


def test_how_to_put_a_remount_back_is_told_only_where_one_is_made() -> None:
    assert "findmnt -no OPTIONS MOUNTPOINT" in sudoers(EVERYTHING, ["pg"])
    assert "findmnt" not in sudoers(applied({"mtu": 9000}), ["pg"])


@pytest.mark.parametrize("leave", ["restart", "recover", "engine_settings"])
def test_a_service_is_started_and_stopped_by_its_name_alone(leave: str) -> None:
    of = platform(may=[leave]).model_copy(update={"service": "postgresql@16-main"})
    assert [line.removeprefix("pg ALL=(root) NOPASSWD: ") for line in lines(of)] == [
        "/usr/bin/systemctl start postgresql@16-main",
        "/usr/bin/systemctl stop postgresql@16-main",
    ]
    assert lines(of.model_copy(update={"may": ["evict"]})) == []


def test_every_login_has_its_lines_once() -> None:
    dropping = platform("drop_caches", ["drop_caches"])
    assert [line.split()[0] for line in lines(dropping, "pg", "gpadmin", "pg")] == ["gpadmin", "pg"]


@pytest.mark.parametrize(
    "login", ["", "%wheel", "ALL", "ADMINS", "a b", "x ALL=(ALL) NOPASSWD: ALL\n#", "#0", "x\n", "+net"]
)
def test_a_login_that_sudo_would_read_as_more_than_one_is_refused(login: str) -> None:
    with pytest.raises(ClusterbenchError) as caught:
        sudoers(platform("drop_caches"), ["pg", login])
    assert str(caught.value).startswith(
        f"login {login!r} of a host's connection: sudoers would read it as something else; "
    )


@pytest.mark.parametrize("name", [path.stem for path in sorted((project_root() / "include/platforms").glob("*.yaml"))])
def test_sudo_accepts_the_file_of_every_platform(name: str, tmp_path: Path) -> None:
    check(sudoers(Catalog(project_root()).platform(name), ["LOGIN"]).replace("LOGIN", "pg"), tmp_path)


def test_sudo_reads_the_commands_that_set_up_runs(tmp_path: Path) -> None:
    """With the backslashes gone: as ``include/hosts/settings.sh`` calls them."""
    file = check(sudoers(EVERYTHING, ["pg"]), tmp_path)
    shown = subprocess.run(
        [program("cvtsudoers"), "-c", "/dev/null", "-f", "json", str(file)], capture_output=True, text=True, check=True
    )
    specs = json.loads(shown.stdout)["User_Specs"]
    commands = [each["command"] for spec in specs for own in spec["Cmnd_Specs"] for each in own["Commands"]]
    assert all(spec["User_List"] == [{"username": "pg"}] for spec in specs)
    assert "/usr/bin/mount -o remount,noatime,allocsize=16m /data1" in commands
    assert len(commands) == len(lines(EVERYTHING))


def program(name: str) -> str:
    found = shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")
    if found is None:
        pytest.skip(f"{name} is not installed here")
    return found


def check(text: str, tmp_path: Path) -> Path:
    file = tmp_path / "clusterbench"
    file.write_text(text)
    done = subprocess.run([program("visudo"), "-c", "-f", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return file
