"""Models of PyTorch's libraries through the bridge, small and with random weights, against eager mode."""
