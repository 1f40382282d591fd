"""Where budget is spent, and never lost."""
