"""Whole training steps: a module a framework, which enters its programs beside those of :mod:`bench.contenders`."""
