"""From judged answers to what is descended: rewards, who counts, advantages, weights of tokens, losses."""
