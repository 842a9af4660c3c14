"""A trainer's state in shards: each rank writes its own, any number of ranks reads them back.

Files are safetensors, whose headers say which part of a weight they hold; no pickle is written or read.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torch.distributed.checkpoint import state_dict_loader, state_dict_saver
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter
from torch.distributed.checkpoint.metadata import STORAGE_TYPES, TensorStorageMetadata

from scalerl.errors import InputError
from scalerl.trainer.step import Trainer

SHARDS = "trainer"
"""Folder of a checkpoint with one file a rank."""


def save(trainer: Trainer, folder: Path) -> None:
    """Write masters, moments and counts into a folder that is there and empty; called on every rank."""
    writer = HuggingFaceStorageWriter(str(folder), save_distributed=True)
    group = trainer.ranks.group
    state_dict_saver.save(trainer.state(), storage_writer=writer, process_group=group, no_dist=group is None)


def load(trainer: Trainer, folder: Path) -> None:
    """Go on exactly where `save` was called, with any number of ranks; called on every rank."""
    reader = HuggingFaceStorageReader(str(folder))
    kept = _tensors(reader.read_metadata().state_dict_metadata)
    _refuse_gaps(kept, folder)
    found = trainer.blank_state({name: one.size for name, one in kept.items()})
    group = trainer.ranks.group
    state_dict_loader.load(found, storage_reader=reader, process_group=group, no_dist=group is None)
    trainer.restore(found)


def _tensors(kept: Mapping[str, STORAGE_TYPES]) -> dict[str, TensorStorageMetadata]:
    return {name: one for name, one in kept.items() if isinstance(one, TensorStorageMetadata)}


def _refuse_gaps(kept: Mapping[str, TensorStorageMetadata], folder: Path) -> None:
    """The library reads what it finds; a lost file would leave random numbers where its shard was."""
    for name, one in kept.items():
        if sum(part.sizes.numel() for part in one.chunks) != one.size.numel():
            raise InputError(f"{name} is not whole: a file of the checkpoint is missing", file=folder)
