"""What can go wrong between Python and R, one exception each."""

from __future__ import annotations


class RBridgeError(RuntimeError):
    """Any trouble between Python and R."""


class RNotFoundError(RBridgeError):
    """There is no R to start."""


class RBridgeVersionError(RBridgeError):
    """The rpy2 release at hand does not fit the R release at hand."""


class RBridgeLoadError(RBridgeError):
    """R is installed and could not be loaded or started."""


class RPackageMissingError(RBridgeError):
    """R does not have a requested package."""


class RThreadError(RBridgeError):
    """R was called from another thread or process than the one that started it."""


class RCrashError(RBridgeError):
    """R's process ended in the middle of a call; its clouds are gone."""


class RError(RBridgeError):
    """R's own error.

    Attributes
    ----------
    message : str
        R's error message.
    call : str
        The R call that failed, or an empty text if R does not name it.
    """

    def __init__(self, message: str, call: str = "") -> None:
        self.message = message
        self.call = call
        super().__init__(f"R: {message}" + (f" (in {call})" if call else ""))
