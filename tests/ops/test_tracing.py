"""Scalar expressions as ops: what carries an element type, too."""

from __future__ import annotations

import numpy as np

import nervure as nv
from nervure.ops.tracing import traced
from tests.conformance.running import run


def test_functions_with_a_type_become_ops():
    x = nv.Parameter(nv.float32, (3,))
    results = [traced(lambda s, a: s.bitcast(a, nv.int32), [x.output]),
               traced(lambda s, a: s.wrap(s.bitcast(a, nv.int32), nv.int8), [x.output]),
               traced(lambda s, a: s.convert(a, nv.int8), [x.output])]
    numbers = np.float32([1.5, -300.0, 1e-3])
    bits, wrapped, converted = run("interpreter", nv.Function(results, [x]), [numbers])
    np.testing.assert_array_equal(bits, numbers.view(np.int32), strict=True)
    np.testing.assert_array_equal(wrapped, numbers.view(np.int32).astype(np.int8), strict=True)
    np.testing.assert_array_equal(converted, np.int8([1, -128, 0]), strict=True)
