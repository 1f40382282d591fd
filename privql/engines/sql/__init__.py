"""From terms of the kernel to SQL, for any engine that speaks it: what differs, a `Dialect` says."""
