"""Which files a path to a dataset means."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from scalerl.errors import InputError

JSON_LINES = (".jsonl", ".ndjson", ".json")
KINDS = (*JSON_LINES, ".parquet", ".arrow")
SHARDS = (".jsonl", ".ndjson", ".parquet", ".arrow")  # in a folder .json files hold facts about it, not rows
SPLITS = {"train", "test", "validation", "valid", "val", "dev", "eval"}


def files(path: str) -> Sequence[Path]:
    """The files of a dataset in order: of a file, a pattern such as `train-*.parquet`, or a folder."""
    place = Path(path)
    if place.is_dir():
        return _of_folder(place)
    if place.is_file():
        return _known([place])
    found = sorted(place.parent.glob(place.name)) if "*" in place.name else []
    if not found:
        raise InputError("there is no such file or folder", file=path)
    return _known(found)


def _of_folder(folder: Path) -> Sequence[Path]:
    if (folder / "dataset_dict.json").is_file():
        splits = sorted(one.name for one in folder.iterdir() if one.is_dir())
        raise InputError(f"holds the splits {', '.join(splits)}; name one of them as its own folder", file=folder)
    if (folder / "state.json").is_file():
        return _saved_to_disk(folder)
    found = _shards(folder) or _shards(folder / "data")
    if not found:
        raise InputError(f"holds no dataset: no state.json and no {', '.join(SHARDS)} files", file=folder)
    _refuse_several("kinds of files", {one.suffix for one in found}, folder)
    _refuse_several("splits", {_first_word(one) for one in found} & SPLITS, folder)
    return found


def _saved_to_disk(folder: Path) -> Sequence[Path]:
    # What `save_to_disk` of Hugging Face datasets writes: the state names the arrow files in their order.
    try:
        named = json.loads((folder / "state.json").read_text(encoding="utf-8"))["_data_files"]
        found = [folder / one["filename"] for one in named]
    except (ValueError, KeyError, TypeError):
        raise InputError("is no state of a Hugging Face dataset", file=folder / "state.json") from None
    return _known(found)


def _shards(folder: Path) -> list[Path]:
    return sorted(one for one in folder.glob("*") if one.suffix in SHARDS)


def _first_word(file: Path) -> str:
    return re.split(r"[-_.]", file.name)[0]


def _known(found: Sequence[Path]) -> Sequence[Path]:
    for file in found:
        if file.suffix not in KINDS:
            raise InputError(f"is of no kind that can be read; expected {', '.join(KINDS)}", file=file)
        if not file.is_file():
            raise InputError("is missing from the dataset", file=file)
    return found


def _refuse_several(what: str, found: Iterable[str], folder: Path) -> None:
    if len(names := sorted(found)) > 1:
        example = folder / f"{names[-1]}*"
        raise InputError(
            f"holds several {what}: {', '.join(names)}; name the files, such as {example}", file=folder
        )
