"""What comes out of a program, taken until it ends, is late or has said too much."""

from __future__ import annotations

import os
import select
import socket
import time


class Watch:
    """A running program's pipes and its end."""

    def __init__(self, child: int, pipes: list[int], most_bytes: int) -> None:
        self.parts = [bytearray() for _ in pipes]
        self._parts = dict(zip(pipes, self.parts, strict=True))
        self._left = most_bytes
        self._end = os.pidfd_open(child)

    def until(self, deadline: float, connection: socket.socket) -> str:
        """Why it has to be stopped: "time" or "output"; empty where it ended by itself."""
        asker = connection.fileno()
        poll = select.poll()
        for one in (*self._parts, self._end, asker):
            poll.register(one, select.POLLIN)
        while (left := deadline - time.monotonic()) > 0:
            ready = [one for one, _ in poll.poll(left * 1000 + 1)]
            if asker in ready:
                raise EOFError("whoever asked is gone")
            if self._end in ready:
                return ""
            for one in ready:
                if not self._take(one):
                    poll.unregister(one)
            if self._left < 0:
                return "output"
        return "time"

    def drain(self) -> str:
        """Take what an ended program left in its pipes."""
        for one in self._parts:
            while self._left >= 0 and self._take(one):
                pass
        return "output" if self._left < 0 else ""

    def _take(self, pipe: int) -> bool:
        part = os.read(pipe, 1 << 16)
        self._parts[pipe] += part[: max(self._left, 0)]
        self._left -= len(part)
        return bool(part)
