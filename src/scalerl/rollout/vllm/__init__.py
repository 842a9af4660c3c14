"""The same rollouts from vLLM: its engine behind our interface, under weights that change mid-sentence."""
