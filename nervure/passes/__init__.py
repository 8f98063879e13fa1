"""Passes: each turns a Function into a Function that computes the same and says it better.

``pattern`` and ``rewrite`` are the language that most of them are written in, ``manager`` runs lists of them, and
``pipelines`` holds the lists.
"""
