"""Register tiles: functions that multiply blocks of matrices, which the kernels of contractions call."""
