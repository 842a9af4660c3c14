"""vLLM's own sender and our half of its interface, without the wire between them: it takes GPUs."""

from importlib import import_module

import pytest
import torch
from small_models import made

from scalerl.rollout.vllm import nccl


class Model:
    """What a sharded policy is to the sender."""

    dtype = torch.bfloat16

    def __init__(self, kind):
        self.module = made(kind, 0)

    def trainable(self):
        return dict(self.module.named_parameters())

    def weights(self):
        for name, one in self.trainable().items():
            yield name, one.detach().to(self.dtype)


class Client:
    """Writes down what it is asked."""

    def __init__(self):
        self.asked = []

    def init_weight_transfer_engine(self, init_info):
        self.asked.append(("init", init_info))

    def start_weight_update(self):
        self.asked.append(("start", None))

    def update_weights(self, update_info):
        self.asked.append(("update", update_info))

    def finish_weight_update(self, weight_version=None):
        self.asked.append(("finish", weight_version))


@pytest.fixture
def sent(monkeypatch):
    """Tensors that the sender would broadcast, by name."""
    engine = import_module("vllm.distributed.weight_transfer.nccl_engine")
    found = {}

    def broadcast(self, source, meta):
        found.update(self._checked_iter(source, meta))  # vLLM's own check that both channels agree

    monkeypatch.setattr(engine, "open_trainer_endpoint", lambda info: object())
    monkeypatch.setattr(engine.NCCLTrainerWeightTransferEngine, "_broadcast", broadcast)
    return found


@pytest.mark.parametrize("kind", ["tied qwen3", "untied llama"])
def test_the_sender_sends_what_it_announces(kind, sent):
    model, client = Model(kind), Client()
    one = nccl.sender(model, client, address=("127.0.0.1", 1234), world_size=5, rank=0)
    one.send_weights()
    assert [name for name, _ in client.asked] == ["init", "start", "update", "finish"]
    (_, met), _, (_, told), _ = client.asked
    assert (met["master_address"], met["master_port"], met["world_size"]) == ("127.0.0.1", 1234, 5)
    assert told["names"] == list(model.trainable()) == list(sent)
    assert told["shapes"] == [list(one.shape) for one in sent.values()]
    assert set(told["dtype_names"]) == {"bfloat16"} and {one.dtype for one in sent.values()} == {torch.bfloat16}


def test_other_ranks_only_gather(sent):
    client = Client()
    nccl.sender(Model("tied qwen3"), client, address=("127.0.0.1", 0), world_size=5, rank=1).send_weights()
    assert client.asked == []
