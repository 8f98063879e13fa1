"""Special functions: of Bessel, gamma, zeta, hypergeometric and error functions, under the names of scipy.special.

>>> import nervure as nv
>>> round(nv.special.i0(1.0).item(), 4), round(nv.special.zeta(2.0).item(), 4)
(1.2661, 1.6449)

All take tensors and arrays of real numbers with named or numbered axes, which they align, and have derivatives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from nervure.front.op_functions import digamma, erf, erf_inv, erfc, lgamma
from nervure.front.pointwise.elementary import entr, logit, sinc, xlog1py, xlogy
from nervure.front.special.bessel_functions import (
    airy_ai,
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
from nervure.front.special.error_functions import erfcx, ndtri, wofz
from nervure.front.special.functions_of_orders import bessel_jn, sph_harm_y
from nervure.front.special.gamma_functions import (
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
    kl_div,
    poch,
    polygamma,
    zeta,
)
from nervure.front.special.hypergeometric_functions import hyp1f1, hyp2f1
from nervure.front.special.integral_functions import dawsn, exp1, expi, expn, fresnel, owens_t, sici, spence
from nervure.front.special.orthogonal_polynomials import (
    chebyshev_t,
    chebyshev_u,
    chebyshev_v,
    chebyshev_w,
    hermite_h,
    hermite_he,
    laguerre_l,
    legendre_p,
    shifted_chebyshev_t,
    shifted_chebyshev_u,
    shifted_chebyshev_v,
    shifted_chebyshev_w,
)
from nervure.front.special.special_functions import betaln, log_ndtr, multigammaln, ndtr, rel_entr
from nervure.support.elsewhere import unknown_name

__all__ = ["airy_ai", "bessel_jn", "beta", "betainc", "betaln", "boxcox", "boxcox1p", "chebyshev_t", "chebyshev_u",
           "chebyshev_v", "chebyshev_w", "comb", "dawsn", "digamma", "entr", "erf", "erf_inv", "erfc", "erfcx", "exp1",
           "expi", "expn", "factorial", "fresnel", "gamma", "gammainc", "gammaincc", "gammasgn", "hermite_h",
           "hermite_he", "hyp1f1", "hyp2f1", "i0", "i0e", "i1", "i1e", "j0", "j1", "k0", "k0e", "k1", "k1e", "kl_div",
           "laguerre_l", "legendre_p", "lgamma", "log_ndtr", "logit", "multigammaln", "ndtr", "ndtri", "owens_t",
           "poch", "polygamma", "rel_entr", "shifted_chebyshev_t", "shifted_chebyshev_u", "shifted_chebyshev_v",
           "shifted_chebyshev_w", "sici", "sinc", "spence", "sph_harm_y", "spherical_bessel_j0", "wofz", "xlog1py",
           "xlogy", "y0", "y1", "zeta"]


if not TYPE_CHECKING:  # type checkers see missing attributes as missing
    def __getattr__(name: str) -> NoReturn:
        raise unknown_name("nv.special", name, __all__)
