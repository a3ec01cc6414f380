"""The compiled core: arrays and scalars in, arrays and scalars out."""
