"""What ``--help`` of each command says beside its options: what it does, examples, and when it fails.

``docs/commands.md`` is made of this and of the options.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from textwrap import fill

WIDTH = 100


@dataclass(frozen=True)
class About:
    what: str
    examples: tuple[str, ...]
    failed: str = ""
    """When it exits with 1, beside an error that it prints."""

    @property
    def epilog(self) -> str:
        one = f"{self.failed}; or an error, which is printed" if self.failed else "an error, which is printed"
        exits = f"exit status:\n  0  done\n  1  {one}\n  2  a call that cannot be understood"
        return "\n".join(["examples:", *(f"  {call}" for call in self.examples), "", exits])


COMMANDS: Mapping[str, About] = {
    "lint": About(
        "Check every YAML file: experiments, platforms, workloads, published values. Each mistake is printed with "
        "its file, line and field, and with what is allowed there.",
        ("clusterbench lint",),
        "there is a mistake",
    ),
    "plan": About(
        "Print what a run would do: its trials, how much data and disk they need, how long they take, and what of "
        "it cannot be. Times come from earlier runs if there are any. No host is touched.",
        (
            "clusterbench plan key_value --scale full",
            "clusterbench plan key_value --trials",
            "clusterbench plan key_value --compare-with RUN",
        ),
        "something of the plan cannot be, such as data that does not fit on a disk",
    ),
    "run": About(
        "Start an experiment in Airflow, as Trigger in its UI does, and print its progress until it ends. 'weekly' "
        "runs all experiments of the weekly run, one after the other. Ctrl-C ends the printing, not the run.",
        (
            "clusterbench run smoke --platform mine",
            "clusterbench run key_value --scale laptop --sweep concurrency --repetitions 3",
            "clusterbench run weekly --scale laptop --part --only retail",
        ),
        "the run is not valid, or it did not complete",
    ),
    "resume": About(
        "Go on with a run that was stopped before its archive was sealed. What was measured stays, and only the "
        "rest is measured.",
        ("clusterbench resume key_value/20261126T060702-a4c1",),
        "the run is not valid, or it did not complete",
    ),
    "list": About(
        "List the runs of the archive, the newest first: run id, platforms, scale, state, and who started it.",
        (
            "clusterbench list",
            "clusterbench list key_value --platform mine --limit 5",
            "clusterbench list --tag firmware_7",
        ),
    ),
    "verify": About(
        "Read every object of a run back from object storage, and compare it with the checksum in the run's manifest.",
        ("clusterbench verify RUN",),
        "an object is missing, was changed, or is not in the manifest",
    ),
    "results": About(
        "Print the most telling results of a run as a table: median, 95 % interval and number of repetitions of "
        "each cell.",
        ("clusterbench results RUN", "clusterbench results RUN --json"),
    ),
    "report": About(
        "Write a run's report to a file: one HTML page that needs nothing else.",
        ("clusterbench report RUN --output report.html",),
    ),
    "show": About(
        "Print an object of a run's archive, or list the objects of a folder.",
        ("clusterbench show RUN", "clusterbench show RUN verdicts.json", "clusterbench show RUN trials"),
    ),
    "compare": About(
        "Compare two runs, the platforms of one run, or a run and its paper. Facts that differ come first, then "
        "declared settings that differ, then each result with its ratio and whether that is a difference.",
        (
            "clusterbench compare RUN_A RUN_B",
            "clusterbench compare RUN_A --published",
            "clusterbench compare R1,R2,R3 R4,R5,R6 --measurement latency_ms_p99",
        ),
    ),
    "plans": About(
        "Ask the server for the plan of every statement that an experiment measures, without running one. With "
        "--with, list the plans that differ from those of a run.",
        (
            "clusterbench plans tpcds_density --platform P",
            "clusterbench plans tpcds_density --with RUN --statement 'query 64'",
        ),
        "a plan differs, or there are no plans",
    ),
    "profile": About(
        "Write flame graphs of a run that was made with --profile, an SVG file for each cell. With two runs: red "
        "took more of the time in RUN_B, blue took less.",
        ("clusterbench profile RUN", "clusterbench profile RUN RUN_B --output DIR"),
    ),
    "regressions": About(
        "Compare the newest run of each experiment with its history, and list the results that became worse or "
        "better. A regression makes the command fail, so that a script can act on it.",
        ("clusterbench regressions", "clusterbench regressions key_value --scale laptop --json"),
        "a result became worse",
    ),
    "remark": About(
        "Write down what people know of a run or a day, so that everybody who looks at its numbers sees it. Remarks "
        "are archived; nothing is ever removed.",
        ("clusterbench remark list",),
    ),
    "remark note": About(
        "Add a note to a run, and tags to find it by.",
        ("clusterbench remark note RUN 'the storage team was at work on host 12' --tag storage",),
    ),
    "remark withdraw": About(
        "Withdraw a run, one of its platforms or a cell: its numbers stay, and no comparison over time uses them.",
        ("clusterbench remark withdraw RUN 'a backup ran on all segments'",),
    ),
    "remark put-back": About(
        "Let what was withdrawn count again.", ("clusterbench remark put-back RUN 'the backup was on another cluster'",)
    ),
    "remark event": About(
        "Note what happened to platforms at some time. Pages and reports show it on the time line.",
        ("clusterbench remark event 'storage rebuilt' --at 2026-05-12 --platform prod",),
    ),
    "remark list": About(
        "List remarks, the newest first: all, or those of a run or of an experiment.",
        ("clusterbench remark list", "clusterbench remark list RUN"),
    ),
    "init": About(
        "Make a folder a project of your own: its own experiments, platforms and workloads beside the installed "
        "package. Files that are there already are left as they are.",
        ("clusterbench init bench",),
    ),
    "workload": About("Workloads of your own.", ("clusterbench workload new shop --from lab_db1",)),
    "workload new": About(
        "Write a workload of your own from what a database was asked to do most, or from a file of SQL: a folder "
        "include/sql/NAME, and an experiment that runs it at three levels of concurrency.",
        (
            "clusterbench workload new shop --from lab_db1",
            "clusterbench workload new shop --from lab_db1 --log statements.sql --title 'Our shop'",
        ),
        "the server refused a statement",
    ),
    "discover": About(
        "Ask a cluster which hosts it has and how it is set, and write include/platforms/NAME.yaml from that. "
        "Nothing on the cluster is changed.",
        (
            "clusterbench discover mine --database mine_database",
            "clusterbench discover hadoop1 --resourcemanager http://rm:8088",
        ),
    ),
    "doctor": About(
        "Look at all hosts, the database, object storage and Airflow, and list what would stop a run or spoil its "
        "numbers, each with a remedy. Nothing is changed.",
        ("clusterbench doctor mine", "clusterbench doctor mine --all", "clusterbench doctor --project"),
        "something must be done first",
    ),
    "cluster": About(
        "Start, stop or list a platform's servers, the same way as a run does it. 'up' also applies the declared "
        "settings, 'down' puts the earlier ones back. Both are refused while a run has the cluster. Servers that "
        "are somebody else's are not stopped.",
        ("clusterbench cluster status lab_db1", "clusterbench cluster up lab_hadoop1"),
        "a server is not in the state that was asked for",
    ),
    "setup": About(
        "Compare the settings of a platform's hosts and engine with what its file declares. Without an option "
        "nothing is changed: each difference is listed with what a run would do about it.",
        ("clusterbench setup mine", "clusterbench setup mine --apply", "clusterbench setup mine --undo"),
        "a setting is not as declared",
    ),
    "hosts": About(
        "Print how fast processors, memory, disk and network of each host are by themselves, and which hosts are "
        "slower than the others or than they were.",
        ("clusterbench hosts mine", "clusterbench hosts mine --measure"),
        "a host is slow, or the hosts were never measured",
    ),
    "sudoers": About(
        "Print a sudoers file with exactly the commands that a platform's file allows and that need root.",
        ("clusterbench sudoers mine",),
    ),
    "release": About(
        "Remove the lease of a run that ended without giving its cluster back. Look at the hosts first: the run's "
        "driver may still be at work.",
        ("clusterbench release mine key_value/20261126T060702-a4c1", "clusterbench release mine --force"),
        "somebody else holds the cluster, or it could not be freed",
    ),
    "machines": About(
        "Bring up, list or shut down the virtual machines that a platform's file declares. 'plan' prints every call "
        "that 'up' would make, and makes none.",
        ("clusterbench machines plan lab_made_retail_vm2", "clusterbench machines status lab_made_retail_vm2"),
        "a machine is not as declared, or a call was refused",
    ),
    "history": About(
        "The history database has the results of all runs over time. All of it can be rebuilt from object storage.",
        ("clusterbench history status",),
    ),
    "history load": About(
        "Load a finished run into the history database, or all finished runs that it lacks.",
        ("clusterbench history load", "clusterbench history load RUN"),
        "a run was refused, because its archive is not as its manifest says",
    ),
    "history rebuild": About(
        "Make the whole history again from object storage. Who reads meanwhile sees the old one until the new one "
        "is complete.",
        ("clusterbench history rebuild",),
        "a run was refused",
    ),
    "history status": About(
        "Print which runs the history database has, and which finished runs it lacks. Nothing is changed.",
        ("clusterbench history status",),
    ),
    "history migrate": About(
        "Bring the tables of the history database to the version of this clusterbench, as every load does, or back "
        "to an older one.",
        ("clusterbench history migrate", "clusterbench history migrate --to VERSION"),
    ),
    "lite": About(
        "Choose the 51 fastest of TPC-DS's 99 queries from a run of all, and write them into "
        "include/sql/tpcds/lite.yaml. Another choice is another test, whose numbers cannot be compared with earlier "
        "ones.",
        ("clusterbench lite RUN --platform P",),
    ),
    "pools": About(
        "Make a pool with one slot in Airflow for each cluster, so that one trial at a time runs on it. Do it again "
        "after a platform with another cluster was added.",
        ("clusterbench pools",),
    ),
    "bench": About(
        "Measure what clusterbench itself costs: the same load by its driver alone and as a run, as ratios. It "
        "needs a clone of the project and its lab.",
        ("clusterbench bench", "clusterbench bench --only throughput own_time"),
    ),
}


def tell(parser: argparse.ArgumentParser, known: Mapping[str, About]) -> None:
    """Give every command of a parser its words, by its name: "history load"."""
    for name, one in commands_of(parser):
        if about := known.get(name):
            one.description = fill(about.what, WIDTH)
            one.epilog = about.epilog
            one.formatter_class = argparse.RawDescriptionHelpFormatter


def commands_of(parser: argparse.ArgumentParser, prefix: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Each command with its parser, and after it those within it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, one in action.choices.items():
                yield prefix + name, one
                yield from commands_of(one, f"{prefix}{name} ")
