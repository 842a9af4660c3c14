"""Messages over a stream socket: four bytes of length, then JSON."""

from __future__ import annotations

import json
import socket
import time
from typing import Any


def send(connection: socket.socket, message: dict[str, Any]) -> None:
    """Write one message."""
    payload = json.dumps(message).encode()
    connection.sendall(len(payload).to_bytes(4, "big") + payload)


def receive(connection: socket.socket, most_bytes: int = 1 << 30, deadline: float | None = None) -> dict[str, Any]:
    """Read one message; EOFError where the other side has ended, ValueError where it is no message.

    TimeoutError where it is not there as a whole at the deadline, a time of the monotonic clock.
    """
    length = int.from_bytes(_exactly(connection, 4, deadline), "big")
    if length > most_bytes:
        raise ValueError(f"a message of {length} bytes, at most {most_bytes} are taken")
    message = json.loads(_exactly(connection, length, deadline))
    if not isinstance(message, dict):
        raise ValueError("a message that is no object")
    return message


def _exactly(connection: socket.socket, length: int, deadline: float | None) -> bytes:
    parts: list[bytes] = []
    while length:
        if deadline is not None:
            connection.settimeout(max(deadline - time.monotonic(), 0.001))
        part = connection.recv(min(length, 1 << 20))
        if not part:
            raise EOFError("the other side has ended")
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
