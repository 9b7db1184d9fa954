"""What a platform's file may be checked against, without importing the engine."""

from __future__ import annotations

from clusterbench.base.engine_declaration import EngineDeclaration

DECLARATION = EngineDeclaration(programs={"client": ("psql", "pgbench"), "etl": ("psql",)})
