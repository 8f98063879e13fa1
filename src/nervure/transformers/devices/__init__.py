"""Functions whose ops run on several devices.

Each op is placed, the function is cut into parts, and one executable runs the executables of the parts.

``choice.py`` decides which functions these are. ``placing.py`` decides where ops run, ``executable.py`` runs the parts
in order, ``python_program.py`` is a part on a device that is written in Python, ``implementing.py`` handles functions
given for an op beside its meaning. ``elements.py`` has the tensors that exist while a call runs, ``moving.py`` moves
them from one device to another, ``pool.py`` releases them.
"""
