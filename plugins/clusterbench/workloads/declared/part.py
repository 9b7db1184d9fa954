"""An engine as one of several workloads sees it that run together: settings are of its own sessions alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from psycopg import sql

if TYPE_CHECKING:
    from clusterbench.base.plans import Prepared
    from clusterbench.engines import Database, Endpoint

NONE: Mapping[str, str] = {}


class OfPart:
    """Everything else is the engine's own."""

    def __init__(self, engine: Database) -> None:
        self.engine = engine
        self.own_settings: dict[str, str] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def set_session(self, settings: Mapping[str, str]) -> None:
        self.own_settings = dict(settings)

    def reset_session(self) -> None:
        self.own_settings = {}

    def endpoint(self, *, pooled: bool, settings: Mapping[str, str] = NONE) -> Endpoint:
        return self.engine.endpoint(pooled=pooled, settings={**self.own_settings, **settings})

    def explain(self, queries: Mapping[str, str | Prepared], *, before: str = "") -> dict[str, str]:
        said = [
            sql.SQL("SELECT set_config({}, {}, false)").format(name, value).as_string(None)
            for name, value in self.own_settings.items()
        ]
        return self.engine.explain(queries, before="; ".join([*said, *([before] if before else [])]))
