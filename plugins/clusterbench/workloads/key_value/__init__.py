"""Key-value lookups of JSON documents, and builds of their index (paper 001)."""
