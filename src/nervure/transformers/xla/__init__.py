"""The xla transformer: a Function becomes one ``jax.jit`` callable, for every device that XLA has.

``jax_program.py`` reads a function op by op while JAX traces it. Ops are read by their kind: scalar expressions
through ``xla_scalars.py`` (written with ``functions.py`` and ``element_types.py``), views and coordinates through
``views.py``, structured ops through ``structured_form.py``. ``products.py`` and ``primitives.py`` have what XLA has a
better primitive for, ``branches_and_loops.py`` the ops that hold functions, ``checks.py`` what is refused while a call
runs. ``device_cells.py`` keeps variables on the device; ``executable.py`` and ``transformer.py`` are the contract of
calls, and ``fast_entry.py`` handles those that need nothing of it. JAX's public API is all that is used.
"""
