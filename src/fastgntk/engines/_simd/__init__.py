"""Compiled loops of the lossless and the sketched engine. They take plain arrays; only this folder imports numba.

====================  ==========================================================================
``_jit``              the flags of the compiler, each with its reason, and the cache
``_intrinsics``       vector operations that LLVM does not derive from plain loops; layers on whole arrays
``_layer``            one ReLU layer in a single pass: κ0 and κ1 from one square root
``_polynomials``      polynomials of lower degree for layers whose cosines are bounded
``_refine``           colour refinement: equal neighbourhoods get equal colours
``_norms``            the norm of every colour, graph by graph
``_colour_table``      what the loops take: the colours of a batch, and of a group of graphs, as flat arrays
``_group_colours``    the colours of a group of graphs, laid out for tiles
``_tile``             the recursion between two groups
====================  ==========================================================================
"""
