"""Names, types, domains, labels and releases: every refusal with its repair."""
