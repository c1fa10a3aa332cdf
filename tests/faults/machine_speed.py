"""How fast this machine is just now: work that is always the same, in CPU time.

Waiting for a core does not count, but a slower clock, and others in caches and on the memory bus do.
"""

import time

LOOPS = 100_000
COPIED = bytearray(16 << 20)
TARGET = bytearray(len(COPIED))


def milliseconds(work):
    begin = time.thread_time()
    work()
    return 1e3 * (time.thread_time() - begin)


def copy():
    TARGET[:] = COPIED


def machine_speed():
    return {"loop_ms": milliseconds(lambda: sum(range(LOOPS))), "copy_ms": milliseconds(copy)}
