"""Plans of statements."""

from alembic import op

from clusterbench.history.database import run_file

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    for name in ("0002_plans", "0002_views"):
        run_file(op.get_bind().connection.driver_connection, name)


def downgrade() -> None:
    op.execute("DROP VIEW plans_over_time")
    op.execute("ALTER TABLE results DROP COLUMN plan_set")
    op.execute("DROP TABLE plan_sets")
    op.execute("DROP TABLE plans")
