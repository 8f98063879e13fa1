"""The core graph: typed nodes, functions over them, their text, and the walks that everything else is made of."""
