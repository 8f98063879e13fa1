"""The convolutions that are put to the test, one table for all ways to compute them.

Sizes are chosen for what they have that others have not: how a window lies over the data, and how many images, lines,
places, channels and filters meet blocks, vectors and register tiles of any machine. None is chosen for a threshold.
"""

from __future__ import annotations

from nervure.types.dtype import float64
from tests.passes.convolution_rule import Case

ONE, BOTH, ALL = ((1, 1),), ((1, 1), (1, 1)), ((1, 1), (1, 1), (1, 1))
"""A border of one zero around data of one, two and three spatial dimensions."""

WINDOWS = [
    Case("one line", (3, 5, 9), (4, 5, 3), paddings=((2, 1),)),
    Case("strides, dilations, paddings and groups", (2, 6, 8, 7), (4, 3, 3, 2), (2, 3), (1, 2),
         ((1, 2), (2, 0)), 2),
    Case("strides and dilations along one length", (2, 2, 9), (2, 2, 2), (2,), (2,)),
    Case("three lengths, one of them cut", (1, 2, 5, 4, 6), (3, 2, 2, 1, 3), (1, 2, 2),
         paddings=((0, 1), (-1, 0), (1, 1))),
    Case("windows side by side", (2, 4, 6, 4), (6, 2, 3, 2), (3, 2), groups=2),
    Case("windows side by side and many filters", (2, 3, 8, 15), (700, 3, 2, 3), (2, 3)),
    Case("strides beyond the window", (2, 4, 11, 9), (5, 4, 2, 1), (3, 2), paddings=((1, 0), (0, 1))),
    Case("windows of one place, every third line", (1, 520, 6, 5), (7, 520, 1, 1), (2, 1)),
    Case("windows of one place", (3, 20, 7, 5), (50, 20, 1, 1)),
    Case("windows as long as the data", (6, 24, 3, 4), (40, 24, 3, 4)),
    Case("windows longer than the data", (8, 64, 2), (48, 64, 5), paddings=((4, 4),)),
    Case("windows much longer than the data", (6, 48, 2), (16, 48, 7), paddings=((3, 3),)),
    Case("a long window", (3, 48, 150), (16, 48, 61), paddings=((30, 30),)),
    Case("more padding than the window has places", (2, 48, 100), (16, 48, 3), paddings=((60, 0),)),
    Case("two lines that see padding alone", (1, 64, 3, 8), (48, 64, 2, 1), paddings=((3, 0), (0, 0))),
    Case("cut data", (4, 50, 40), (49, 50, 5), paddings=((-1, 2),)),
    Case("a dilated window over one channel", (1, 1, 16, 16), (64, 1, 3, 3), dilations=(2, 2),
         paddings=((1, 1), (3, 0))),
    Case("a large window, strides and a few channels", (2, 8, 11, 11), (96, 4, 7, 7), (2, 2),
         paddings=((3, 3), (3, 3)), groups=2),
    Case("dilated lines", (2, 40, 10, 9), (96, 20, 3, 3), (1, 1), (2, 1), ((0, 2), (1, 1)), 2),
    Case("dilated places", (5, 64, 8, 8), (17, 64, 3, 7), (1, 1), (2, 1), ((2, 2), (3, 3))),
    Case("most lines see less", (3, 96, 8, 6), (64, 96, 3, 2), (1, 1), (2, 1), ((0, 1), (0, 0))),
    Case("padding before lines alone", (5, 32, 8, 6), (80, 32, 3, 2), paddings=((1, 0), (0, 1))),
    Case("volumes", (2, 16, 5, 3, 4), (48, 16, 3, 2, 2), paddings=((1, 1), (1, 0), (0, 1))),
    Case("dilated volumes", (2, 48, 9, 7, 8), (16, 48, 3, 2, 3), (1, 1, 1), (1, 2, 1),
         ((1, 1), (0, 1), (2, 1))),
    Case("strided volumes", (1, 24, 5, 4, 6), (48, 24, 2, 1, 3), (1, 2, 2), paddings=((0, 1), (-1, 0), (1, 1))),
]
"""How windows lie over the data."""

