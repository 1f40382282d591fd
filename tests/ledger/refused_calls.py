"""Linux may be asked to refuse a process some of its calls: so a disk fails for it, for good and in earnest."""

from __future__ import annotations

import ctypes
import platform
import struct
import sys

MACHINE = platform.machine()
SYNC = {"x86_64": (74, 75), "aarch64": (82, 83)}.get(MACHINE, ())  # fsync, fdatasync
WRITE = {"x86_64": (18, 77, 285), "aarch64": (68, 46, 47)}.get(MACHINE, ())  # pwrite64, ftruncate, fallocate
POSSIBLE = sys.platform == "linux" and bool(SYNC)

_NO_NEW_PRIVILEGES, _SET_FILTER, _FILTER = 38, 22, 2
_LOAD_NUMBER, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ERROR, _ALLOW = 0x0005_0000, 0x7FFF_0000


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]


def refuse(calls: tuple[int, ...], error: int) -> None:
    """From now on each of these calls fails with this error."""
    steps = [(_LOAD_NUMBER, 0, 0, 0)]
    for call in calls:
        steps += [(_IF_EQUAL, 0, 1, call), (_RETURN, 0, 0, _ERROR | error)]
    steps.append((_RETURN, 0, 0, _ALLOW))
    kept = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in steps))
    program = _Program(len(steps), ctypes.addressof(kept))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(_SET_FILTER, _FILTER, ctypes.byref(program)):
        raise OSError(ctypes.get_errno(), "the kernel takes no filter")
