"""What people say of runs and days."""

from alembic import op

from clusterbench.history.database import run_file

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    for name in ("0003_remarks", "0003_views"):
        run_file(op.get_bind().connection.driver_connection, name)


def downgrade() -> None:
    run_file(op.get_bind().connection.driver_connection, "0003_down")
