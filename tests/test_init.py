"""The package as other libraries hold it: its names lead to its objects, in this process and in others."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from importlib import import_module
from types import FunctionType, ModuleType

import numpy as np
import pytest

import nervure as nv
from nervure.support.public_functions import MODULES

PUBLIC = {name: getattr(nv, name) for name in dir(nv) if not name.startswith("__")}
OBJECTS = {name: thing for name, thing in PUBLIC.items() if not isinstance(thing, ModuleType)}


def pickled_by_value(things):
    """The names of those that plain pickle does not give back as the same object."""
    def is_kept(thing):
        try:
            return pickle.loads(pickle.dumps(thing)) is thing
        except pickle.PicklingError:
            return False
    return [name for name, thing in things.items() if not is_kept(thing)]


def test_every_public_name_pickles_by_reference():
    """P1: a name leads to the one object."""
    assert {"exp", "mean", "jit", "float32", "Tensor", "computation"} < set(OBJECTS)
    assert pickled_by_value(OBJECTS) == []


def test_a_function_is_imported_without_those_of_other_rooms():
    program = ("import sys, nervure as nv; labels = nv.placeholder('N=2', dtype=nv.int64); "
               "nv.mean(nv.relu(nv.one_hot(labels, nv.axis('K', 3)))); "
               "print(*[name for name in ('nervure.front.numpy_functions', 'nervure.front.signals.polynomials', "
               "'nervure.front.matrices.factorisations', 'importlib.metadata') if name in sys.modules])")
    run = subprocess.run([sys.executable, "-c", program], check=True, text=True, capture_output=True)
    assert run.stdout == "\n"


def test_the_modules_of_functions_are_known():
    assert {name for name in MODULES if getattr(nv, name) is not getattr(import_module(MODULES[name]), name)} == set()


def test_the_vocabulary_pickles_by_reference():
    assert pickled_by_value({name: getattr(nv.ops, name) for name in nv.ops.__all__}) == []


def test_methods_of_public_classes_pickle_by_reference():
    methods = {f"{name}.{key}": method for name, thing in OBJECTS.items() if isinstance(thing, type)
               for key, method in vars(thing).items() if isinstance(method, FunctionType)}
    assert {"Tensor.sum", "Tensor.__add__", "Tensor.astype"} < set(methods)
    assert pickled_by_value(methods) == []


def test_a_copy_of_the_package_is_the_package():
    assert copy.copy(nv) is nv and copy.deepcopy([nv, nv.flags]) == [nv, nv.flags]


def test_an_error_keeps_its_parts():
    """P3: message, fields and place."""
    error = nv.ShapeMismatch("the shapes differ", op="add", operand=2, got=(3,), expected=(4,), help="reshape it")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is nv.ShapeMismatch and str(again) == str(error) and again.location == error.location


# -- cloudpickle, which keeps functions of a program as code, as joblib and others use it -----------------------------


@pytest.mark.parametrize("function", [lambda: nv, lambda: nv.flags, lambda: nv.exp, lambda: nv.mean, lambda: nv.jit,
                                      lambda: nv.computation, lambda: nv.float32, lambda: nv.Tensor.sum,
                                      lambda: nv.ops.Exp, lambda: nv.optim.Adam, lambda: nv.InvalidArgument])
def test_functions_that_mention_the_package_are_kept(cloudpickle, function):
    """P2: with the package by reference."""
    assert pickle.loads(cloudpickle.dumps(function))() is function()


def test_a_function_that_was_kept_computes(cloudpickle):
    kept = cloudpickle.dumps(lambda x: nv.sum(nv.exp(nv.constant(x))).item())
    assert pickle.loads(kept)(np.zeros(3)) == 3


def test_estimators_are_fitted_in_processes_side_by_side():
    """P2: joblib sends a program's own estimator to processes."""
    selection = pytest.importorskip("sklearn.model_selection", reason="scikit-learn is not installed")
    from sklearn.base import BaseEstimator, RegressorMixin

    class Scale(RegressorMixin, BaseEstimator):
        """Learns one number; a program's own class, which goes to another process as code."""

        def __init__(self, rate=0.1, activation=nv.relu):
            self.rate, self.activation = rate, activation

        def fit(self, x, y):
            inputs, targets = nv.placeholder({"N": len(x)}), nv.placeholder({"N": len(x)})
            factor = nv.variable((), 0.5)
            loss = nv.mean(nv.square(self.activation(inputs * factor) - targets), out_axes=())
            step = nv.computation([loss, nv.optim.Adam(self.rate)(loss)], inputs, targets)
            for _ in range(40):
                step(np.float32(x[:, 0]), np.float32(y))
            self.factor_ = nv.transformers.default().get(factor).item()
            return self

        def predict(self, x):
            return np.maximum(x[:, 0] * self.factor_, 0)

    x = np.linspace(0.1, 1, 12)[:, None]
    search = selection.GridSearchCV(Scale(), {"rate": [0.0, 0.1]}, cv=2, n_jobs=2, error_score="raise")
    assert search.fit(x, 2 * x[:, 0]).best_params_ == {"rate": 0.1}
