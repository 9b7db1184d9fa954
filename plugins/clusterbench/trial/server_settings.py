"""Settings of the servers as factors (``server.shared_buffers``): set for a trial, read back, and put back after it.

Those of Hadoop's jobs go with these, and what they have run with is read with the rest of their output. Those of its
daemons are set as a database's are.

Trials of the values that are compared are neighbours in time, so that drift of the machine lies on all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clusterbench.base.errors import EngineError
from clusterbench.base.factors import SERVER, Level, server_settings
from clusterbench.base.records import Trial
from clusterbench.engines import Engine
from clusterbench.spec import Platform, leave
from clusterbench.workloads import SubmitsJobs, Workload, load_workload


def why_not(levels: Mapping[str, Level], platform: Platform, workload: Workload) -> str:
    """Why a platform's file does not let them be set; empty where it does, or where there are none."""
    if not (wanted := server_settings(levels)):
        return ""
    if isinstance(workload, SubmitsJobs):
        return "; ".join(filter(None, (workload.why_not_given(name, platform) for name in wanted)))
    if not platform.database:
        return (
            f"{', '.join(wanted)}: settings of servers are factors of databases and of workloads of Hadoop; the "
            f"platform names no database, and {workload.title} submits no job"
        )
    if not platform.database_hosts:
        return f"{', '.join(wanted)}: are written into the server's files, and the platform names no host of a database"
    return leave.why_not(platform, "engine_settings", "restart")


def have(trial: Trial, engine: Engine) -> dict[str, str]:
    """The servers with the trial's settings, restarted where one is read at start only. Returns them as read back.

    Without those that go with jobs, which do not run yet.
    Raises EngineError where a server says another value than was asked for.
    """
    if not (wanted := _of_servers(trial)):
        return {}
    engine.configure(wanted)
    found = engine.settings(wanted)
    if wrong := {name: found.get(name) for name, value in wanted.items() if found.get(name) != value}:
        said = ", ".join(f"{name} is {value!r}, asked for was {wanted[name]!r}" for name, value in wrong.items())
        raise EngineError(
            f"{said}; write a level as the server shows it ('1GB', not '1024MB'), and check whether another file, "
            "'ALTER SYSTEM' or the start of a daemon overrides it"
        )
    return found


def _of_servers(trial: Trial) -> dict[str, str]:
    """Without those that go with the trial's jobs."""
    if not (wanted := server_settings(trial.levels)):
        return {}
    workload = load_workload(trial.workload)
    if not isinstance(workload, SubmitsJobs):
        return wanted
    return {name: value for name, value in wanted.items() if not workload.goes_with_jobs(name)}


def put_back(trials: Sequence[Trial], engine: Engine) -> None:
    """As the platform's file has them, at once for all trials; nothing where none of these asked for any."""
    if any(map(_of_servers, trials)):
        engine.configure({})


def in_turns(trials: Sequence[Trial]) -> list[Trial]:
    """Trials that differ in such settings alone one after the other, where the first of them was; else as they are."""
    turns: dict[tuple[object, ...], list[Trial]] = {}
    for trial in trials:
        turns.setdefault(turn_of(trial) or (trial.id,), []).append(trial)
    return [trial for turn in turns.values() for trial in turn]


def turn_of(trial: Trial) -> tuple[object, ...] | None:
    """What trials have in common that differ in such settings alone; None where it has none, or is part of a ramp."""
    if not server_settings(trial.levels) or trial.ramp or not trial.makes_result:
        return None
    others = sorted((name, str(level)) for name, level in trial.levels.items() if not name.startswith(SERVER))
    return trial.sweep, trial.repetition, *others
