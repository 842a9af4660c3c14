"""From prompts to groups of rollouts under weights that change mid-sentence."""
