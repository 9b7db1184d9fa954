"""All rows of the history database without the numbers that it gave them itself."""

from __future__ import annotations

from typing import Any

from clusterbench.history.database import Database

SERIES = "series.experiment, scale, platform, sweep, levels"
OF_RUN = "runs.experiment, run_id"
QUERIES = {
    "runs": "SELECT to_jsonb(runs) - 'run' FROM runs",
    "fact_sets": "SELECT fact_set, facts::text FROM fact_sets",
    "plans": "SELECT * FROM plans",
    "plan_sets": "SELECT plan_set, fingerprints::text FROM plan_sets",
    "run_platforms": f"SELECT {OF_RUN}, to_jsonb(p) - 'run' FROM run_platforms p JOIN runs USING (run)",
    "trials": f"SELECT {OF_RUN}, to_jsonb(t) - 'run' FROM trials t JOIN runs USING (run)",
    "series": f"SELECT {SERIES} FROM series",
    "series_measurements": f"SELECT {SERIES}, to_jsonb(m) - 'series' "
    "FROM series_measurements m JOIN series USING (series)",
    "results": "SELECT r.experiment, run_id, platform, to_jsonb(t) - 'run' - 'series' "
    "FROM results t JOIN runs r USING (run) JOIN series USING (series)",
    "result_measurements": "SELECT r.experiment, run_id, platform, sweep, levels, to_jsonb(m) - 'run' - 'series' "
    "FROM result_measurements m JOIN runs r USING (run) JOIN series USING (series)",
    "verdicts": f"SELECT {OF_RUN}, to_jsonb(v) - 'run' FROM verdicts v JOIN runs USING (run)",
    "published_values": "SELECT to_jsonb(published_values) FROM published_values",
    "weeks": "SELECT to_jsonb(weeks) - 'week' FROM weeks",
    "week_runs": "SELECT weeks.run_id, to_jsonb(w) - 'week' FROM week_runs w JOIN weeks USING (week)",
    "changes": f"SELECT run_id, {SERIES.replace('scale', 'series.scale')}, to_jsonb(c) - 'week' - 'series' "
    "FROM changes c JOIN weeks USING (week) JOIN series USING (series)",
    "baselines": f"SELECT {SERIES}, to_jsonb(b) - 'series' FROM baselines b JOIN series USING (series)",
    "remarks": "SELECT to_jsonb(remarks) FROM remarks",
    "host_speeds": "SELECT to_jsonb(host_speeds) FROM host_speeds",
}


def content(db: Database) -> dict[str, list[Any]]:
    found = {name: sorted(map(str, db.execute(query).fetchall())) for name, query in QUERIES.items()}
    tables = {name for (name,) in db.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")}
    assert tables == {*QUERIES, "alembic_version"}
    return found
