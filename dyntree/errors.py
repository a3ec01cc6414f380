"""The few exceptions dyntree raises that callers may want to tell apart."""


class DeletedCloudError(ValueError):
    """The particles an object points to were deleted, or never belonged to it."""


class StaleObjectError(ValueError):
    """An object's rows are not those of its cloud: a later call changed the cloud."""


class NotReadyError(ValueError):
    """The model has not seen enough rows to answer."""


class StaleWindowWarning(UserWarning):
    """The rule that discards rows keeps what forgetting should let go."""


class DegenerateWeightsWarning(UserWarning):
    """A row had no density under any particle, so it could not weigh them."""
