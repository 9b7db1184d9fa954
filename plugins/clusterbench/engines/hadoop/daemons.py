"""Hadoop's daemons: which runs where, and the shell that starts and looks after those of one host. Pure.

They are started by their own classes as whoever logs in; nothing is needed on a host but Java, curl and Hadoop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

from clusterbench.engines.hadoop.configuration import Configuration, classpath

LOG_LINES = 15


@dataclass(frozen=True)
class Kind:
    """A kind of daemon, and where its own web server tells its configuration."""

    name: str
    main_class: str
    http_port: int


NAMENODE = Kind("NameNode", "org.apache.hadoop.hdfs.server.namenode.NameNode", 9870)
DATANODE = Kind("DataNode", "org.apache.hadoop.hdfs.server.datanode.DataNode", 9864)
RESOURCEMANAGER = Kind("ResourceManager", "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager", 8088)
NODEMANAGER = Kind("NodeManager", "org.apache.hadoop.yarn.server.nodemanager.NodeManager", 8042)
JOBHISTORY = Kind("JobHistoryServer", "org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer", 19888)


@dataclass(frozen=True)
class Daemon:
    kind: Kind
    host: str

    @property
    def name(self) -> str:
        return f"{self.kind.name} on {self.host}"


def daemons(configuration: Configuration) -> list[Daemon]:
    """In the order of starting."""
    masters = [
        Daemon(NAMENODE, configuration.namenode),
        Daemon(RESOURCEMANAGER, configuration.resourcemanager),
        Daemon(JOBHISTORY, configuration.resourcemanager),
    ]
    return masters + [Daemon(kind, host) for kind in (DATANODE, NODEMANAGER) for host in configuration.workers]


def by_host(chosen: Sequence[Daemon]) -> dict[str, list[Daemon]]:
    found: dict[str, list[Daemon]] = {}
    for daemon in chosen:
        found.setdefault(daemon.host, []).append(daemon)
    return found


def row(daemon: Daemon, *, known: bool | None, started_at_s: int | None) -> dict[str, Any]:
    """What two looks are compared by; see ``instances.faults``. ``known``: whether its master counts on it."""
    return {
        "name": daemon.name,
        "content": daemon.name,
        "preferred_role": "p",
        "role": "p",
        "mode": "n",
        "status": "d" if known is False else "u",
        "alive": started_at_s is not None,
        "started_at_s": started_at_s,
    }


NATIVE = "-Djava.library.path={home}/lib/native"
"""Where a distribution has libhadoop, without which the page cache is not managed; the jars alone have none."""

ENVIRONMENT = """\
export HADOOP_CONF_DIR={directory}/conf HADOOP_HOME={home} HADOOP_COMMON_HOME={home}
# Heeded since Java 9, which needs it; Java 8 does not know the variable.
export JDK_JAVA_OPTIONS="--add-opens java.base/java.lang=ALL-UNNAMED --add-opens java.base/java.util=ALL-UNNAMED"
# Last the empty folders that the daemons want for their web pages, where Hadoop came as jars, without any.
classpath="$HADOOP_CONF_DIR:{classpath}:{directory}/pages"
run() {{ java -Xmx{heap_mb}m {native} {options} -cp "$classpath" "$@"; }}
"""

SHELL = """\
cd {directory} 2>/dev/null || exit 0
mkdir -p logs
alive() {{ local pid; pid=$(cat "$1.pid" 2>/dev/null) && [ -n "$pid" ] &&
  tr '\\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF -- "-Dclusterbench.daemon={directory}/$1 "; }}
"""

START = """\
start() {{
  ! alive "$1" || return 0
  : >"logs/$1.out"
  setsid nohup java -Xmx{heap_mb}m {native} {options} "-Dclusterbench.daemon={directory}/$1" -Dclusterbench.log=file \\
    "-Dclusterbench.log.file={directory}/logs/$1.log" -cp "$classpath" "$2" >>"logs/$1.out" 2>&1 </dev/null 9>&- &
  echo $! >"$1.pid"
}}
"""

LOOK = """\
hertz=$(getconf CLK_TCK); booted=$(awk '/^btime/ {{print $2}}' /proc/stat)
look() {{ ! alive "$1" || printf '%s\\t%s\\n' "$1" "$(awk -v booted="$booted" -v hertz="$hertz" \\
  '{{sub(/^.*\\) /, ""); printf "%d", booted + $20 / hertz}}' "/proc/$(cat "$1.pid")/stat")"; }}
"""

EXCERPT = """\
excerpt() {{
  for file in "logs/$1.out" "logs/$1.log"; do
    [ ! -s "$file" ] || {{ echo "$1, $file:"; tail -n {lines} "$file" | cut -c 1-400; }}
  done
}}
"""


def environment(configuration: Configuration, host: str) -> str:
    """Lines of bash after which ``run CLASS`` runs a class of Hadoop's, in a heap as large as a daemon's."""
    home, hadoop = configuration.homes[host], configuration.hadoop
    return ENVIRONMENT.format(
        directory=configuration.directories[host],
        home=home,
        classpath=classpath(home).replace(",", ":"),
        native=NATIVE.format(home=home),
        options=hadoop.java_options,
        heap_mb=hadoop.daemon_heap_mb,
    )


def _script(directory: str, body: str, call: str, **values: object) -> str:
    return SHELL.format(directory=directory) + body.format(directory=directory, **values) + call


def start(configuration: Configuration, host: str, chosen: Sequence[Daemon]) -> str:
    """Start those that do not run; returns at once."""
    directory, hadoop = configuration.directories[host], configuration.hadoop
    calls = "\n".join(f"start {daemon.kind.name} {daemon.kind.main_class}" for daemon in chosen)
    native = NATIVE.format(home=configuration.homes[host])
    script = _script(
        directory, START, f"{calls}\n", heap_mb=hadoop.daemon_heap_mb, native=native, options=hadoop.java_options
    )
    return environment(configuration, host) + script


def look(configuration: Configuration, host: str, chosen: Sequence[Daemon]) -> str:
    """A line for each that runs: its kind, and since when, in epoch seconds."""
    calls = "\n".join(f"look {daemon.kind.name}" for daemon in chosen)
    return _script(configuration.directories[host], LOOK, f"{calls}\n")


def excerpt(configuration: Configuration, host: str, chosen: Sequence[Daemon]) -> str:
    calls = "\n".join(f"excerpt {daemon.kind.name}" for daemon in chosen)
    return _script(configuration.directories[host], EXCERPT, f"{calls}\n", lines=LOG_LINES)


FORMAT = """\
[ -e {name_dir}/current/VERSION ] || run {main_class} -format -nonInteractive >>logs/format.log 2>&1 || {{
  tail -n 5 logs/format.log >&2; exit 1; }}
"""


def format_namenode(configuration: Configuration) -> str:
    """A file system for the NameNode, where there is none; one that is there is never touched."""
    host = configuration.namenode
    directory = configuration.directories[host]
    body = FORMAT.format(name_dir=quote(f"{directory}/name"), main_class=NAMENODE.main_class)
    return environment(configuration, host) + SHELL.format(directory=directory) + body


def since(said: Mapping[str, str]) -> dict[tuple[str, str], int]:
    """(host, kind) -> start, from what ``look`` said on each host."""
    lines = [(host, line.split("\t")) for host, output in said.items() for line in output.splitlines()]
    return {(host, kind): int(when) for host, (kind, when) in lines}
