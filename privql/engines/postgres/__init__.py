"""What PostgreSQL is told: every operation total, since the server knows no TRY."""
