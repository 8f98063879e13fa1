"""Functions that networks are made of, beside convolutions: attention, normalisation, nonlinearities and noise."""
