"""Reports on the machine and on computations: what was made of one, where its time goes, and how that reads."""
