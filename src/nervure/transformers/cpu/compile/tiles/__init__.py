"""Register tiles: functions that multiply blocks of matrices, called by the kernels of contractions."""
