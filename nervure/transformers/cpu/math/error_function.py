"""erf: an odd polynomial near 0; beyond, one minus a power of a polynomial, which dies away as erfc does.

The 4th (for double the 8th) root of erfc falls slowly enough for a polynomial of moderate degree, and the power is
two (three) squarings: no exponential, no division.

>>> from nervure.transformers.cpu.llvm.builder import Builder
>>> from nervure.transformers.cpu.llvm.types import F32
>>> b = Builder("f", [("x", F32.vector(8))], F32.vector(8))
>>> b.ret(erf(b.arguments[0]))
>>> b.text().count("call <8 x float> @llvm.fma"), b.text().count("fdiv")
(16, 0)
"""

from __future__ import annotations

from nervure.transformers.cpu.llvm.builder import Register
from nervure.transformers.cpu.math.floats import magnitude, with_sign_of
from nervure.transformers.cpu.math.polynomial import Coefficients, horner

# Minimax in relative error of erf by Remez' exchange, the leading coefficients rounded first, the rest refitted.
# erf(x) / x - 1 in powers of x**2, on [0, 0.875]: 2**-26.1; on [0, 1]: 2**-55.9.
_NEAR = Coefficients(
    float=(1.2837915e-01, -3.7612507e-01, 1.1281974e-01, -2.6773253e-02, 5.0045243e-03, -6.0580263e-04),
    double=(0.12837916709551256, -0.3761263890318335, 0.1128379167093719, -0.026866170641994057, 0.005223977596975125,
            -0.0008548325493651505, 0.00012055280659554721, -1.4924466756775937e-05, 1.6444137723319896e-06,
            -1.6183677146101723e-07, 1.3614364727576004e-08, -7.60156383310566e-10))
_NEAR_END = {"float": 0.875, "double": 1.0}

# erfc(x)**(1/4) on [0.875, 3.95]: 2**-30.9; erfc(x)**(1/8) on [1, 5.95]: 2**-57.4.
_FAR = Coefficients(
    float=(9.997994e-01, -2.8066248e-01, -1.23891905e-01, 2.3794683e-02, 8.731804e-03, 6.6866847e-03, -6.2416554e-03,
           1.7693908e-03, -2.2791687e-04, 1.15351995e-05),
    double=(0.9999999728129934, -0.14104712847201056, -0.06963150085198754, -0.002086703841652683,
            0.006587996502979717, 0.00018169624244411572, -0.0004989446635103249, 6.871269435322577e-05,
            1.455977868994013e-05, -1.2924691937035259e-05, 6.059814133462589e-06, -2.019981848307867e-06,
            4.897893447197797e-07, -8.865431649635051e-08, 1.2109722026254719e-08, -1.227158057355463e-09,
            8.743014723064105e-11, -3.905753088980181e-12, 8.209106823026694e-14))
_SQUARINGS = {"float": 2, "double": 3}
_FAR_END = {"float": 3.95, "double": 5.95}  # here and beyond, erf rounds to 1


def erf(x: Register) -> Register:
    """Error function; +-1 at infinities; -0.0 stays."""
    b, distance = x.builder, magnitude(x)
    near = b.fma(distance, horner(distance * distance, _NEAR), distance)
    root = horner(_at_most(distance, _FAR_END[x.type.scalar]), _FAR)
    for _ in range(_SQUARINGS[x.type.scalar] - 1):
        root = root * root
    far = b.fma(-root, root, 1.0)
    return with_sign_of(b.where(distance >= _NEAR_END[x.type.scalar], far, near), x)


def _at_most(x: Register, limit: float) -> Register:
    """The smaller; the limit of NaN. One instruction, unlike a minimum that keeps NaN."""
    return x.builder.where(x < limit, x, limit)
