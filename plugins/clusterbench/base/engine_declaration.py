"""What an engine says of itself, so that a platform's file can be checked before the engine is imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class EngineDeclaration:
    """``DECLARATION`` of the module ``engines/<name>/declaration.py``, which imports nothing slow."""

    programs: Mapping[str, Sequence[str]]
    """Role of a host -> the programs that it needs beside bash, which every host needs."""
    settings_from_templates: bool = False
    """Whether set-up always writes the servers' settings, whatever ``may`` says, and from templates of its own.

    Then a platform's file names only some of the settings, and any setting may be accepted as it is.
    """
