"""``nv.show_config``: the text with which a report of a problem begins."""

from __future__ import annotations

import platform

import numpy as np

import nervure as nv
from nervure import flags


def test_it_says_versions_transformers_and_switches(capsys):
    nv.show_config()
    text = capsys.readouterr().out
    assert f"nervure {nv.__version__}, Python {platform.python_version()}" in text
    assert f"numpy {np.__version__}" in text and "interpreter" in text
    assert "check_nan" in text and flags.describe() in text
