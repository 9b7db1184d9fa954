-- The history database: what finished archives say, for questions over time. Everything here can be made again from
-- object storage (`clusterbench history rebuild`), so nothing but the loader writes to it.
-- Rows of a run hang on "runs" and go with it. Full size: five years of weekly runs of 2,000 trials each, 520,000 trials.
-- What is asked for by its parts is jsonb; what is handed back whole, in the order in which it was written, is json.

CREATE TABLE runs (
    run               integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    experiment        text NOT NULL,
    run_id            text NOT NULL,
    title             text NOT NULL,
    scale             text NOT NULL,
    seed              bigint NOT NULL,
    is_valid          boolean NOT NULL,
    started_at        timestamptz NOT NULL,          -- asked for; the order of a series
    ended_at          timestamptz,                   -- of the last trial
    planned           integer NOT NULL,              -- trials
    completed         integer NOT NULL,
    dag_run_id        text NOT NULL,                 -- Airflow's id, for links
    opened            json NOT NULL,                 -- run.json: who started it, and what was chosen
    durability        json,                          -- as compare.py has it; absent where there are no results
    clusterbench      text NOT NULL,                 -- version
    url               text NOT NULL,                 -- in object storage
    manifest_sha256   text NOT NULL,                 -- of what was loaded
    UNIQUE (experiment, run_id)
);
CREATE INDEX runs_by_time ON runs (experiment, scale, started_at DESC);

-- Facts of a platform's hosts and engine as texts, as they are compared: without what a host has for itself, such as
-- its boot id. So platforms share a set exactly where comparing them finds no difference. Hosts that are alike share
-- one entry: {"engine": {fact: text}, "kinds": [{"roles": [role], "facts": {fact: text}}], "hosts": [[name, kind]]}.
CREATE TABLE fact_sets (
    fact_set          text PRIMARY KEY,              -- SHA-256 of its JSON
    facts             json NOT NULL
);

CREATE TABLE run_platforms (
    run               integer NOT NULL REFERENCES runs ON DELETE CASCADE,
    platform          text NOT NULL,
    position          integer NOT NULL,              -- the first is the reference
    fact_set          text NOT NULL REFERENCES fact_sets,
    declared          json NOT NULL,                 -- setting -> what the platform's file says of it
    durability        text NOT NULL,                 -- how it was traded away; empty: it was not
    PRIMARY KEY (run, platform)
);

-- Measurements and telemetry are in the trial's own row: a run has 2,000 trials, but 20,000 measurements of trials,
-- and what is asked for over time are results. The views trial_measurements and trial_telemetry have them line by line.
CREATE TABLE trials (
    run               integer NOT NULL REFERENCES runs ON DELETE CASCADE,
    platform          text NOT NULL,
    trial             text NOT NULL,
    map_index         integer NOT NULL,              -- of Airflow's mapped task, for links
    label             text NOT NULL,
    sweep             text NOT NULL,
    workload          text NOT NULL,
    cell              text NOT NULL,
    repetition        integer NOT NULL,
    levels            jsonb NOT NULL,
    outcome           text NOT NULL,                 -- or not_run
    reason            text NOT NULL,
    started_at        timestamptz,
    window_start_s    double precision,              -- epoch, the driver's clock
    window_end_s      double precision,
    samples           bigint NOT NULL,
    errors            bigint NOT NULL,
    measurements      jsonb NOT NULL,                -- name -> value
    telemetry         jsonb NOT NULL,                -- role -> {hosts, mean, highest}, each of metric -> value
    PRIMARY KEY (run, platform, trial)
);

-- A cell at one scale on one platform, whichever run measured it: what is followed over time.
CREATE TABLE series (
    series            integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    experiment        text NOT NULL,
    scale             text NOT NULL,
    platform          text NOT NULL,
    sweep             text NOT NULL,
    levels            jsonb NOT NULL,
    UNIQUE (experiment, scale, platform, sweep, levels)
);

CREATE TABLE results (
    run               integer NOT NULL REFERENCES runs ON DELETE CASCADE,
    series            integer NOT NULL REFERENCES series,
    position          integer NOT NULL,
    cell              text NOT NULL,
    label             text NOT NULL,
    planned           integer NOT NULL,
    completed         integer NOT NULL,
    outcomes          jsonb NOT NULL,
    reasons           jsonb NOT NULL,
    PRIMARY KEY (run, series)
);
CREATE INDEX results_by_series ON results (series, run) INCLUDE (planned);

