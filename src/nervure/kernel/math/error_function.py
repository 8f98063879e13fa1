"""The error function, its complement and its inverse, by minimax polynomials.

erf is an odd polynomial near 0; beyond, one minus a power of a polynomial, which decays as erfc does: the 4th (for
double the 8th) root of erfc decreases slowly enough for a polynomial of moderate degree, and the power is two (three)
squarings. There is no exponential and no division.

erfc keeps its relative accuracy to the last denormal: e**(-x**2) times a polynomial in (x - k) / (x + k) over x + k
(after M. Shepherd and J. Laframboise, "Chebyshev approximation of (1 + 2x) exp(x**2) erfc x", Mathematics of
Computation 36, 1981). The rounding error of x * x is added to the reduced argument of the exponential.

erf_inv is a function of w = -log(1 - x**2) (M. Giles, "Approximating the erfinv function", GPU Computing Gems, 2011):
x times a polynomial in w, or, in the tail, a polynomial in sqrt(w).

>>> from nervure.kernel.math.arrays import evaluate
>>> evaluate(erf, np.array([0.5, np.inf])), evaluate(erfc, np.array([27.0]))
(array([0.52049988, 1.        ]), array([5.23705e-319]))
"""

from __future__ import annotations

import math

from nervure.kernel.math.exponential import expm1_of_small, reduce
from nervure.kernel.math.logarithm import log
from nervure.kernel.math.minimax import Coefficients, horner, polynomial
from nervure.kernel.math.namespace import Namespace, V, at_least, low_bits_as_power, square_beside_1, with_sign_of

# Minimax in relative error of erf by Remez' exchange, the leading coefficients rounded first, the rest refitted.
# erf(x) / x - 1 in powers of x**2, on [0, 0.875]: 2**-26.1; on [0, 1]: 2**-55.9.
_NEAR = Coefficients(
    float=(1.2837915e-01, -3.7612507e-01, 1.1281974e-01, -2.6773253e-02, 5.0045243e-03, -6.0580263e-04),
    double=(0.12837916709551256, -0.3761263890318335, 0.1128379167093719, -0.026866170641994057, 0.005223977596975125,
            -0.0008548325493651505, 0.00012055280659554721, -1.4924466756775937e-05, 1.6444137723319896e-06,
            -1.6183677146101723e-07, 1.3614364727576004e-08, -7.60156383310566e-10))
_NEAR_END = {"float": 0.875, "double": 1.0}

# erfc(x)**(1/4) in powers of x - center, on [0.875, 3.95]: 2**-29.8; erfc(x)**(1/8) on [1, 5.95]: 2**-57.1.
_FAR = Coefficients(
    float=(3.3977696e-01, -3.363461e-01, 8.918079e-02, 1.9837322e-02, -1.3365038e-02, 1.7336431e-04,
           1.084499e-03, -1.5141432e-04, -4.728841e-05, 1.2180375e-05),
    double=(0.5113926144390636, -0.28242685069871015, 0.018938032883516386, 0.017202182837937337,
            -0.002804226548409248, -0.0006558404204345953, 0.0001864297838994677, 7.1328502018566705e-06,
            -5.973393411560041e-06, 1.757481969767676e-07, 1.1367643998656688e-07, -1.380700483282898e-09,
            -4.043178853711937e-09, 4.751877415755889e-10, 3.338040704032773e-11, -1.8333305016850652e-11,
            4.876645446985562e-12, -9.354825100074584e-13, 7.912534880529756e-14))
_SQUARINGS = {"float": 2, "double": 3}
_FAR_CENTER = {"float": 1.75, "double": 2.0}  # twice the start, so that the difference is exact
_FAR_END = {"float": 3.95, "double": 5.95}  # from here on, erf rounds to 1

# (x + k) e**(x**2) erfc(x) in powers of (x - k) / (x + k), on [0, 10.1]: 2**-26.6; on [0, 27.25]: 2**-54.
_SCALED = Coefficients(
    float=(1.0740069e+00, -8.8339454e-01, 5.902277e-01, -3.104647e-01, 1.1953641e-01, -2.684575e-02, -1.2583893e-03,
           3.0789422e-03, -4.372416e-04, -2.9850032e-04),
    double=(1.095995661000491, -0.976548729080882, 0.773208702265255, -0.540853831313244, 0.3308515878770963,
            -0.17401093723964522, 0.07638151492758223, -0.026370053341998476, 0.0061120554689521375,
            -0.00028095889110833056, -0.00045505157817356354, 0.00017681321560886182, -3.639177423083499e-06,
            -1.8863179718429946e-05, 4.703360453566546e-06, 1.4312122772478439e-06, -8.57972516135894e-07,
            -8.757898698147539e-08, 1.319388036293992e-07, 1.184248197546748e-08, -1.6465994757937315e-08,
            -4.0002585243911954e-09))
_SCALED_CENTER = {"float": 3.0, "double": 4.0}
_LARGEST = {"float": 10.054194450378418, "double": 27.226017111108362}  # beyond this, erfc rounds to 0

