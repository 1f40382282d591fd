"""What the owner declared."""
