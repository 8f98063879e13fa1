"""Minima by L-BFGS with a line search."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import nervure as nv
from nervure.errors import InvalidArgument, WrongKind
from nervure.optim import minimising


def valley(x):
    return nv.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@pytest.mark.parametrize("count", [2, 10])
def test_a_valley_takes_no_longer_than_with_scipy(count):
    """T451: in evaluations, from a start that needs turns; a compiled search gives the same."""
    start = np.linspace(-1.5, 1, count)
    found = nv.optim.minimise(valley, start, steps=300, gradient_tolerance=1e-8)
    theirs = scipy.optimize.minimize(scipy.optimize.rosen, start, jac=scipy.optimize.rosen_der, method="L-BFGS-B",
                                     options={"gtol": 1e-8, "ftol": 1e-30})
    x, gradient, evaluations, is_converged = nv.evaluate([found.x, found.gradient, found.evaluations, found.converged])
    assert is_converged and gradient <= 1e-8
    np.testing.assert_allclose(x, 1, atol=1e-7)
    assert evaluations <= 1.3 * theirs.nfev
    compiled = nv.jit(lambda x: nv.optim.minimise(valley, x, steps=300, gradient_tolerance=1e-8).x)
    np.testing.assert_allclose(compiled(start), 1, atol=1e-7)


def test_steps_keep_the_conditions_of_wolfe():
    """T451: the value falls enough, and the slope is flat enough, in every step."""
    found = [nv.optim.minimise(valley, np.array([-1.2, 1.0, 2.0]), steps=k, memory=2) for k in range(6)]
    points = nv.evaluate([entry.x for entry in found])
    counts = nv.evaluate([entry.steps for entry in found])
    ends = nv.evaluate([entry.converged for entry in found])
    values, slopes = [[f(point) for point in points] for f in (scipy.optimize.rosen, scipy.optimize.rosen_der)]
    for k in range(5):
        move = points[k + 1] - points[k]
        assert values[k + 1] <= values[k] + minimising.DECREASE * slopes[k] @ move
        assert abs(slopes[k + 1] @ move) <= minimising.FLATNESS * abs(slopes[k] @ move) + 1e-12
        assert counts[k + 1] == k + 1 and not ends[k]


def test_what_is_varied_may_be_nested():
    """T451: with names, of several types, in float32 too."""
    target = nv.constant([1.0, -2.0], "F=2", dtype=nv.float64)

    def apart(parts):
        return nv.sum(nv.square(parts["w"] - target), out_axes=()) + (parts["b"] - 3.0) ** 2
    found = nv.optim.minimise(apart, {"w": nv.zeros("F=2", nv.float64), "b": nv.constant(0.0)}, memory=2)
    assert found.x["w"].axes == target.axes and found.x["b"].dtype is nv.float32 and found.converged.item()
    np.testing.assert_allclose([*found.x["w"].numpy(), found.x["b"].item()], [1, -2, 3], rtol=1e-5)
    plain = nv.optim.minimise(lambda x: nv.sum(nv.square(x - 2.0)), nv.zeros((3,)), memory=2)
    assert plain.x.dtype is nv.float32 and plain.x.tolist() == [2.0] * 3


def test_beyond_the_domain_is_too_large(silent_infinities):
    """T451: the first step leads where the logarithm is NaN; an infinity does not stop the search either."""
    found = nv.optim.minimise(lambda x: x - nv.log(x), np.array(3.0), memory=2, gradient_tolerance=1e-8)
    assert found.x.item() == pytest.approx(1, abs=1e-6) and found.converged.item()
    walled = nv.optim.minimise(lambda x: nv.where(x > 4.0, np.inf, nv.square(x - 3.5)), np.array(0.0), memory=2)
    assert walled.x.item() == pytest.approx(3.5, abs=1e-4)


def test_where_there_is_nothing_to_do():
    """T451: a start at the minimum, no steps, and a function without a minimum."""
    still = nv.optim.minimise(nv.square, np.array(0.0), memory=1)
    assert (still.x.item(), still.steps.item(), still.evaluations.item(), still.converged.item()) == (0.0, 0, 1, True)
    assert nv.optim.minimise(nv.square, np.array(2.0), steps=0, memory=1).x.item() == 2.0
    endless = nv.optim.minimise(lambda x: -x, np.array(0.0), steps=3, memory=1)
    assert endless.value.item() < -1e6 and not endless.converged.item()


def test_any_number_of_variables(transformer):
    """T451: one program for all."""
    x = nv.placeholder((nv.dim("n", min=2),), nv.float64)
    compute = transformer.computation(nv.optim.minimise(valley, x, steps=200, memory=4, gradient_tolerance=1e-7).x, x)
    for count in (2, 5):
        np.testing.assert_allclose(compute(np.full(count, 0.5)), 1, atol=1e-5)


@pytest.mark.parametrize(("kind", "call"), [
    (InvalidArgument, lambda: nv.optim.minimise(lambda x: x, np.zeros(2))),
    (InvalidArgument, lambda: nv.optim.minimise(nv.square, 0.0, steps=-1)),
    (InvalidArgument, lambda: nv.optim.minimise(nv.square, 0.0, memory=0)),
    (WrongKind, lambda: nv.optim.minimise(nv.square, np.arange(3))), (WrongKind, lambda: nv.optim.minimise(3, 0.0))],
    ids=range(5))
def test_mistakes_are_explained(kind, call):
    """T451."""
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.help and caught.value.expected
