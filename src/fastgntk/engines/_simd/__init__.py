"""Compiled loops of the lossless and the sketched engine. They see plain arrays only; this folder alone imports numba.

====================  ==========================================================================
``_jit``              the compiler's flags, each with its reason
``_vector``           vector operations that plain loops do not compile to; layers on whole arrays
``_layer``            one ReLU layer in a single pass: κ0 and κ1 from one square root
``_refine``           colour refinement: equal neighbourhoods get equal numbers
``_norms``            the norm of every colour, graph by graph
``_group``            a colouring as flat arrays; the part that some graphs need, and its layout
``_tile``             the recursion between two groups
====================  ==========================================================================
"""
