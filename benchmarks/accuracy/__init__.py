"""How far off answers are at the same total budget: PrivQL beside its peers, on the same invented data."""
