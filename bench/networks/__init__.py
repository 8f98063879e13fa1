"""Networks of images: a module a framework, which enters its programs beside those of :mod:`bench.contenders`."""
