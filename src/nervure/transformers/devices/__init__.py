"""Functions whose ops run on several devices: each op is placed, the function is cut into parts, and the
executables of the parts make one.

``choice.py`` says which functions these are. ``placing.py`` decides where ops run, ``executable.py`` runs the
parts in order, ``python_program.py`` is a part on a device that is written in Python, ``implementing.py`` is
what was given for an op beside its meaning. ``elements.py`` has the tensors that exist while a call runs,
``moving.py`` what brings them from one device to another, ``pool.py`` what lets go of them.
"""
