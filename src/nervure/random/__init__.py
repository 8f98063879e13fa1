"""Distributions: each a fixed formula over the words of the generator, fresh at every call, the same after ``nv.seed``.

>>> import nervure as nv
>>> nv.seed(1)
>>> x = nv.random.gamma("N=3, F=2", 2.0)
>>> x.shape, nv.random.categorical([-100.0, 0.0, -100.0]).item()
((3, 2), 1)

The first argument is the axes of the result, as for ``nv.uniform``. Parameters are numbers, or tensors over some of
these axes. Formulas take steps that are the same on all transformers; logarithms and roots are those of each.
Derivatives go to the parameters of continuous distributions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from nervure.front.random import bernoulli, normal, uniform
from nervure.random.continuous import (
    cauchy,
    double_sided_maxwell,
    exponential,
    gumbel,
    laplace,
    logistic,
    lognormal,
    maxwell,
    pareto,
    rayleigh,
    triangular,
    truncated_normal,
    weibull,
)
from nervure.random.counts import binomial, geometric, negative_binomial, poisson, rademacher, randint
from nervure.random.gammas import beta, chisquare, dirichlet, f, gamma, generalized_normal, loggamma, t
from nervure.random.inverse_gaussian import wald
from nervure.random.multivariate import ball, multinomial, multivariate_normal, orthogonal
from nervure.random.picks import categorical, choice, permutation
from nervure.support.elsewhere import unknown_name

__all__ = ["ball", "bernoulli", "beta", "binomial", "categorical", "cauchy", "chisquare", "choice", "dirichlet",
           "double_sided_maxwell", "exponential", "f", "gamma", "generalized_normal", "geometric", "gumbel", "laplace",
           "loggamma", "logistic", "lognormal", "maxwell", "multinomial", "multivariate_normal", "negative_binomial",
           "normal", "orthogonal", "pareto", "permutation", "poisson", "rademacher", "randint", "rayleigh", "t",
           "triangular", "truncated_normal", "uniform", "wald", "weibull"]


if not TYPE_CHECKING:  # type checkers see missing attributes as missing
    def __getattr__(name: str) -> NoReturn:
        raise unknown_name("nv.random", name, __all__)
