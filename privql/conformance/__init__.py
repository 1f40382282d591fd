"""Whether an engine means what it should: every operation and every primitive, over hostile values, beside its meaning
in Python. Whoever adds an engine runs this: nothing that fails here may answer an analyst."""
