"""TensorBoard event files, as OpenRLHF, SkyRL, NeMo RL, verl and TRL write them."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

from scalerl.errors import InputError
from scalerl.readers.choices import Choices
from scalerl.readers.points import listed
from scalerl.readers.trainer_log import Log, merged
from scalerl.scaling.curve import Curve

PATTERN = "*tfevents*"
_HEADER, _FOOTER = 12, 4
Events = Iterator[tuple[float | None, dict[str, object]]]


def event_files(folder: Path) -> list[Path]:
    """List the event files of one run, oldest first; a folder of several runs is an error."""
    depths = ("", "*/", "*/*/", "*/*/*/")  # trainers nest them this deep; a whole disk is not searched
    files = sorted(path for depth in depths for path in folder.glob(f"{depth}{PATTERN}") if path.is_file())
    folders = sorted({str(path.parent.relative_to(folder)) for path in files})
    if len(folders) > 1:
        raise InputError(f"holds event files of several runs, give one: {listed(folders)}", file=folder)
    return files


def curve(files: list[Path], choices: Choices, *, name: str) -> Curve:
    """Read the scalars of one run's event files."""
    warnings: list[str] = []
    rows = merged(chain.from_iterable(_scalars(path, warnings) for path in files))
    return Log(name=name, file=files[0], rows=rows, warnings=tuple(warnings)).curve(choices)


def _scalars(path: Path, warnings: list[str]) -> Events:
    try:
        event_pb2 = import_module("tensorboard.compat.proto.event_pb2")
        decode_error = import_module("google.protobuf.message").DecodeError
    except ImportError:
        raise InputError(
            "reading event files needs TensorBoard: pip install 'scalerl[tensorboard]'", file=path
        ) from None
    for record in _records(path, warnings):
        try:
            event: Any = event_pb2.Event.FromString(record)
        except decode_error:
            warnings.append(f"{path.name}: a damaged record is left out")
            continue
        if event.HasField("summary"):
            found = {str(value.tag): _scalar(value) for value in event.summary.value}
            yield float(event.step), {tag: number for tag, number in found.items() if number is not None}


def _records(path: Path, warnings: list[str]) -> Iterator[bytes]:
    """Yield the payloads of TFRecord frames: 8 bytes of length, 4 of checksum, the payload, 4 of checksum."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        while header := stream.read(_HEADER):
            length = struct.unpack("<Q", header[:8])[0] if len(header) == _HEADER else size
            if length + _FOOTER > size - stream.tell():
                warnings.append(f"{path.name}: the last record is torn and left out")
                return
            yield stream.read(length)
            stream.seek(_FOOTER, 1)


def _scalar(value: Any) -> float | None:  # noqa: ANN401  (messages get their fields when they are made)
    if value.HasField("simple_value"):
        return float(value.simple_value)
    if not value.HasField("tensor"):
        return None
    tensor = value.tensor
    if len(tensor.float_val) == 1:
        return float(tensor.float_val[0])
    if len(tensor.double_val) == 1:
        return float(tensor.double_val[0])
    if math.prod(axis.size for axis in tensor.tensor_shape.dim) == 1:
        # DT_FLOAT is 1, DT_DOUBLE is 2.
        packing = {1: "<f", 2: "<d"}.get(tensor.dtype)
        if packing and len(tensor.tensor_content) == struct.calcsize(packing):
            return float(struct.unpack(packing, tensor.tensor_content)[0])
    return None
