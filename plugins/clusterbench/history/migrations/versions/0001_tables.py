"""Tables and views."""

from alembic import op

from clusterbench.history.database import run_file

revision = "0001"
down_revision = None


def upgrade() -> None:
    for name in ("0001_tables", "0001_views"):
        run_file(op.get_bind().connection.driver_connection, name)
