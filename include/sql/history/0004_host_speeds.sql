-- How fast the hosts of platforms are by themselves (objects _host_speeds/…).

CREATE TABLE host_speeds (
    object            text NOT NULL,                 -- in object storage
    platform          text NOT NULL,
    measured_at       timestamptz NOT NULL,
    run_id            text NOT NULL,                 -- of the run in whose set-up it was measured, or who did it by hand
    host              text NOT NULL,
    roles             text[] NOT NULL,
    measurement       text NOT NULL,                 -- the unit is in its name; higher is better
    value             double precision NOT NULL,
    PRIMARY KEY (object, host, measurement)
);
CREATE INDEX host_speeds_by_platform ON host_speeds (platform, measured_at);
