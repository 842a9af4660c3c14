"""From a batch of judged groups to new weights."""
