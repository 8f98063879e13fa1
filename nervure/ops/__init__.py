"""The vocabulary: a file per family, a class per op."""

from nervure.ir.leaves import Constant, Full, Parameter, ReadVariable
from nervure.ops.arithmetic import Add, Multiply, Negative, Subtract

__all__ = ["Add", "Constant", "Full", "Multiply", "Negative", "Parameter", "ReadVariable", "Subtract"]
