-- Plans of statements. A plan is kept once, by what it is without estimates and parameters; and so is what a cell's
-- statements had together: runs of years share a few of either.

CREATE TABLE plans (
    fingerprint       text PRIMARY KEY,
    plan              text NOT NULL                  -- of the run that had it first, estimates and all
);

CREATE TABLE plan_sets (
    plan_set          text PRIMARY KEY,              -- SHA-256 of its JSON
    fingerprints      json NOT NULL                  -- statement -> fingerprint
);

ALTER TABLE results ADD plan_set text REFERENCES plan_sets;  -- absent where its statements have no plans
