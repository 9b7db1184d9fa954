"""The command line as it is typed: what it prints, where, and with which exit status."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clusterbench.base.paths import project_root
from clusterbench.base.words import THIN_SPACE
from clusterbench.cli.main import main
from clusterbench.cli.plan_tables import bytes_said, duration_said

ROOT = project_root()
Output = pytest.CaptureFixture[str]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the project's files that a test may spoil, and no lab."""
    for name in ("dags", "include"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "lab"))
    monkeypatch.setenv("CLUSTERBENCH_ROOT", str(tmp_path))
    monkeypatch.setenv("CLUSTERBENCH_LAB_DIR", str(tmp_path / "lab"))
    monkeypatch.delenv("CLUSTERBENCH_CONNECTIONS", raising=False)
    monkeypatch.delenv("CLUSTERBENCH_AIRFLOW_URL", raising=False)
    return tmp_path


def refused(output: Output, *arguments: str) -> str:
    """What is on standard error, after an exit status of 1 and nothing on standard output."""
    assert main(arguments) == 1
    said = output.readouterr()
    assert said.out == ""
    assert "Traceback" not in said.err
    assert said.err.startswith("clusterbench: ")
    return said.err


# lint


def test_lint_of_good_files_says_how_many(capsys: Output) -> None:
    assert main(["lint"]) == 0
    said = capsys.readouterr()
    assert re.fullmatch(r"\d+ files, no problems\n", said.out), "of templates, which nobody runs, nothing is noted"
    assert said.err == ""


def test_lint_notes_what_cannot_be_warm_on_a_platform_of_one_s_own(project: Path, capsys: Output) -> None:
    mine = (project / "include/platforms/native.yaml").read_text().replace("platform: native", "platform: mine")
    (project / "include/platforms/mine.yaml").write_text(mine.replace("template: true", "template: false"))
    assert main(["lint"]) == 0
    (note,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("note: "))
    assert re.search(
        r"note: key_value at full scale on mine: \d+ of \d+ trials are not applicable; 'clusterbench plan' lists them: "
        r"570 GB of rel",
        note,
    )


