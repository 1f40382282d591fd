"""Row functions: one declaration each."""
