"""The forgiving surface: tensors with named axes, alignment, promotion, and functions with effects.

What the strict core refuses is made explicit here: an axis that is missing becomes a broadcast, an element type
that differs a conversion, a length that is not known to be equal an assumption that every call checks.
"""
