# Logs of pgbench -> the epoch second in which the window begins: `ramp_up` whole seconds after the first transaction.
$3 ~ /^[0-9]+$/ { began = $5 * 1000000 + $6 - $3 + (throttled ? $7 : 0); if (!first || began < first) first = began }
END { if (first) printf "%.0f\n", int((first + 999999) / 1000000) + ramp_up }