CREATE TABLE result_measurements (
    series            integer NOT NULL,
    measurement       text NOT NULL,
    run               integer NOT NULL,
    unit              text NOT NULL,
    better            text NOT NULL,                 -- lower, higher, neither
    is_plotted        boolean NOT NULL,              -- the report draws it: followed by regression detection
    n                 integer NOT NULL,
    median            double precision NOT NULL,
    best              double precision NOT NULL,
    low_95            double precision,
    high_95           double precision,
    "values"          double precision[] NOT NULL,
    PRIMARY KEY (series, measurement, run) INCLUDE (n, median, low_95, high_95), -- a series' points, without its rows
    FOREIGN KEY (run, series) REFERENCES results ON DELETE CASCADE
);
CREATE INDEX result_measurements_by_run ON result_measurements (run, series);

-- Which measurements a series ever had, as the newest run that has them says it: or else every page would look through
-- a million results to find the few hundred things that are followed.
CREATE TABLE series_measurements (
    series            integer NOT NULL REFERENCES series,
    measurement       text NOT NULL,
    unit              text NOT NULL,
    better            text NOT NULL,
    is_plotted        boolean NOT NULL,
    label             text NOT NULL,
    last_at           timestamptz NOT NULL,          -- of that run
    last_run_id       text NOT NULL,
    PRIMARY KEY (series, measurement)
);

CREATE TABLE verdicts (
    run               integer NOT NULL REFERENCES runs ON DELETE CASCADE,
    position          integer NOT NULL,
    suite             text NOT NULL,
    check_number      integer NOT NULL,
    says              text NOT NULL,
    passed            boolean NOT NULL,
    is_critical       boolean NOT NULL,
    found             text NOT NULL,
    PRIMARY KEY (run, position)
);

-- The papers' numbers as of this version of clusterbench, loaded from include/published.
CREATE TABLE published_values (
    experiment        text NOT NULL,
    position          integer NOT NULL,
    sweep             text NOT NULL,
    measurement       text NOT NULL,
    platform          text,
    ratio_to          text,
    levels            jsonb NOT NULL,
    value             double precision NOT NULL,
    unit              text NOT NULL,
    qualifier         text NOT NULL,
    source            text NOT NULL,
    PRIMARY KEY (experiment, position)
);

-- A weekly run, from its own archive (weekly/<run id>/week.json and changes.json).
CREATE TABLE weeks (
    week              integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id            text NOT NULL UNIQUE,
    scale             text NOT NULL,
    started_at        timestamptz NOT NULL,
    dag_run_id        text NOT NULL,
    url               text NOT NULL,
    manifest_sha256   text NOT NULL
);

CREATE TABLE week_runs (
    week              integer NOT NULL REFERENCES weeks ON DELETE CASCADE,
    position          integer NOT NULL,
    experiment        text NOT NULL,
    run_id            text,                          -- absent: it never began
    dag_run_id        text NOT NULL,
    state             text NOT NULL,                 -- of the DAG run
    reason            text NOT NULL,                 -- empty where valid
    PRIMARY KEY (week, experiment)
);

CREATE TABLE changes (
    week              integer NOT NULL REFERENCES weeks ON DELETE CASCADE,
    position          integer NOT NULL,
    series            integer NOT NULL REFERENCES series,
    measurement       text NOT NULL,
    state             text NOT NULL,                 -- regression, improvement, …
    change            json NOT NULL,                 -- the whole entry as regressions.py wrote it
    PRIMARY KEY (week, position)
);

-- A level that a person accepted as the new normal (object _baselines/…): series are judged from that run on.
CREATE TABLE baselines (
    series            integer NOT NULL REFERENCES series,
    measurement       text NOT NULL,
    from_run_id       text NOT NULL,
    accepted_by       text NOT NULL,
    accepted_at       timestamptz NOT NULL,
    note              text NOT NULL,
    object            text NOT NULL,                 -- in object storage
    PRIMARY KEY (series, measurement, from_run_id)
);
