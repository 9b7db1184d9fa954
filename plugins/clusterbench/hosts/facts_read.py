"""What ``include/hosts/facts.sh`` said of a host -> its facts. Pure.

Scalars stand by name; what a host has several of stands by group and name: ``disk``, ``nic``, ``virtual_nic``,
``numa_node``, ``file_system``, ``mitigation``, ``version``. What the host could not tell is absent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

GROUPS = ("numa_node", "disk", "nic", "virtual_nic", "file_system", "mitigation", "version")
SECTOR_BYTES = 512
"""Of ``/sys/block/*/size``, whatever the disk's own sectors are."""
CPU = "/sys/devices/system/cpu"
CONTAINERS = ("docker", "kubepods", "libpod", "lxc", "containerd")

LAYERS = ("lowerdir", "upperdir", "workdir")
"""Mount options of an overlay that are folders of one container."""

Facts = dict[str, Any]


class Told:
    """The sections of the script's output: what was read -> its lines. One of several of a name is ``all``'s."""

    def __init__(self, text: str) -> None:
        self.sections: list[tuple[str, list[str]]] = []
        for line in text.splitlines():
            if line.startswith("@"):
                self.sections.append((line[1:], []))
            elif self.sections:
                self.sections[-1][1].append(line[1:].rstrip())
        self._by_name = dict(reversed(self.sections))

    def lines(self, name: str) -> list[str]:
        return self._by_name.get(name, [])

    def one(self, *names: str) -> str | None:
        """The first line of the first of ``names`` that says anything."""
        return next((lines[0].strip() for name in names if (lines := self.lines(name)) and lines[0].strip()), None)

    def whole(self, name: str) -> int | None:
        said = self.one(name)
        return int(said) if said is not None and re.fullmatch(r"-?\d+", said) else None

    def pairs(self, name: str, separator: str) -> dict[str, str]:
        """``key: value`` lines; of a key that stands twice the first."""
        split = (line.partition(separator) for line in reversed(self.lines(name)))
        return {key.strip(): value.strip().strip('"') for key, found, value in split if found}

    def below(self, folder: str) -> dict[str, dict[str, str]]:
        """Of ``/sys/block``: disk -> {path below it: first line}."""
        found: dict[str, dict[str, str]] = {}
        for name, lines in self.sections:
            if name.startswith(f"{folder}/"):
                first, _, rest = name[len(folder) + 1 :].partition("/")
                found.setdefault(first, {})[rest] = " ".join(line.strip() for line in lines)
        return found


def read(text: str) -> Facts:
    """Facts of one host; the values are text, or whole numbers in the unit that ends their name."""
    told = Told(text)
    found: Facts = {}
    for part in (_system, _processors, _memory, _numa_nodes, _disks, _nics, _file_systems, _where, limits, _versions):
        found |= part(told)
    return {name: value for name, value in found.items() if value not in (None, "", {})}


def _system(told: Told) -> Facts:
    return {
        "hostname": told.one("/proc/sys/kernel/hostname"),
        "system": told.pairs("/etc/os-release", "=").get("PRETTY_NAME")
        or told.pairs("/usr/lib/os-release", "=").get("PRETTY_NAME"),
        "architecture": (told.one("$machine_type") or "").split("-")[0],
        "kernel": told.one("/proc/sys/kernel/osrelease"),
        "kernel_build": told.one("/proc/sys/kernel/version"),
        "kernel_command_line": told.one("/proc/cmdline"),
        "boot_id": told.one("/proc/sys/kernel/random/boot_id"),
        "clock_synchronised": _synchronised(told),
    }


def _synchronised(told: Told) -> str:
    """Whether the clock is kept right, and by what, as far as anybody there knows."""
    if tracking := told.one("$chronyc"):
        fields = tracking.split(",")
        return f"yes, by chrony, stratum {fields[2]}" if fields[-1] == "Normal" else "no, chrony has no source"
    if said := " ".join(told.lines("$ntpq")):
        return "no, ntpd has no source" if "leap_alarm" in said or "sync_unspec" in said else "yes, by ntpd"
    by_systemd = ", by systemd-timesyncd" if told.lines("/run/systemd/timesync/synchronized") else ""
    kernel_says = told.pairs("$timedatectl", "=").get("NTPSynchronized")
    return f"yes{by_systemd}" if by_systemd or kernel_says == "yes" else kernel_says or "unknown"


def _processors(told: Told) -> Facts:
    lscpu = told.pairs("$lscpu", ":")
    sockets, cores, threads = _counted(told, lscpu)
    turbo = {"0": "on", "1": "off"}.get(told.one(f"{CPU}/intel_pstate/no_turbo") or "")
    policies = told.below(f"{CPU}/cpufreq").values()
    return {
        "cpu_model": told.one("/proc/cpuinfo model") or lscpu.get("Model name") or lscpu.get("Vendor ID"),
        "cpus": count_of(told.pairs("/proc/self/status", ":").get("Cpus_allowed_list", "")),
        "cpu_sockets": sockets,
        "cpu_cores": cores,
        "cpu_threads": threads,
        "microcode": told.one("/proc/cpuinfo microcode", f"{CPU}/cpu0/microcode/version"),
        "cpu_governor": _each_once(policy.get("scaling_governor") for policy in policies),
        "cpu_frequency_driver": _each_once(policy.get("scaling_driver") for policy in policies),
        "cpu_idle_driver": told.one(f"{CPU}/cpuidle/current_driver"),
        "turbo": turbo or {"1": "on", "0": "off"}.get(told.one(f"{CPU}/cpufreq/boost") or ""),
        "smt": told.one(f"{CPU}/smt/control") or {"1": "on", "0": "off"}.get(told.one(f"{CPU}/smt/active") or ""),
        "clock_source": told.one("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "mitigation": {name: parts[""] for name, parts in told.below(f"{CPU}/vulnerabilities").items()},
    }


def _counted(told: Told, lscpu: Mapping[str, str]) -> tuple[int | None, int | None, int | None]:
    """Sockets, cores and threads that are on line: of lscpu, else of /proc/cpuinfo as far as that has them."""
    if lscpu:
        sockets, each = _whole(lscpu.get("Socket(s)")), _whole(lscpu.get("Core(s) per socket"))
        online = count_of(lscpu.get("On-line CPU(s) list", "")) or _whole(lscpu.get("CPU(s)"))
        return sockets, sockets * each if sockets and each else None, online
    physical, cores, threads = "0", set(), 0
    for key, _, value in (line.partition(":") for line in told.lines("/proc/cpuinfo")):
        if key.startswith("processor"):
            threads += 1
        elif key.startswith("physical id"):
            physical = value.strip()
        else:
            cores.add((physical, value.strip()))
    return len({physical for physical, _ in cores}) or None, len(cores) or None, threads or None


def _memory(told: Told) -> Facts:
    meminfo = told.pairs("/proc/meminfo", ":")
    return {
        "memory_bytes": _kibibytes(meminfo.get("MemTotal")),
        "swap_bytes": _kibibytes(meminfo.get("SwapTotal")),
        "swappiness": told.whole("/proc/sys/vm/swappiness"),
        "huge_pages": _whole(meminfo.get("HugePages_Total")),
        "huge_page_bytes": _kibibytes(meminfo.get("Hugepagesize")),
        "transparent_huge_pages": _chosen(told.one("/sys/kernel/mm/transparent_hugepage/enabled")),
        "transparent_huge_pages_defrag": _chosen(told.one("/sys/kernel/mm/transparent_hugepage/defrag")),
    }


def _numa_nodes(told: Told) -> Facts:
    """The NUMA nodes. A single node is left out: it would repeat the host's processors and memory."""
    nodes = told.below("/sys/devices/system/node")
    found = {
        name.removeprefix("node"): _present({
            "cpus": parts.get("cpulist"),
            "memory_bytes": _kibibytes(parts.get("meminfo", "").partition("MemTotal:")[2]),
        })
        for name, parts in nodes.items()
    }  # fmt: skip
    return {"numa_nodes": len(nodes) or None, "numa_node": found if len(nodes) > 1 else {}}


def _disks(told: Told) -> Facts:
    """The disks. One that is made of others (md, dm) is listed with its parts, but not counted."""
    blocks = told.below("/sys/block")
    found = {
        name: _disk(name, parts)
        for name, parts in blocks.items()
        if int(parts.get("size") or 0) and parts.get("hidden") != "1"
    }
    count = sum("kind" not in disk for disk in found.values())
    return {"disks": count if blocks else None, "disk": found}


def _disk(name: str, parts: Mapping[str, str]) -> Facts:
    kind = parts.get("md/level") or ("device mapper" if name.startswith("dm-") else None)
    vendor = parts.get("device/vendor", "")
    read_ahead = _whole(parts.get("queue/read_ahead_kb"))
    return _present({
        "kind": kind,
        "name": parts.get("dm/name"),
        "of": parts.get("slaves"),
        "model": " ".join(f"{'' if vendor.startswith('0x') else vendor} {parts.get('device/model', '')}".split()),
        "bytes": int(parts["size"]) * SECTOR_BYTES,
        "rotational": {"0": "no", "1": "yes"}.get(parts.get("queue/rotational", "")),
        "scheduler": _chosen(parts.get("queue/scheduler")),
        "read_ahead_bytes": read_ahead * 1024 if read_ahead is not None else None,
    })  # fmt: skip


def _nics(told: Told) -> Facts:
    """The network interfaces. A speed of -1 means that the driver does not know it."""
    physical: Facts = {}
    virtual: Facts = {}
    for name, parts in told.below("/sys/class/net").items():
        speed = _whole(parts.get("speed"))
        seen = {
            "driver": parts.get("driver"),
            "speed_mbit_per_s": speed if speed and speed > 0 else None,
            "mtu": _whole(parts.get("mtu")),
            "state": parts.get("operstate"),
        }
        (physical if "device" in parts else virtual)[name] = _present(seen)
    return {"nic": physical, "virtual_nic": virtual}


def _file_systems(told: Told) -> Facts:
    """By mount point. A line of mountinfo is "… mount point, options, …, -, type, source, its options"."""
    found = {}
    for name, lines in told.sections:
        if name == "$mount" and lines and " - " in lines[0]:
            before, _, after = lines[0].partition(" - ")
            kind, source, of_all = after.split(" ", 2)
            mounted, own = before.split()[4:6]
            options = [option for option in (*own.split(","), *of_all.split(",")) if not option.startswith(LAYERS)]
            found[mounted] = {"source": source, "type": kind, "options": ",".join(dict.fromkeys(options))}
    return {"file_system": found}


def _where(told: Told) -> Facts:
    dmi = "/sys/class/dmi/id"
    machine = [told.one(f"{dmi}/{name}") for name in ("sys_vendor", "product_name", "product_version")]
    bios = [told.one(f"{dmi}/{name}") for name in ("bios_version", "bios_date")]
    return {
        "machine": " ".join(dict.fromkeys(part for part in machine if part)),
        "bios": ", ".join(part for part in bios if part),
        "hypervisor": _hypervisor(told, machine[0]),
        "container": _container(told),
    }


def _hypervisor(told: Told, vendor: str | None) -> str | None:
    """The hypervisor, or None where nothing tells of one: only x86 has a processor flag for it."""
    flag = told.one("/proc/cpuinfo hypervisor")
    named = told.pairs("$lscpu", ":").get("Hypervisor vendor") or told.one("/sys/hypervisor/type")
    return named or {"yes": f"of a kind unknown ({vendor or 'no DMI'})", "no": "none"}.get(flag or "")


def _container(told: Told) -> str | None:
    said = told.one("$container")
    if said and said != "none":
        return said
    files = {"/.dockerenv": "docker", "/run/.containerenv": "podman"}
    of_init = " ".join(told.lines("/proc/1/cgroup"))
    return (
        told.one("/run/systemd/container")
        or next((name for file, name in files.items() if told.lines(file)), None)
        or next((name for name in CONTAINERS if name in of_init), said)
    )


def limits(told: Told) -> Facts:
    """The tightest limits of the control groups that are reported, those of the login or of a server; None: no limit.

    A container sees all processors and memory of its machine, and may use less.
    """
    processors, memory = [], [_kibibytes(told.pairs("/proc/meminfo", ":").get("MemTotal")) or 0]
    groups: dict[str, dict[str, str]] = {}
    for path, lines in told.sections:
        if path.startswith("/sys/fs/cgroup/"):
            folder, _, name = path.rpartition("/")
            groups.setdefault(folder, {})[name] = "\n".join(lines).strip()
    for group in groups.values():
        quota, period = (*group.get("cpu.max", "").split(), "", "")[:2]
        quota, period = group.get("cpu.cfs_quota_us", quota), group.get("cpu.cfs_period_us", period)
        if quota.isdigit() and period.isdigit():
            processors.append(round(int(quota) / int(period), 4))
        limit = group.get("memory.max") or group.get("memory.limit_in_bytes") or ""
        memory += [int(limit)] if limit.isdigit() else []
    reads = [rate for group in groups.values() for rate in _read_limits(group)]
    return {
        "cpu_limit": min(processors, default=None),
        "memory_limit_bytes": min(memory) if min(memory) < memory[0] else None,
        "disk_read_limit_mb_per_s": min(reads, default=None),
    }


def _read_limits(group: Mapping[str, str]) -> list[float]:
    """MB/s that a group may read from each limited disk: "254:0 1000000", or "254:0 rbps=1000000 wbps=max"."""
    said = re.findall(r"^\d+:\d+ .*?rbps=(\d+)", group.get("io.max", ""), re.MULTILINE)
    said += re.findall(r"^\d+:\d+ (\d+)$", group.get("blkio.throttle.read_bps_device", ""), re.MULTILINE)
    return [int(bytes_per_s) / 1e6 for bytes_per_s in said]


def _versions(told: Told) -> Facts:
    names = ("glibc", "coreutils", "util_linux", "openssl", "psql", "pgbench", "pgbouncer", "gpfdist")
    found = {"bash": told.one("$bash"), **{name: told.one(f"${name}") for name in names}, "java": _java(told)}
    return {"version": _present(found)}


def _java(told: Told) -> str | None:
    release = next((name for name, _ in told.sections if name.endswith("/release")), "")
    said = told.pairs(release, "=")
    number = said.get("JAVA_RUNTIME_VERSION") or said.get("JAVA_VERSION")
    return " ".join(filter(None, (said.get("IMPLEMENTOR"), number))) if number else told.one("$java")


def count_of(ranges: str) -> int | None:
    """ "0-3,8" is five processors."""
    if not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", ranges):
        return None
    ends = (part.partition("-") for part in ranges.split(","))
    return sum(int(last or first) - int(first) + 1 for first, _, last in ends)


def _present(facts: Mapping[str, object]) -> Facts:
    return {name: value for name, value in facts.items() if value not in (None, "")}


def _each_once(values: Iterable[str | None]) -> str:
    return ", ".join(sorted({value for value in values if value}))


def _chosen(said: str | None) -> str | None:
    """ "always [madvise] never": the one in brackets, or the only one there is."""
    bracketed = re.search(r"\[(.+?)\]", said or "")
    return bracketed[1] if bracketed else said


def _whole(said: str | None) -> int | None:
    found = re.match(r"\s*(-?\d+)", said or "")
    return int(found[1]) if found else None


def _kibibytes(said: str | None) -> int | None:
    count = _whole(said)
    return None if count is None else count * 1024
