"""The core graph: typed nodes, functions over them, their text, and the walks on which everything else is built.

>>> import nervure as nv
>>> from nervure.ir.printer import print_function
>>> x = nv.Parameter(nv.float32, (2,))
>>> print(print_function(nv.Function([nv.ops.Add(x, x)], [x], name="double")), end="")
nervure 1
function double(%0: f32[2]) {
  f32[2] %1 = Add(%0, %0)
  return %1
}
"""
