"""Special functions: of Bessel, gamma and zeta, error functions and integrals, under the names of scipy.special.

>>> import nervure as nv
>>> round(nv.special.i0(1.0).item(), 4), round(nv.special.zeta(2.0).item(), 4)
(1.2661, 1.6449)

All take tensors and arrays of real numbers with named or numbered axes, which they align, and have derivatives.
"""

from __future__ import annotations

from nervure.front.bessel_functions import (
    i0,
    i0e,
    i1,
    i1e,
    j0,
    j1,
    k0,
    k0e,
    k1,
    k1e,
    spherical_bessel_j0,
    y0,
    y1,
)
from nervure.front.elementary import entr, logit, sinc, xlog1py, xlogy
from nervure.front.error_functions import erfcx, ndtri
from nervure.front.gamma_functions import (
    beta,
    betainc,
    boxcox,
    boxcox1p,
    comb,
    factorial,
    gamma,
    gammainc,
    gammaincc,
    gammasgn,
    poch,
    polygamma,
    zeta,
)
from nervure.front.op_functions import digamma, erf, erf_inv, erfc, lgamma
from nervure.front.special_functions import betaln, log_ndtr, multigammaln, ndtr, rel_entr

__all__ = ["beta", "betainc", "betaln", "boxcox", "boxcox1p", "comb", "digamma", "entr", "erf", "erf_inv", "erfc",
           "erfcx", "factorial", "gamma", "gammainc", "gammaincc", "gammasgn", "i0", "i0e", "i1", "i1e", "j0", "j1",
           "k0", "k0e", "k1", "k1e", "lgamma", "log_ndtr", "logit", "multigammaln", "ndtr", "ndtri", "poch",
           "polygamma", "rel_entr", "sinc", "spherical_bessel_j0", "xlog1py", "xlogy", "y0", "y1", "zeta"]
