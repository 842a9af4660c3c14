"""Who runs when: what is asked, how stale it may get, what is measured, and the loop that joins them."""
