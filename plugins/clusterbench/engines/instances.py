"""The server processes of a deployment, where each one's data is, and the shell that looks after them. Pure.

PostgreSQL has one instance; Greenplum has a coordinator and many segments, with or without mirrors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from shlex import quote
from typing import Any

COORDINATOR = -1
"""Its content id, as ``gp_segment_configuration`` has it; a plain server's, too."""

LOG_LINES = 15


@dataclass(frozen=True)
class Instance:
    """One server process. ``host`` is the platform's name of its host, None where the platform names no hosts."""

    content: int
    host: str | None
    address: str
    port: int
    data_directory: str
    role: str = "p"
    preferred_role: str = "p"
    mode: str = "n"
    """s: in step with its mirror; n: not, or without one."""
    status: str = "u"
    """u: up, d: down, as the coordinator sees it."""

    @property
    def name(self) -> str:
        mirror = "" if self.preferred_role == "p" else " (mirror)"
        return f"{content_name(self.content)}{mirror} on {self.host or self.address}:{self.port}"

    @property
    def is_mirror(self) -> bool:
        return self.preferred_role == "m"

    @property
    def is_primary_segment(self) -> bool:
        """Whether it holds rows of its own, as neither the coordinator nor a mirror does."""
        return self.content != COORDINATOR and not self.is_mirror

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def content_name(content: object) -> str:
    """ "coordinator" or "segment 3"; archived facts may have the number as text."""
    return "coordinator" if str(content) == str(COORDINATOR) else f"segment {content}"


def by_host(instances: Iterable[Instance]) -> dict[str, list[Instance]]:
    """Host -> its instances; those whose host is not known are left out."""
    found: dict[str, list[Instance]] = {}
    for instance in instances:
        if instance.host is not None:
            found.setdefault(instance.host, []).append(instance)
    return found


def place(
    rows: Sequence[Mapping[str, Any]], names_of_hosts: Mapping[str, Sequence[str]]
) -> tuple[list[Instance], list[str]]:
    """Instances from rows of ``gp_segment_configuration``, each on a host of the platform, and what fits none.

    ``names_of_hosts``: host of the platform -> the names and addresses that it goes by, the surest first.
    """
    placed, problems = [], []
    for row in rows:
        host = _host_of(row, names_of_hosts) if names_of_hosts else None
        instance = Instance(
            content=int(row["content"]),
            host=host,
            address=str(row["address"]),
            port=int(row["port"]),
            data_directory=str(row["datadir"]),
            role=str(row["role"]).strip(),
            preferred_role=str(row["preferred_role"]).strip(),
            mode=str(row["mode"]).strip(),
            status=str(row["status"]).strip(),
        )
        placed.append(instance)
        if names_of_hosts and host is None:
            problems.append(f"{instance.name}, host name {row['hostname']!r}, is on none of the platform's hosts")
    return placed, problems


def _host_of(row: Mapping[str, Any], names_of_hosts: Mapping[str, Sequence[str]]) -> str | None:
    wanted = (str(row["hostname"]), str(row["address"]))
    ranked = [(names.index(name), host) for host, names in names_of_hosts.items() for name in wanted if name in names]
    return min(ranked)[1] if ranked else None


SILENT = "is up, but does not answer"
UNREACHABLE = "cannot be asked"


def row(instance: Instance, started_at_s: int | None, problem: str = "") -> dict[str, Any]:
    """What two looks are compared by. ``alive`` is None where its host cannot be asked; ``problem`` may say why."""
    return {
        "name": instance.name,
        "content": instance.content,
        "preferred_role": instance.preferred_role,
        "role": instance.role,
        "mode": instance.mode,
        "status": instance.status,
        "alive": started_at_s is not None if instance.host and not problem.startswith(UNREACHABLE) else None,
        "started_at_s": started_at_s,
        "problem": problem,
    }


def seen(instances: Iterable[Instance], looks: Mapping[str, str], lost: Mapping[str, str]) -> list[dict[str, Any]]:
    """A row of each instance, from what ``LOOK`` said on its host; ``lost`` are hosts that did not answer, and why."""
    said = [(host, line.split("\t")) for host, output in looks.items() for line in output.splitlines()]
    lines = {(host, words[0]): words for host, words in said}
    found = []
    for each in instances:
        host = str(each.host)
        look = lines.get((host, each.data_directory))
        problem = f"{UNREACHABLE}: {lost[host]}" if host in lost else ""
        if look and look[2] == "silent":
            problem = SILENT
        found.append(row(each, int(look[1]) if look else None, problem))
    return found


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """For the record of a trial, which a cluster of thousands of segments must not make large."""
    return {
        "instances": len(rows),
        "down": [row["name"] for row in rows if row["status"] == "d" or row["alive"] is False or row.get("problem")],
        "not_in_preferred_role": [row["name"] for row in rows if row["role"] != row["preferred_role"]],
    }


