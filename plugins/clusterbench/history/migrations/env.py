"""Alembic's environment: the connection, and its transaction, are those of ``database.migrate``."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
with context.begin_transaction():
    context.run_migrations()
