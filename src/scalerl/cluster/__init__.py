"""The same loop over Ray: vLLM engines generate, FSDP2 ranks train, verifiers judge, weights travel in between."""
