"""The command line: what a person types, read and answered; the work is done in the layers below."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn, cast

import typer

from scalerl.cli.unread import discard
from scalerl.errors import InputError, StoppedError

__all__ = ["main", "run"]

INTERRUPTED = 130
TRAINING = ("torch", "transformers", "safetensors", "tokenizers", "jaxtyping")
"""Packages that forecasting does without."""
# What typer raises for words it cannot place; the name itself is private to the typer of the day.
_UsageError = cast(type[Exception], typer.BadParameter.__mro__[1])


def main() -> NoReturn:
    """Run the command that stands on the command line."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command; the exit code is 0, 2 for what a person got wrong, 1 for what the system refused."""
    try:
        code = _run(list(arguments) or ["--help"])
        sys.stdout.flush()
        return code
    except InputError as error:
        return _refuse(str(error), 2)
    except StoppedError as error:
        return _refuse(str(error), 1)
    except ModuleNotFoundError as error:
        if error.name not in TRAINING:
            raise
        return _refuse(f"training needs {error.name}; pip install 'scalerl[train]'", 2)
    except BrokenPipeError:  # the reader has seen enough: `scalerl fit run.csv | head -3`
        discard(sys.stdout)
        return 1
    except OSError as error:
        return _refuse(f"{error.filename}: {error.strerror}" if error.filename else str(error), 1)
    except KeyboardInterrupt:
        return INTERRUPTED
    except _UsageError as error:
        return _refuse(_usage(cast(typer.BadParameter, error)), 2)


def _run(arguments: list[str]) -> int:
    from scalerl.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal without dashes gets question marks, not a traceback
            stream.reconfigure(errors="replace")  # pyright: ignore[reportAttributeAccessIssue]
    code: object = app(arguments, prog_name="scalerl", standalone_mode=False)
    return code if isinstance(code, int) else 0


def _refuse(message: str, code: int) -> int:
    print("error:", " ".join(message.split()), file=sys.stderr)
    return code


def _usage(error: typer.BadParameter) -> str:
    message = error.format_message().rstrip(".")
    where = f"; see {error.ctx.command_path} --help" if error.ctx else ""
    return message[:1].lower() + message[1:] + where
