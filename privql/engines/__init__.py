"""Where exact aggregates are computed."""
