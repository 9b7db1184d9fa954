"""Plans of statements."""

from alembic import op

from clusterbench.history.database import run_file

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    for name in ("0002_plans", "0002_views"):
        run_file(op.get_bind().connection.driver_connection, name)


def downgrade() -> None:
    run_file(op.get_bind().connection.driver_connection, "0002_down")
