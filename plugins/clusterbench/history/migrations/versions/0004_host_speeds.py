"""How fast hosts are by themselves."""

from alembic import op

from clusterbench.history.database import run_file

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    run_file(op.get_bind().connection.driver_connection, "0004_host_speeds")


def downgrade() -> None:
    run_file(op.get_bind().connection.driver_connection, "0004_down")
