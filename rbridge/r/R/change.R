update.dyntree <- function(object, X, y, verb = round(length(y) / 10),
                           exposure = NULL, ...) {
  no_more(...)
  exposure <- new_exposure(object, X, exposure)
  X <- new_rows(object, X)
  given <- list(X = X, y = new_response(object, y), verb = verb)
  if (!is.null(exposure)) given$exposure <- exposure
  after <- extended(object, "update", given, sys.call())
  columns <- colnames(object[["X"]])
  if (is.null(columns)) columns <- colnames(X_like(object, X))
  if (!is.null(columns)) dimnames(after[["X"]]) <- list(NULL, columns)
  after
}

retire <- function(object, indices, lambda = 1, verb = 0) UseMethod("retire")

retire.dyntree <- function(object, indices, lambda = 1, verb = 0) {
  given <- list(indices = indices)
  if (!identical(lambda, 1)) given["lambda"] <- list(lambda)
  if (!identical(verb, 0)) given["verb"] <- list(verb)
  extended(object, "retire", given, sys.call())
}

rejuvenate <- function(object, odr = order(runif(length(object$y))),
                       verb = round(length(object$y) / 10)) UseMethod("rejuvenate")

rejuvenate.dyntree <- function(object, odr = order(runif(length(object$y))),
                               verb = round(length(object$y) / 10)) {
  force(odr)
  extended(object, "rejuvenate", list(odr = odr, verb = verb), sys.call())
}

copy <- function(obj) UseMethod("copy")

copy.dyntree <- function(obj) {
  cloud <- cloud_of(obj, sys.call())
  tree <- held(sys.call())
  crossing(tree$tree <- cloud$tree$tree, sys.call())
  ask("copy", list(), sys.call(), tree)
  attr(obj, "cloud") <- new_cloud(tree, cloud$saved, cloud$lpred, cloud$time, cloud$since)
  obj
}

deletecloud <- function(obj) {
  cloud <- cloud_of(obj, sys.call())
  ask_cloud(obj, "deletecloud", list(), sys.call())
  rm(list = ls(cloud), envir = cloud)
  invisible(NULL)
}

deleteclouds <- function() {
  ask("deleteclouds", list(), sys.call())
  invisible(NULL)
}
