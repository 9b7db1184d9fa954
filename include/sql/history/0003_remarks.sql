-- What people say (objects _remarks/…): notes of runs, events, and what is not to be judged by.

CREATE TABLE remarks (
    object            text PRIMARY KEY,              -- in object storage
    kind              text NOT NULL,                 -- note, event, withdrawn, put_back
    text              text NOT NULL,
    said_by           text NOT NULL,
    said_at           timestamptz NOT NULL,
    experiment        text NOT NULL,                 -- empty: all, of an event
    run_id            text NOT NULL,                 -- empty: of an event
    platform          text NOT NULL,                 -- empty: all
    cell              text NOT NULL,                 -- empty: all
    tags              text[] NOT NULL,
    happened_at       timestamptz                    -- of an event
);
CREATE INDEX remarks_by_run ON remarks (experiment, run_id);
