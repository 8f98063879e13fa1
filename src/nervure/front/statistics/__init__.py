"""Functions over many elements: reductions, running values, sorted values, ranks, counts, sets and segments."""
