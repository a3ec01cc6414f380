"""A slow, plain Python model of the cloud, written from the text of the rules.

It answers the same calls as ``dyntree._core`` and gives CRAN dynaTree's numbers draw
for draw.  Trees are deep-copied when particles are resampled, rows are Python lists,
and sums run in the stated order, so that each line can be held against the text.
"""
