"""Whether a query keeps what is claimed of it, tried from the policy alone: `privql audit QUERY`.

Three layers, each of which knows less than the one before. On every small database what is exact moves between
neighbours no farther than the kernel says (`brute`). With the noise held still, the whole house tells neighbours apart
by nothing (`replay`). Many answers, looked at from outside, exclude no ε that is claimed (`black_box`). `faults` are
there to be found.
"""

from __future__ import annotations
