"""Whether what is computed is what is claimed: `reference` says in Python what the terms of the kernel mean."""