# erf_inv(x) / x in powers of w - start / 2, for w in [0, start]: 2**-24.4 and 2**-55.1; erf_inv(x) in powers of
# sqrt(w) - center, to the greatest finite w: 2**-25.2 and 2**-54.1.
_INVERSE_NEAR = Coefficients(
    float=(1.4084022e+00, 2.4919866e-01, -2.582195e-03, -1.583834e-03, 2.1937166e-04, 4.501704e-06, -4.49195e-06,
           2.5129287e-07, 4.5024425e-08),
    double=(1.5627896112343589, 0.2443302590150765, -0.005035975750000535, -0.0010385819182153957,
            0.00020906626774920518, -9.48605287528672e-06, -2.568835009681853e-06, 4.829529912899565e-07,
            -8.21929970518031e-09, -8.285168676049639e-09, 1.113862494230198e-09, 3.337125574116164e-11,
            -2.564407690625636e-11, 2.279514290704678e-12, 2.4678655933692746e-13, -7.396965294925002e-14,
            3.5386288423878957e-15, 1.1349577852320095e-15, -1.9796328289979657e-16, -5.566067755170914e-18,
            4.1509919101355824e-18, -7.994226460257582e-20, -4.2305545115267093e-20))
_INVERSE_TAIL = Coefficients(
    float=(2.832802e+00, 1.0026624e+00, 6.8411226e-03, -3.4458227e-03, 1.1568511e-03, -2.1862246e-04, -6.3807405e-05,
           5.4598477e-05, -5.184712e-06),
    double=(3.839783581356177, 1.0094949248867302, 0.0012536038929958694, -0.0008540437576240669,
            0.00029527738608158254, -8.43374950325864e-05, 2.1340592718779056e-05, -4.579291185724544e-06,
            5.857839640857021e-07, 1.5695006187808268e-07, -1.7054130634016853e-07, 8.408680062220738e-08,
            -2.712866667130491e-08, 4.199673677382686e-09, 1.3038486868366177e-09, -1.2163157173008916e-09,
            4.450738731357655e-10, -8.039611990586646e-11, -7.2069773206464524e-12, 1.426058277228622e-11,
            -7.317366579301347e-12, 1.3267573684617195e-12, 4.786092154571585e-13, -2.6037727665080627e-13,
            1.8195423921624326e-14, 9.73547618270008e-15, -1.6071204375244824e-15))
_TAIL_START = {"float": 4.25, "double": 5.5}
_TAIL_CENTER = {"float": 3.0, "double": 4.0}


def erf(s: Namespace[V], x: V) -> V:
    """Error function; +-1 at infinities; -0.0 stays."""
    name, distance = s.format.name, s.absolute(x)
    near = s.fma(distance, polynomial(s, square_beside_1(s, distance), _NEAR), distance)
    bounded = s.where(distance < _FAR_END[name], distance, _FAR_END[name])  # one instruction, which need not keep NaN
    root = polynomial(s, bounded - _FAR_CENTER[name], _FAR)
    for _ in range(_SQUARINGS[name] - 1):
        root = root * root
    far = s.fma(-root, root, 1.0)
    return with_sign_of(s, s.where(distance >= _NEAR_END[name], far, near), x)


def erfc(s: Namespace[V], x: V) -> V:
    """1 - erf(x), accurate in the right tail; 2 at -inf, 0 at inf."""
    format, center = s.format, _SCALED_CENTER[s.format.name]
    shift = 3 * (format.bias + 1) // 4  # 2**n alone would be denormal
    # 2 less the tail rounds to 2 long before the tail is too small for a number; then 2**n becomes 0.
    distance = s.absolute(at_least(s, x, -_FAR_END[format.name]))
    distance = s.where(x > _LARGEST[format.name], math.sqrt((format.bias + shift) * math.log(2)), distance)
    felt = at_least(s, distance, format.tiny)  # for smaller numbers neither the square nor its rounding error matters
    square = felt * felt
    lost = s.fma(felt, felt, -square)
    reduced = reduce(s, -square, format.bias + shift)
    whole = distance + center
    inverse = 1.0 / whole
    # The error of this inverse: the result is sensitive to several units in its last place.
    missing = s.fma(-inverse, distance - (whole - center), s.fma(-inverse, whole, 1.0))
    ratio = s.fma(inverse * missing, -2.0 * center, s.fma(inverse, -2.0 * center, 1.0))
    scaled = inverse * horner(s, ratio, _SCALED)  # its halves would cancel
    scaled = s.fma(scaled, expm1_of_small(s, reduced.r + (missing - lost)), scaled)
    tail = scaled * low_bits_as_power(s, reduced.counter) * 2.0 ** -shift
    return s.where(s.sign_bit(x), 2.0 - tail, tail)


def erf_inv(s: Namespace[V], x: V) -> V:
    """Inverse of erf; +-1 gives +-inf, outside NaN; -0.0 stays."""
    name, w = s.format.name, -log(s, s.fma(-x, x, 1.0))
    near = x * polynomial(s, w - _TAIL_START[name] / 2, _INVERSE_NEAR)
    tail = polynomial(s, s.sqrt(w) - _TAIL_CENTER[name], _INVERSE_TAIL)
    result = s.where(w > _TAIL_START[name], with_sign_of(s, tail, x), near)
    return s.where(s.equal(s.absolute(x), 1.0), x * math.inf, result)
