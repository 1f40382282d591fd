"""What each function means."""
