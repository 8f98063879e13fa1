"""What describes a tensor without its elements: lengths, axes, element types, layouts, index maps and views."""
