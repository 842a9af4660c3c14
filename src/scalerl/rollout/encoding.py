"""Between text and tokens: prompts through the chat template, and answers taken apart where thinking ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from scalerl.errors import InputError
from scalerl.recipe.lengths import Interruption, Length
from scalerl.recipe.sections import PromptFormat
from scalerl.records import Prompt
from scalerl.rollout.limits import Limits


class Encoder:
    """A tokenizer with the recipe's word on how to ask and where thinking ends."""

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, form: PromptFormat, model_stops: Sequence[int] = ()
    ) -> None:
        self.tokenizer, self._form = tokenizer, form
        self.close = self._only_token("prompt.think_close", form.think_close) if form.think_close else -1
        ends = [*model_stops, *([tokenizer.eos_token_id] if tokenizer.eos_token_id is not None else [])]
        ends += [self._only_token("prompt.stop", one) for one in form.stop]
        self.stops: tuple[int, ...] = tuple(sorted({int(cast(int, one)) for one in ends}))
        if form.system and not (form.chat_template and tokenizer.chat_template):
            raise InputError(
                "prompt.system is set; without a chat template nothing would say it, expected it empty"
            )
        if not self.stops:
            raise InputError("the tokenizer names no end token; set prompt.stop to the token that ends an answer")

    def limits(self, length: Length) -> Limits:
        """The budgets of a recipe in tokens of this tokenizer."""
        if not isinstance(length, Interruption):
            return Limits(answer=length.max_tokens, stops=self.stops, close=self.close)
        phrase = self._tokens(length.phrase.replace("{close}", self._form.think_close))
        unknown = self.tokenizer.unk_token_id
        if unknown is not None and unknown in phrase:
            raise InputError(f"length.phrase is {length.phrase!r}; the tokenizer does not know all of its words")
        if self.close not in phrase:
            raise InputError(f"length.phrase is {length.phrase!r}; expected it to hold {self._form.think_close!r}")
        return Limits(
            think=length.think_tokens,
            answer=length.answer_tokens,
            phrase=phrase,
            close=self.close,
            stops=self.stops,
        )

    def prompt(self, prompt: Prompt) -> NDArray[np.int32]:
        """The tokens that a policy is asked with."""
        found = self._tokens(self._asked(prompt.text))
        if not found:
            raise InputError(f"prompt {prompt.id} is empty")
        if self.tokenizer.unk_token_id is not None and self.tokenizer.unk_token_id in found:
            raise InputError(
                f"prompt {prompt.id} is {prompt.text[:60]!r}; the tokenizer does not know all of its words"
            )
        if len(found) > self._form.max_tokens:
            raise InputError(
                f"prompt {prompt.id} has {len(found)} tokens; "
                f"expected at most prompt.max_tokens = {self._form.max_tokens}"
            )
        return np.array(found, dtype=np.int32)

    def text(self, tokens: NDArray[np.int32]) -> str:
        """All of an answer as people read it, tags included."""
        return cast(str, self.tokenizer.decode(tokens.tolist(), skip_special_tokens=False))

    def parts(self, tokens: NDArray[np.int32]) -> tuple[str, str, bool]:
        """Thinking, answer, and whether thinking was closed; without tags all of it is the answer."""
        said = [one for one in tokens.tolist() if one not in self.stops]
        if self.close < 0:
            return "", self._decoded(said), True
        if self.close not in said:
            return self._decoded(said), "", False
        place = said.index(self.close)
        return self._decoded(said[:place]), self._decoded(said[place + 1 :]), True

    def _asked(self, text: str) -> str:
        if not (self._form.chat_template and self.tokenizer.chat_template):
            return text + self._form.opening
        messages = [{"role": "system", "content": self._form.system}] if self._form.system else []
        messages.append({"role": "user", "content": text})
        asked = self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        return cast(str, asked) + self._form.opening

    def _tokens(self, text: str) -> tuple[int, ...]:
        encoded: Any = self.tokenizer(text, add_special_tokens=False)
        return tuple(encoded["input_ids"])

    def _decoded(self, tokens: list[int]) -> str:
        return cast(str, self.tokenizer.decode(tokens, skip_special_tokens=True)).strip()

    def _only_token(self, key: str, tag: str) -> int:
        found = self._tokens(tag)
        if len(found) != 1 or found[0] == self.tokenizer.unk_token_id:
            raise InputError(
                f"{key} is {tag!r}; this tokenizer has no such token, expected a tag of one token "
                "(`scalerl warmstart` adds it to a model)"
            )
        return found[0]
