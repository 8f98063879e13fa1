"""Memory planning: storages of values, their live ranges, and packing into one arena."""
