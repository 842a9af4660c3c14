"""AdamW over float32 master weights, with a linear warm-up and a bound on the gradient's norm.

A rate of 5e-7 vanishes in bfloat16 weights: the smallest step away from 1 is 4e-3 there. So each parameter that is
not float32 has a float32 master; gradients of micro-batches are added up, and AdamW works, in float32 alone.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor

from scalerl.errors import InputError
from scalerl.recipe import sections

MOMENTS = ("step", "exp_avg", "exp_avg_sq")
"""What AdamW remembers of each weight."""


class Optimizer:
    """AdamW over the masters of named parameters; knows how often it was called."""

    def __init__(self, parameters: Mapping[str, torch.nn.Parameter], knobs: sections.Optimizer) -> None:
        self._knobs = knobs
        self._parameters = dict(parameters)
        self._masters = {name: _master(one) for name, one in parameters.items()}
        self._copies = [
            (one, self._masters[name]) for name, one in parameters.items() if one.dtype != torch.float32
        ]
        self._adamw = torch.optim.AdamW(
            self._masters.values(),
            lr=knobs.rate,
            betas=knobs.betas,
            eps=knobs.eps,
            weight_decay=knobs.weight_decay,
            fused=True,
        )
        self.num_calls = 0

    @property
    def rate(self) -> float:
        """The rate of the next call: it rises linearly over the first calls and is constant after."""
        return self._knobs.rate * min(1.0, (self.num_calls + 1) / max(1, self._knobs.warmup_steps))

    def clear(self) -> None:
        """Forget every gradient."""
        for name, one in self._parameters.items():
            one.grad = None
            self._masters[name].grad = None

    @torch.no_grad()
    def accumulate(self) -> None:
        """Move what one backward pass left on parameters of low precision into float32 sums."""
        for one, master in self._copies:
            if one.grad is None:
                continue
            if master.grad is None:
                master.grad = one.grad.float()
            else:
                master.grad.add_(one.grad)
            one.grad = None

    def gradient_norm(self) -> Tensor:
        """Euclidean norm of the accumulated gradient over all weights, on the device."""
        norm = torch.nn.utils.get_total_norm(self._gradients())
        return norm.full_tensor() if isinstance(norm, DTensor) else norm  # of shards: over those of all ranks

    @torch.no_grad()
    def step(self, norm: float) -> bool:
        """Move the weights by the accumulated gradient, which has this norm; true where `max_norm` bounded it."""
        is_clipped = norm > self._knobs.max_norm
        if is_clipped:
            for gradient in self._gradients():
                gradient.mul_(self._knobs.max_norm / norm)
        self._adamw.param_groups[0]["lr"] = self.rate
        self._adamw.step()
        self.num_calls += 1
        self._publish()
        self.clear()
        return is_clipped

    def state(self) -> dict[str, Tensor]:
        """Masters, moments and counts by name, not copied: write them down before the next step."""
        found = {"num_calls": torch.tensor(self.num_calls)}
        for name, master in self._masters.items():
            found[f"master.{name}"] = master.detach()
            if master in self._adamw.state:
                found |= {f"{key}.{name}": self._adamw.state[master][key] for key in MOMENTS}
        return found

    def blank_state(self, shapes: Mapping[str, torch.Size]) -> dict[str, Tensor]:
        """Room for a state with these names and shapes of whole weights, cut as the masters are."""
        _refuse_another_model(shapes, self._masters)
        return {key: self._blank(key) for key in shapes}

    @torch.no_grad()
    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Take up a state exactly: the masters, what AdamW remembers, and with them the parameters."""
        _refuse_another_model({key: one.shape for key, one in state.items()}, self._masters)
        moments: dict[int, dict[str, Tensor]] = {}
        for index, (name, master) in enumerate(self._masters.items()):
            master.copy_(state[f"master.{name}"])
            if f"step.{name}" in state:
                moments[index] = {key: state[f"{key}.{name}"].clone() for key in MOMENTS}
        groups = self._adamw.state_dict()["param_groups"]
        self._adamw.load_state_dict({"state": moments, "param_groups": groups})
        self.num_calls = int(state["num_calls"])
        self._publish()
        self.clear()

    def _gradients(self) -> list[Tensor]:
        return [one.grad for one in self._masters.values() if one.grad is not None]

    def _blank(self, key: str) -> Tensor:
        kind, _, name = key.partition(".")
        if kind == "num_calls":
            return torch.tensor(0)
        return torch.tensor(0.0) if kind == "step" else torch.empty_like(self._masters[name].detach())

    def _publish(self) -> None:
        for one, master in self._copies:
            one.copy_(master)


def _master(parameter: torch.nn.Parameter) -> Tensor:
    return parameter if parameter.dtype == torch.float32 else parameter.detach().float()


def _refuse_another_model(shapes: Mapping[str, torch.Size], masters: Mapping[str, Tensor]) -> None:
    kept = {key.removeprefix("master."): shape for key, shape in shapes.items() if key.startswith("master.")}
    strange = sorted(kept.keys() ^ masters.keys())
    strange += [name for name in sorted(kept.keys() & masters.keys()) if kept[name] != masters[name].shape]
    if strange:
        raise InputError(
            f"the checkpoint belongs to another model: {', '.join(strange[:3])} differ from this one's"
        )
