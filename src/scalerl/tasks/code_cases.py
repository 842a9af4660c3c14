"""Tests as the datasets write them: texts for a program, or calls of a function with what they return."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from scalerl.tasks.code_suite import Suite, Trial
from scalerl.tasks.same_output import parsed

_NAME = re.compile(r"[^\W\d]\w*")


def own(tests: Any, entry: str) -> Suite:  # noqa: ANN401 - as a file has it
    """Ours: objects with stdin and stdout, or with arguments and result where there is an entry."""
    keys = ("arguments", "result") if entry else ("stdin", "stdout")
    trials: list[Trial] = []
    for at, test in enumerate(_listed(tests), start=1):
        _need(test, keys, at)
        given, expected = test[keys[0]], test[keys[1]]
        if entry:
            _refuse_unless(isinstance(given, list), f"test {at} has no list as 'arguments'")
            trials.append(_call(given, expected, at))
        else:
            trials.append(_program(given, expected, at))
    return Suite(trials=tuple(trials), entry=_named(entry))


def listed(tests: Any, entry: str) -> Suite:  # noqa: ANN401
    """A list of objects with input and output, as DeepCoder and LiveCodeBench have them.

    The name of a function stands in `fn_name` or `metadata.func_name` of a test, or it is the row's; tests of the
    type `stdin` or `stdin_stdout` have none.
    """
    found = _listed(tests)
    for at, test in enumerate(found, start=1):
        _need(test, ("input", "output"), at)
    names = {_entry_of(test, entry) for test in found}
    _refuse_unless(len(names) == 1, "mixes calls of functions, or calls and programs; expected one kind of test")
    pairs = [(test["input"], test["output"]) for test in found]
    return _paired(pairs, names.pop())


def columns(tests: Any) -> Suite:  # noqa: ANN401
    """Lists of inputs and of outputs in one object, as APPS and TACO have them, with fn_name for calls."""
    _refuse_unless(isinstance(tests, dict), "has tests that are no object; expected inputs, outputs, maybe fn_name")
    _need(tests, ("inputs", "outputs"), None)
    inputs, outputs = tests["inputs"], tests["outputs"]
    _refuse_unless(
        isinstance(inputs, list) and isinstance(outputs, list),
        "has inputs or outputs that are no list; expected one element a test",
    )
    problem = f"has {len(inputs)} inputs and {len(outputs)} outputs"
    _refuse_unless(len(inputs) == len(outputs), f"{problem}; expected as many of each")
    _refuse_unless(bool(inputs), "has no tests; expected at least one")
    return _paired(list(zip(inputs, outputs, strict=True)), str(tests.get("fn_name") or ""))


def any_shape(tests: Any, entry: str) -> Suite:  # noqa: ANN401
    """Whichever of the two the tests are: an object with lists, or a list of objects."""
    return columns(tests) if isinstance(tests, dict) else listed(tests, entry)


def _paired(pairs: Sequence[tuple[Any, Any]], entry: str) -> Suite:
    if not entry:
        trials = [_program(given, expected, at) for at, (given, expected) in enumerate(pairs, start=1)]
        return Suite(trials=tuple(trials))
    are_texts = all(isinstance(given, str) for given, _ in pairs)
    make = _call_of_lines if are_texts else _call_of_values
    made = [make(given, expected, at) for at, (given, expected) in enumerate(pairs, start=1)]
    return Suite(trials=tuple(made), entry=_named(entry), may_be_wrapped=not are_texts)


def _program(given: Any, expected: Any, at: int) -> Trial:  # noqa: ANN401
    return Trial(given=_text(given, "input", at), expected=_text(expected, "output", at))


def _call(given: list[Any], expected: Any, at: int) -> Trial:  # noqa: ANN401
    text = json.dumps(expected)
    _refuse_unless(_is_json(text, parsed), f"test {at} has {text:.40} as result; expected fewer lists in lists")
    return Trial(given=_arguments(json.dumps(given), at), expected=text)


def _call_of_values(given: Any, expected: Any, at: int) -> Trial:  # noqa: ANN401
    problem = f"test {at} has {given!r:.40} as input; expected a list of arguments"
    _refuse_unless(isinstance(given, list), problem)
    return _call(given, expected, at)


def _call_of_lines(given: str, expected: Any, at: int) -> Trial:  # noqa: ANN401
    """LiveCodeBench's way: one argument a line and what is returned, each in JSON; the text is kept as it is."""
    lines = given.rstrip("\n").split("\n") if given.strip() else []
    for line in lines:
        problem = f"test {at} has the argument {line!r:.40}; expected JSON, one argument a line"
        _refuse_unless(_is_json(line, json.loads), problem)
    is_json = isinstance(expected, str) and _is_json(expected, parsed)
    _refuse_unless(is_json, f"test {at} has {expected!r:.40} as output; expected JSON text")
    return Trial(given=_arguments(f"[{', '.join(lines)}]", at), expected=expected)


def _arguments(text: str, at: int) -> str:
    _refuse_unless(_is_json(text, parsed), f"test {at} has {text:.40} as arguments; expected fewer lists in lists")
    return text


def _text(value: Any, name: str, at: int) -> str:  # noqa: ANN401
    """Text as it is, lines of text joined, a number written out."""
    match value:
        case str():
            return value
        case list() if all(isinstance(line, str) for line in cast("list[object]", value)):
            return "\n".join(cast("list[str]", value))
        case int() | float() if not isinstance(value, bool):
            return str(value)
        case _:
            raise ValueError(f"test {at} has {value!r:.40} as {name}; expected text, or a list of lines")


def _entry_of(test: Mapping[str, Any], entry: str) -> str:
    kind = str(test.get("testtype") or test.get("type") or "")
    metadata = test.get("metadata")
    inner = cast("dict[str, Any]", metadata).get("func_name") if isinstance(metadata, dict) else None
    found = test.get("fn_name") or inner or entry
    if kind in ("functional", "function_call"):
        _refuse_unless(bool(found), "calls a function but does not name it; expected fn_name or metadata.func_name")
        return str(found)
    return "" if kind.startswith("stdin") else str(found)


def _listed(tests: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    _refuse_unless(isinstance(tests, list), f"has {tests!r:.40} as tests; expected a list of objects")
    found = cast("list[object]", tests)
    _refuse_unless(bool(found), "has no tests; expected at least one")
    for at, test in enumerate(found, start=1):
        _refuse_unless(isinstance(test, dict), f"test {at} is {test!r:.40}; expected an object")
    return cast("list[dict[str, Any]]", found)


def _need(test: Mapping[str, Any], keys: Sequence[str], at: int | None) -> None:
    for key in keys:
        where = "has" if at is None else f"test {at} has"
        _refuse_unless(key in test, f"{where} no {key!r}, but {', '.join(map(str, test)) or 'nothing'}")


def _named(entry: str) -> str:
    _refuse_unless(_NAME.fullmatch(entry) or not entry, f"calls {entry!r:.40}; expected the name of a function")
    return entry


def _is_json(text: str, read: Callable[[str], Any]) -> bool:
    try:
        read(text)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse_unless(is_right: object, problem: str) -> None:
    if not is_right:
        raise ValueError(problem)
