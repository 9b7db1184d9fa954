"""Tables of keys, made from the models that check the YAML files."""

from __future__ import annotations

from clusterbench_docs.blocks import Kinds

KINDS: Kinds = {}
