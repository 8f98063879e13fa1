"""Functions of single elements: arithmetic and elementary functions, predicates, complex and quantised numbers."""