def test_plan_says_which_trials_cannot_be_warm_before_a_host_is_touched(capsys: Output) -> None:
    assert main(["plan", "key_value", "--scale", "full", "--platform", "native", "--sweep", "statement_mem"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "native: statement_mem: not applicable, 20 of 20 trials: 570 GB of relations cannot be warm" in said


def test_lint_tells_every_problem_on_its_own_line(project: Path, capsys: Output) -> None:
    smoke = project / "dags/experiments/smoke.yaml"
    smoke.write_text(smoke.read_text().replace("seed: 7", "seed: -7").replace("clients: [1, 2]", "clients: []"))
    assert main(["lint"]) == 1
    said = capsys.readouterr()
    first, second = said.err.splitlines()
    assert re.match(rf"{re.escape(str(smoke))}:\d+: seed: must be greater than or equal to 0, found -7", first)
    assert re.match(rf"{re.escape(str(smoke))}:\d+: sweeps.lookups.factors: factor 'clients'.* is empty", second)
    assert re.fullmatch(r"\d+ files, 2 problems\n", said.out)


def test_lint_counts_one_problem_as_one(project: Path, capsys: Output) -> None:
    smoke = project / "dags/experiments/smoke.yaml"
    smoke.write_text(smoke.read_text().replace("seed: 7", "seed: -7"))
    assert main(["lint"]) == 1
    assert capsys.readouterr().out.endswith(", 1 problem\n")


# plan


def test_plan_is_a_table_with_a_row_a_platform(capsys: Output) -> None:
    assert main(["plan", "key_value", "--scale", "laptop", "--platform", "lab_db1", "--platform", "lab_db2"]) == 0
    said = capsys.readouterr().out
    assert "laptop scale, seed 20171002" in said
    for platform in ("lab_db1", "lab_db2"):
        (row,) = (line for line in said.splitlines() if re.match(rf"\W+{platform}\b.*111", line))
        assert [cell.strip() for cell in re.split("[│|]", row) if cell.strip()][:5] == [
            platform,
            "111",
            "21",
            "798.0 MB",
            "1.0 GB",
        ]


def test_plan_as_json_is_all_there_is(capsys: Output) -> None:
    assert main(["plan", "smoke", "--json", "--seed", "5"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["experiment"] == "smoke"
    assert said["choices"]["seed"] == 5
    assert [one["platform"] for one in said["estimates"]] == list(said["trials"]) == ["lab_db1"]
    assert said["estimates"][0]["trials"] == len(said["trials"]["lab_db1"]) == 9


def test_plan_lists_trials_in_their_order(capsys: Output) -> None:
    assert main(["plan", "smoke", "--json"]) == 0
    planned = [trial["id"] for trial in json.loads(capsys.readouterr().out)["trials"]["lab_db1"]]
    assert main(["plan", "smoke", "--trials"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("lab_db1 ")]
    assert [words[1] for words in lines] == [str(number) for number in range(1, 10)]
    assert [words[2] for words in lines] == planned


def test_plan_of_platforms_in_turns_says_so_and_lists_their_trials_together(capsys: Output) -> None:
    chosen = ["plan", "retail", "--guess", "--scale", "smoke", "--sweep", "full_scan"]
    assert main([*chosen, "--json"]) == 0
    turns = json.loads(capsys.readouterr().out)["turns"]
    both = ["--platform", "lab_retail_native", "--platform", "lab_db1", "--platform", "lab_db2"]
    assert main([*chosen, *both, "--trials"]) == 0
    said = capsys.readouterr().out
    assert (
        "lab_db1, lab_db2: in turns: taken and set up in this order, then measured one trial at a time on all of them, "
        "and released when the last of 8 trials has ended"
    ) in said
    lines = [line.split() for line in said.splitlines() if re.match(r"lab_\w+ +\d+ ", line)]
    assert [[platform, trial] for platform, _, trial, *_ in lines[:8]] == turns
    assert [words[1] for words in lines] == [*map(str, range(1, 9)), *map(str, range(1, 5))]
    assert {words[0] for words in lines[8:]} == {"lab_retail_native"}


def test_choices_on_the_command_line_are_those_of_the_form(capsys: Output) -> None:
    chosen = ["--scale", "full", "--sweep", "concurrency", "--sweep", "index_build", "--concurrency", "50"]
    assert main(["plan", "key_value", *chosen, "--concurrency", "200", "--repetitions", "1", "--json"]) == 0
    trials = json.loads(capsys.readouterr().out)["trials"]["lab_db1"]
    assert {trial["sweep"] for trial in trials} == {"concurrency", "index_build"}
    assert {trial["levels"]["clients"] for trial in trials if trial["sweep"] == "concurrency"} == {50, 200}
    assert {trial["repetition"] for trial in trials} == {1}


def test_plan_of_a_rehearsal_says_what_sizes_become_and_data_beside_memory(capsys: Output) -> None:
    chosen = ["--rehearse", "4000", "--platform", "lab_retail_native", "--platform", "lab_db1"]
    assert main(["plan", "retail", *chosen]) == 0
    said = capsys.readouterr().out.replace(THIN_SPACE, " ")
    assert "rehearsal_4000 scale" in " ".join(said.split())
    assert "  full_scan: rows 8,400,000,000 -> 2,100,000\n" in said
    assert (
        "lab_retail_native: largest data 1.47 GB on 2 GiB of memory, 0.685 : 1; native at full scale 5.88 TB on "
        in said
    )
    assert "lab_db1: largest data 1.47 GB; its file declares no memory, and the lab limits none" in said
    assert main(["plan", "retail", *chosen, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["rehearsal"]
    assert told["divided_by"] == 4000
    assert told["memory"]["lab_retail_native"]["paper"]["memory_bytes"] == 4 * 96 * 2**30


def test_plan_of_no_rehearsal_says_nothing_of_one(capsys: Output) -> None:
    assert main(["plan", "smoke"]) == 0
    assert "rehears" not in capsys.readouterr().out


def test_a_rehearsal_of_another_scale_is_refused(capsys: Output) -> None:
    said = refused(capsys, "plan", "retail", "--scale", "smoke", "--rehearse", "10")
    assert "10 divides the sizes of scale 'full', and the chosen scale is 'smoke'" in said


def test_a_week_has_no_rehearsal(capsys: Output) -> None:
    assert "--rehearse is a choice of one experiment" in refused(capsys, "run", "weekly", "--rehearse", "10")


def test_plan_judges_the_placement_as_the_page_about_it_shows(capsys: Output) -> None:
    assert main(["plan", "terasort", "--scale", "full", "--platform", "hadoop_vm2"]) == 0
    said = capsys.readouterr().out
    page = (ROOT / "docs/placement.md").read_text().split("```\n")[1]
    assert said.endswith(f"\n{page}")


def test_plan_as_json_has_placement_and_judgements_of_each_platform(capsys: Output) -> None:
    chosen = ["--platform", "density_base", "--platform", "vm2", "--platform", "lab_db1"]
    assert main(["plan", "retail", "--scale", "full", "--json", *chosen]) == 0
    placements = json.loads(capsys.readouterr().out)["placements"]
    assert placements["lab_db1"] is None
    assert placements["vm2"]["host"] == {"cpus": 8, "memory_gib": 46, "data_disks": 8}
    assert (placements["density_base"]["density"], placements["density_base"]["machines"]) == ("base", 2)
    levels = {judged["rule"]: judged["level"] for judged in placements["density_base"]["judgements"]}
    assert levels["no oversubscription"] == "mind"


def test_plan_touches_no_host(project: Path, capsys: Output) -> None:
    """There is no lab, and so no address of any host."""
    assert not (project / "lab").exists()
    assert main(["plan", "key_value"]) == 0
    assert not (project / "lab").exists()
    assert re.search(
        r"time of the trials   \d+ min guess; all are guesses: no archive could be read: .*connections.json: no such "
        "file",
        capsys.readouterr().out,
    )


def test_plan_says_by_sweep_what_the_cells_need(capsys: Output) -> None:
    """Few lines for 40 cells; --cells has them all."""
    chosen = [
        "plan",
        "key_value",
        "--platform",
        "greenplum_cluster",
        "--scale",
        "full",
        "--sweep",
        "statement",
        "--guess",
    ]
    assert main(chosen) == 0
    said = capsys.readouterr().out
    (row,) = (line for line in said.splitlines() if line.startswith(" statement "))
    assert row.split()[1:3] == ["40", "200"]
    assert "651.9 MB" in row
    assert row.split()[-1] == "guess"
    assert "disk of segment (4 hosts, each): " in said
    assert main([*chosen, "--cells"]) == 0
    listed = capsys.readouterr().out
    assert len(re.findall(r"^ statement: \w.* guess *$", listed, re.MULTILINE)) == 40


def test_plan_refuses_with_number_and_remedy_and_says_so_by_its_status(project: Path, capsys: Output) -> None:
    file = project / "include/platforms/order_entry_native.yaml"
    file.write_text(file.read_text().replace('max_connections: "1250"', 'max_connections: "600"'))
    chosen = ["plan", "order_entry", "--platform", "order_entry_native", "--scale", "full", "--guess"]
    assert main(chosen) == 1
    said = capsys.readouterr().out
    assert "REFUSED: 1 of 11" in " ".join(said.split())
    assert (
        "order_entry_native: REFUSED (clients: 1024 clients; utilisation: 77 % CPU; utilisation: 85 % CPU; and 2 other "
        "cells): 1,024 sessions on the server at once, and it takes 597 (max_connections 600 in its file, less 3 for "
        "superusers); "
    ) in said
    assert main([*chosen, "--json"]) == 1
    (refused,) = json.loads(capsys.readouterr().out)["estimates"][0]["refused"]
    utilised = [f"utilisation.cpu_percent_{level}" for level in (77, 85, 90, 91)]
    assert refused["cells"] == ["clients.clients_1024", *utilised]


# What is wrong.


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["plan", "key_valu"], "unknown experiment 'key_valu'; did you mean 'key_value'? Allowed: "),
        (["plan", "../key_value"], "unknown experiment '../key_value'; did you mean 'key_value'?"),
        (["plan", "smoke", "--platform", "lab_db"], "unknown platform 'lab_db'; did you mean 'lab_db"),
        (["plan", "smoke", "--platform", "$(id)"], "platforms.0: String should match pattern"),
        (["plan", "smoke", "--sweep", "lookup"], "sweeps: unknown sweep 'lookup'; did you mean 'lookups'?"),
        (["plan", "smoke", "--concurrency", "7"], "concurrency: level 7 is not in the experiment at this scale"),
        (["plan", "smoke", "--repetitions", "-1"], "repetitions: must be greater than or equal to 0, found -1"),
        (["plan", "smoke", "--seed", "-1"], "seed: must be greater than or equal to 0, found -1"),
        (["run", "smok"], "unknown experiment 'smok'; did you mean 'smoke'?"),
        (["run", "smoke", "--concurrency", "7"], "concurrency: level 7 is not in the experiment at this scale"),
        (["run", "smoke", "--part"], "--part, --only and --confirm-hours are choices of 'weekly', not of 'smoke'"),
        (
            ["run", "weekly", "--platform", "lab_db1"],
            "--platform is a choice of one experiment; allowed for a weekly run are --s",
        ),
        (["run", "weekly", "--only", "smok"], "--only: unknown experiment 'smok'; did you mean 'smoke'?"),
        (["release", "lab_db", "smoke/x"], "unknown platform 'lab_db'; did you mean 'lab_db"),
    ],
)
def test_mistake_is_told_in_a_sentence(project: Path, capsys: Output, arguments: list[str], said: str) -> None:
    assert said in refused(capsys, *arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["verify", "smoke/x"],
        ["results", "smoke/x"],
        ["report", "smoke/x"],
        ["compare", "x", "y"],
        ["release", "lab_db1", "x"],
    ],
)
def test_absent_lab_is_told_with_what_to_do(project: Path, capsys: Output, arguments: list[str]) -> None:
    said = refused(capsys, *arguments)
    assert "connections.json: no such file" in said
    assert "make up" in said


def test_mistake_in_the_file_of_an_experiment_is_told_before_anything_is_started(project: Path, capsys: Output) -> None:
    smoke = project / "dags/experiments/smoke.yaml"
    smoke.write_text(smoke.read_text().replace("seed: 7", "sede: 7"))
    said = refused(capsys, "run", "smoke")
    assert "sede: unknown key; did you mean 'seed'?" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["plam"], "invalid choice: 'plam'"),
        (["plan"], "the following arguments are required: EXPERIMENT"),
        (["plan", "smoke", "--scale", "huge"], "invalid choice: 'huge' (choose from 'smoke', 'laptop', 'full')"),
        (["plan", "smoke", "--seed", "x"], "argument --seed: invalid int value: 'x'"),
        (["plan", "smoke", "--sede", "1"], "unrecognized arguments: --sede"),
        (["list", "--limit", "0"], "argument --limit: '0' is not a whole number of 1 or more"),
    ],
)
def test_misuse_shows_how_it_is_used(capsys: Output, arguments: list[str], said: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith("usage: clusterbench")
    assert said in err


def test_help_names_every_command(capsys: Output) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    for command in (
        "lint",
        "plan",
        "run",
        "list",
        "verify",
        "results",
        "compare",
        "report",
        "release",
        "pools",
        "bench",
        "lab",
    ):
        assert re.search(rf"^ +{command} +\S", said, re.MULTILINE), command


def test_program_ends_with_the_status_and_no_traceback(project: Path) -> None:
    """The installed program itself, in a process of its own."""
    program = Path(sys.executable).with_name("clusterbench")
    done = subprocess.run([program, "plan", "smok"], env=dict(os.environ), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("clusterbench: unknown experiment 'smok'; did you mean 'smoke'?")
    assert "Traceback" not in done.stderr


# Figures for people.


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0 B"),
        (999_999, "999,999 B"),
        (1_000_000, "1.0 MB"),
        (798_000_000, "798.0 MB"),
        (1_288_770_000_000, "1.3 TB"),
    ],
)
def test_bytes_are_said_short(count: int, said: str) -> None:
    assert bytes_said(count) == said


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.4, "0 s"), (119, "119 s"), (120, "2 min"), (7199, "120 min"), (7200, "2.0 h")]
)
def test_durations_are_said_short(seconds: float, said: str) -> None:
    assert duration_said(seconds) == said
