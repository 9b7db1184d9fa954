"""Everything over SSH: the fleet, detached jobs, the lease, settings, facts, conformance, telemetry."""
