"""What vLLM hands back for one submission, read strictly: nothing that is missing is made up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from scalerl.rollout.vllm.answering import Said
from scalerl.rollout.vllm.errors import VllmError
from scalerl.rollout.vllm.interface import LogProb, Output, Span


def said_of(output: Output | None) -> Said:
    """Tokens, log-probabilities and versions of a finished `vllm.RequestOutput`."""
    if output is None or not output.finished or len(output.outputs) != 1:
        raise VllmError("vLLM ended a submission without its one answer")
    found = output.outputs[0]
    if found.finish_reason not in ("stop", "length") or not found.token_ids:
        raise VllmError(
            f"vLLM ended an answer by {found.finish_reason!r} after {len(found.token_ids)} tokens; "
            "expected 'stop' or 'length' after at least one"
        )
    tokens = [int(one) for one in found.token_ids]
    return Said(
        tokens=tokens,
        log_probs=_log_probs(tokens, found.logprobs),
        versions=_versions(len(tokens), found.weight_versions),
    )


def _log_probs(tokens: list[int], entries: Sequence[Mapping[int, LogProb]] | None) -> list[float]:
    if entries is None or len(entries) != len(tokens):
        raise VllmError(f"vLLM sampled {len(tokens)} tokens without a log-probability for each")
    found = [one[token].logprob if token in one else math.nan for token, one in zip(tokens, entries, strict=True)]
    if not all(math.isfinite(one) for one in found):
        at = next(i for i, one in enumerate(found) if not math.isfinite(one))
        raise VllmError(f"the log-probability of token {at} is {found[at]}; expected a finite number")
    return [float(one) for one in found]


def _versions(length: int, spans: Sequence[Span] | None) -> list[int]:
    """One version a token, from spans that must cover all of them."""
    found: list[int] = []
    for span in spans or ():
        if span.start != len(found) or not str(span.version).isdigit():
            raise VllmError(f"vLLM says {span} of an answer whose first {len(found)} tokens are accounted for")
        found += [int(span.version)] * (span.end - span.start)
    if len(found) != length:
        raise VllmError(f"vLLM names the version of {len(found)} tokens out of {length}")
    return found