SIZES = [
    Case("a block of points ends within a position", (2, 24, 6, 6), (3, 24, 5, 5), paddings=((2, 2), (2, 2))),
    Case("a position is a block of points", (8, 512, 3, 4), (48, 512, 3, 3), paddings=BOTH),
    Case("two positions are a block of points", (16, 256, 3, 2), (64, 256, 3, 3), paddings=BOTH),
    Case("a position is two blocks of points", (8, 1024, 3), (64, 1024, 3), paddings=ONE),
    Case("blocks of points in groups", (8, 512, 3, 3), (96, 256, 3, 3), paddings=BOTH, groups=2),
    Case("volumes of one block a position", (8, 256, 2, 2, 2), (48, 256, 2, 2, 2),
         paddings=((1, 0), (1, 0), (0, 1))),
    Case("lines apart by strides, a block two positions", (8, 256, 5, 4), (80, 256, 3, 3), (2, 1), (1, 2),
         ((1, 0), (2, 1))),
    Case("a block ends inside of a line of the window", (2, 64, 9, 7), (48, 64, 3, 3), paddings=BOTH),
    Case("small images, many filters", (3, 4, 7, 7), (200, 4, 3, 3), paddings=BOTH),
    Case("small images in groups", (20, 6, 5, 5), (72, 3, 3, 3), paddings=BOTH, groups=2),
    Case("short lines", (5, 6, 4), (60, 3, 3), paddings=ONE, groups=2),
    Case("many images, fewer filters", (40, 32, 5, 4), (128, 16, 3, 3), paddings=BOTH, groups=2),
    Case("volumes and many filters", (2, 40, 3, 4, 5), (96, 40, 2, 2, 3), paddings=ALL),
    Case("a multiple of eight images", (8, 128, 4, 4), (64, 128, 3, 3), paddings=BOTH),
    Case("seven images", (7, 96, 4, 4), (64, 96, 3, 3), paddings=BOTH),
    Case("images of one column", (8, 64, 4, 1), (64, 64, 3, 3), paddings=BOTH),
    Case("images of two lines", (2, 64, 2, 9), (64, 64, 3, 3), paddings=BOTH),
    Case("filters that fill no register", (2, 64, 9, 9), (17, 64, 3, 3), paddings=BOTH),
    Case("one filter", (2, 30, 9, 8), (1, 30, 3, 3), paddings=BOTH),
    Case("one image of many lines", (1, 48, 50, 40), (64, 48, 3, 3), paddings=BOTH),
    Case("images in several tasks", (17, 64, 14, 14), (64, 64, 3, 3), paddings=BOTH),
    Case("two lines of zeros on each side", (1, 24, 12, 11), (64, 24, 5, 5), paddings=((2, 2), (2, 2))),
    Case("strides and many channels", (9, 96, 8, 7), (24, 48, 3, 3), (2, 2), paddings=BOTH, groups=2),
    Case("strides and many filters", (2, 48, 14, 14), (64, 48, 3, 3), (2, 2), paddings=BOTH),
    Case("many images, the second block is not full", (40, 48, 4, 4), (20, 48, 3, 3), paddings=BOTH),
    Case("many images of one line", (70, 50, 8), (16, 50, 3), paddings=ONE),
    Case("blocks begin and end inside of images", (5, 48, 14, 14), (20, 48, 3, 3), paddings=BOTH),
    Case("blocks begin and end inside of the only image", (1, 48, 28, 23), (18, 48, 3, 3), paddings=BOTH),
    Case("blocks end inside of lines in groups", (2, 96, 29, 24), (32, 48, 5, 4), (1, 2), (2, 1),
         ((3, 2), (0, 2)), 2),
    Case("few channels and large images", (1, 3, 40, 37), (16, 3, 3, 3), paddings=BOTH),
    Case("doubles over short lines", (8, 256, 2, 3), (64, 256, 3, 3), paddings=BOTH, dtype=float64),
    Case("doubles over longer lines", (2, 40, 7, 9), (64, 40, 3, 3), paddings=BOTH, dtype=float64),
]
"""How many of each there are."""

DEPTHWISE = [
    Case("a channel a group", (3, 5, 9), (5, 1, 3), paddings=ONE, groups=5),
    Case("two filters a channel", (2, 4, 8, 7), (8, 1, 3, 2), paddings=((1, 1), (0, 2)), groups=4),
    Case("five filters a channel", (2, 2, 8, 7), (10, 1, 3, 2), paddings=BOTH, groups=2),
    Case("a channel a group and strides", (2, 4, 9, 8), (4, 1, 3, 3), (2, 2), paddings=BOTH, groups=4),
    Case("a channel a group, strides and cut data", (2, 2, 9, 9), (2, 1, 2, 3), (3, 1),
         paddings=((-1, 1), (2, -1)), groups=2),
    Case("a channel a group and dilations", (2, 2, 9, 9), (2, 1, 2, 3), (1, 1), (2, 3), ((1, 1), (3, 3)), 2),
    Case("a channel a group, strides and dilations", (2, 2, 9), (2, 1, 2), (2,), (2,), groups=2),
    Case("volumes of a channel a group", (1, 3, 5, 4, 6), (6, 1, 2, 1, 3), (1, 2, 2),
         paddings=((0, 1), (0, 0), (1, 1)), groups=3),
    Case("one channel", (4, 1, 7), (2, 1, 3)),
    Case("large windows of a channel a group", (2, 6, 9, 20), (6, 1, 5, 5),
         paddings=((2, 2), (2, 2)), groups=6),
    Case("a long window of a channel a group", (2, 2, 99), (2, 1, 65), groups=2),
    Case("many lines of a channel a group", (5, 3, 9, 70), (3, 1, 3, 3), paddings=BOTH, groups=3),
]
"""Groups of one channel."""

CASES = [*WINDOWS, *SIZES, *DEPTHWISE]

TRANSPOSED = [
    Case("transposed, windows side by side", (2, 16, 10, 18), (24, 16, 2, 3), (2, 3)),
    Case("transposed, one line in groups", (3, 32, 8), (32, 16, 2), (2,), groups=2),
    Case("transposed, windows over each other", (2, 16, 11, 13), (24, 16, 3, 4), (2, 2),
         paddings=((1, 0), (1, 1))),
    Case("transposed, many channels", (2, 16, 5, 6), (520, 16, 3, 3), paddings=BOTH),
    Case("transposed volumes", (1, 16, 3, 8, 6), (16, 16, 1, 2, 2), (1, 2, 3)),
]
"""Gradients for the data, which transposed convolutions are: ``f`` is (channels, filters of a group, windows)."""
