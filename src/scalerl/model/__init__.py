"""A Hugging Face causal language model, held once and shared by engine and trainer."""