def faults(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> list[str]:
    """What became of the instances between two looks at them, in words: went down, restarted, silent, changed roles."""
    earlier = {(row["content"], row["preferred_role"]): row for row in before}
    found = []
    for row in after:
        old = earlier.get((row["content"], row["preferred_role"]))
        if old is None:
            continue
        if row.get("problem") and row["problem"] != old.get("problem"):
            found.append(f"{row['name']} {row['problem']}")
        elif (row["status"], row["alive"]) != (old["status"], old["alive"]):
            came = row["status"] == "u" and row["alive"] is not False
            found.append(f"{row['name']} {'came up' if came else 'went down'}")
        elif row["started_at_s"] != old["started_at_s"]:
            found.append(f"{row['name']} was restarted")
        if row["role"] != old["role"]:
            found.append(f"{row['name']} {'took over as primary' if row['role'] == 'p' else 'became a mirror'}")
    return found


def skew(rows_by_segment: Sequence[int], segments: int) -> float:
    """How much more than its even share the fullest segment holds: 0 is even, 1 is twice the share."""
    total = sum(rows_by_segment)
    return max(rows_by_segment) * segments / total - 1 if total else 0.0


# Shell, for all instances of one host at once. Nothing is needed there but the server's own programs.

PROGRAM = """\
program={program}
set +eu  # an installation's own environment, where it has one; it may use variables that are not set
for file in "$program"/../*_path.sh "$program"/../*-env.sh; do [ -e "$file" ] && . "$file" && break; done
set -eu
all() {{ local status=0 pids="" each; for each in {directories}; do "$1" "$each" & pids="$pids $!"; done
  for each in $pids; do wait "$each" || status=1; done; return $status; }}
# A server that was killed is no server, though its number may be taken for a while: by its remains, or by another.
alive() {{ local pid; pid=$(head -n 1 "$1/postmaster.pid" 2>/dev/null) && [ -n "$pid" ] &&
  awk '/^Name:/ {{name = $2}} /^State:/ {{state = $2}} END {{exit name != "postgres" || state == "Z"}}' \
    "/proc/$pid/status" 2>/dev/null; }}
"""

STOP = """\
stop() {
  alive "$1" || return 0
  "$program/pg_ctl" -D "$1" -m fast -w -t 300 stop >/dev/null
}
all stop
"""

START = """\
start() {
  ! alive "$1" || return 0
  # As it was started before: the server itself keeps its options there, as pg_ctl restart uses them.
  options=$(sed -n '1{s/^[^"]*//; s/"-D" "[^"]*" *//; p}' "$1/postmaster.opts")
  for _ in 1 2 3 4 5 6; do  # sessions of a server that was killed may hold its memory for some seconds
    "$program/pg_ctl" -D "$1" -w -t 300 -l "$1/start.log" -o "$options" start >/dev/null </dev/null && return 0
    sleep 2
  done
  { echo "$1:"; tail -n 5 "$1/start.log"; } >&2; return 1
}
all start
"""

CONFIGURE = """\
wanted={wanted}
# Our settings are one block at the end, where the last word is. The new file takes the old one's place when the server
# has read it without a complaint, so a value that it refuses never keeps it from starting.
configure() {{
  local file new
  file={config_file}; file=$(readlink -f "${{file:-$1/postgresql.conf}}"); new=$file.clusterbench
  grep -q {replaced} "$file" || [ -n "$wanted" ] || return 0
  sed -n '/^# clusterbench begin/,/^# clusterbench end/ s/^\\([a-z0-9_.]*\\) = .*/\\1/p' "$file"
  cp -p "$file" "$new"
  {{ sed '/^# clusterbench begin/,/^# clusterbench end/d; $a\\' "$file"; printf %s "$wanted"; }} >"$new"
  "$program/postgres" -D "$1" --config-file="$new" -C port >/dev/null || {{ rm -f "$new"; return 1; }}
  if cmp -s "$new" "$file"; then rm -f "$new"; else mv "$new" "$file"; echo changed; fi
}}
all configure
"""
KEPT, RELEASED = "# clusterbench begin: kept", "# clusterbench begin: until the cluster is released"

RELOAD = """\
reload() { ! alive "$1" || "$program/pg_ctl" -D "$1" reload >/dev/null; }
all reload
"""

READY_S = 10
"""What a server may take to answer at all: more than one takes that is only overloaded."""
LOOK = """\
look() {{
  alive "$1" || return 0
  local said=answers started port socket address
  {{ read -r _; read -r _; read -r started; read -r port; read -r socket; read -r address || true; }} \\
    <"$1/postmaster.pid" || true
  case ${{address:=localhost}} in '*' | 0.0.0.0 | ::) address=localhost;; esac
  # It needs no login. A frozen server still has its connections accepted, by the kernel, and then says nothing.
  [ -z "$port" ] || [ ! -x "$program/pg_isready" ] ||
    "$program/pg_isready" -q -t {ready_s} -h "${{socket:-$address}}" -p "$port" || [ $? -ne 2 ] || said=silent
  printf '%s\\t%s\\t%s\\n' "$1" "$started" "$said"
}}
all look
"""

_THEIRS = """\
# All processes of a server work in its data directory.
theirs() {
  local pid
  for pid in $(pgrep -x -u "$(id -u)" postgres || true); do
    [ "$(readlink "/proc/$pid/cwd")" != "$(readlink -f "$1")" ] || echo "$pid"
  done
}
"""
END = (
    _THEIRS
    + """\
# What is left of a server that does not answer or was killed.
end() {
  local pids
  pids=$(theirs "$1"); [ -n "$pids" ] || return 0
  kill -CONT $pids 2>/dev/null || true
  ! alive "$1" || "$program/pg_ctl" -D "$1" -m immediate -w -t 20 stop >/dev/null 2>&1 || true
  pids=$(theirs "$1"); [ -z "$pids" ] || kill -KILL $pids 2>/dev/null || true
  for _ in $(seq 50); do [ -n "$(theirs "$1")" ] || return 0; sleep 0.1; done
  echo "$1: these processes cannot be ended: $(theirs "$1" | tr '\\n' ' ')" >&2; return 1
}
all end
"""
)
END_SESSIONS = (
    _THEIRS
    + """\
# A coordinator's, on segments: "postgres:  6102, gpadmin bench 127.0.0.1(47398) con183 seg1 cmd1128 … UPDATE".
sessions() {
  local pid
  for pid in $(theirs "$1"); do
    ! tr '\\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qE ' con[0-9]+ seg[0-9]' || echo "$pid"
  done
}
end_sessions() {
  local pids
  pids=$(sessions "$1"); [ -z "$pids" ] || kill $pids 2>/dev/null || true
  for _ in $(seq 100); do [ -n "$(sessions "$1")" ] || return 0; sleep 0.1; done
  echo "$1: these sessions cannot be ended: $(sessions "$1" | tr '\\n' ' ')" >&2; return 1
}
all end_sessions
"""
)

MARK_LOGS = """\
directory={directory}
mkdir -p "$directory"; touch "$directory/logs.begun"
mark() {{ for log in "$1"/pg_log/*.csv "$1"/log/*.csv; do [ ! -e "$log" ] || stat -c '%s %n' "$log"; done; }}
all mark >"$directory/logs.marked"
"""

COUNT_LOGGED = """\
directory={directory}
count() {{
  local log from
  for log in "$1"/pg_log/*.csv "$1"/log/*.csv; do  # only what was written since: old logs are large
    [ "$log" -nt "$directory/logs.begun" ] || continue
    from=$(awk -v file="$log" 'substr($0, index($0, " ") + 1) == file {{print $1}}' "$directory/logs.marked")
    tail -c "+$((${{from:-0}} + 1))" "$log" | grep -cE {pattern} || true
  done
}}
[ -e "$directory/logs.marked" ] || {{ echo "$directory: nobody noted where the logs ended before" >&2; exit 1; }}
all count
"""

EVICT = """\
evict() {{
  cd "$1"; sync --file-system .
  find -L base/{database_oid} global pg_tblspc -type f -size +0 -print0 |
    xargs -0 -n 1 -I '{{}}' dd if='{{}}' iflag=nocache count=0 status=none
}}
all evict
"""

FREE = """\
free() { df --block-size=1 --output=source,avail "$1" | tail -n 1; }
all free
"""

EXCERPT = """\
excerpt() {{
  cd "$1"  # where its logs are by default; or elsewhere, which it notes from PostgreSQL 10 on
  [ ! -r current_logfiles ] || mapfile -t logs < <(sed 's/^[a-z]* //' current_logfiles)
  log=$(ls -t ${{logs[@]+"${{logs[@]}}"}} pg_log/*.[cl]* log/*.[cl]* start.log 2>/dev/null | head -n 1) || true
  [ -z "$log" ] || {{ echo "$log:"; tail -n {lines} "$log" | cut -c 1-400; }}
}}
all excerpt
"""


def script(body: str, program: str, instances: Sequence[Instance]) -> str:
    """``body``, with the installation's programs and ``all``, which runs a function on every data directory at once."""
    directories = " ".join(quote(instance.data_directory) for instance in instances)
    return PROGRAM.format(program=quote(program), directories=directories) + body


def configuration(settings: Mapping[str, str], *, keep: bool) -> str:
    """The block of these settings for postgresql.conf; nothing for none.

    In that file a quote is written twice, and a backslash, which begins an escape there, too.
    """
    written = {name: value.replace("\\", "\\\\").replace("'", "''") for name, value in settings.items()}
    lines = [f"{name} = '{value}'" for name, value in written.items()]
    return "\n".join([KEPT if keep else RELEASED, *lines, "# clusterbench end", ""]) if lines else ""


def free_for_rows(lines: Iterable[str], primaries: int) -> int:
    """Bytes that evenly spread rows may take, from ``host source available`` lines, one per instance.

    Instances that share a file system share its space, and the fullest one ends the load for all.
    """
    shares: dict[tuple[str, str], list[int]] = {}
    for line in lines:
        host, source, available = line.split()
        shares.setdefault((host, source), []).append(int(available))
    return min(min(found) // len(found) for found in shares.values()) * max(1, primaries) if shares else 0
