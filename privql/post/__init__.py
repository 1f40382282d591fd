"""SQL over what is already released or public."""
