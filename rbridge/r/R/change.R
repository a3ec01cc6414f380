# A formula instead of new rows refits, as R's own update() does.
update.dyntree <- function(object, X, y, verb = round(length(y) / 10),
                           exposure = NULL, weights = NULL, offset = NULL, ...) {
  if (if (missing(X)) missing(y) else inherits(X, "formula"))
    return(refitted(object, match.call(), parent.frame()))
  no_more(...)
  there <- TRUE
  if (missing(y) && is.data.frame(X) && !is.null(attr(object, "formula"))) {
    y <- response_in(object, X)
    there <- !is.na(if (is.factor(y)) as.character(y) else y)
  }
  given <- list(exposure = exposure, weights = weights, offset = offset)
  more <- new_beside(object, X, given, NROW(X), learns = TRUE)
  there <- there & if (is.null(more$there)) TRUE else more$there
  more$there <- NULL
  frame <- if (is.data.frame(X) && !is.null(attr(object, "formula"))) new_frame(object, X, "X")
  rows <- if (is.null(frame)) new_rows(object, X, "X") else designed(object, frame)
  rownames(rows) <- row_names(object, X)
  if (!any(there & if (is.null(more$weights)) TRUE else more$weights > 0)) return(object)
  if (!is.null(frame)) frame <- frame_of_new(object, X, frame, y, given)
  y <- if (all(there)) new_response(object, y) else
    replace(rep(NA_real_, length(y)), there, new_response(object, y[there]))
  learned <- with_weight(rows, y, more, there)
  given <- c(list(X = learned$X, y = learned$y, verb = verb), learned$beside)
  after <- extended(object, "update", given, sys.call(), rownames(learned$X),
                    learned$offset, labels_of(learned))
  if (!is.null(attr(object, "frames")))
    after <- with_variables(after, if (all(learned$keep) || is.null(frame)) frame else
      frame[learned$keep, , drop = FALSE])
  columns <- colnames(object[["X"]])
  if (is.null(columns)) columns <- colnames(X_like(object, learned$X))
  names <- if (!is_value(object))
    bound_names(rownames(object[["X"]]), nrow(object[["X"]]), learned$X)
  if (!is.null(columns) || !is.null(names)) dimnames(after[["X"]]) <- list(names, columns)
  after
}

# Names of rows and of more rows, as rbind() has them.
bound_names <- function(names, n, more) {
  if (is.null(names) && is.null(rownames(more))) return(NULL)
  c(if (is.null(names)) character(n) else names,
    if (is.null(rownames(more))) character(nrow(more)) else rownames(more))
}

# The response of a formula among the variables of a frame; of scale(y) and the like by
# the scale of the fit.
response_in <- function(object, X) {
  formula <- formula.dyntree(object)
  lost <- lacking(object, all.vars(formula[[2L]]), X)
  if (length(lost))
    stop("y must be given, or be among the new rows as in the fit, ",
         deparse(formula[[2L]])[1L], "; they have no ", paste(lost, collapse = ", "), ".",
         call. = FALSE)
  asked <- attr(object, "response")
  y <- eval(if (is.null(asked)) formula[[2L]] else asked, X, environment(formula))
  if (is.matrix(y) && ncol(y) == 1L) as.vector(y) else y
}

retire <- function(object, indices, lambda = 1, verb = 0) UseMethod("retire")

retire.dyntree <- function(object, indices, lambda = 1, verb = 0) {
  given <- list(indices = indices)
  if (!identical(lambda, 1)) given["lambda"] <- list(lambda)
  if (!identical(verb, 0)) given["verb"] <- list(verb)
  after <- extended(object, "retire", given, sys.call())
  if (!is.null(attr(object, "formula")) || is_native(object)) # R's dynaTree drops them
    dimnames(after[["X"]]) <- list(NULL, stored_names(object))
  after
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
  tree <- crossing(cloud$tree$shared(), sys.call())
  if (!is_value(obj)) ask("copy", list(), sys.call(), tree) # deleteclouds() counts it
  attr(obj, "cloud") <- new_cloud(tree, cloud$saved, cloud$lpred, cloud$time, cloud$names,
                                  cloud$offset, cloud$since)
  obj
}

deletecloud <- function(obj) {
  cloud <- cloud_in(obj, sys.call())
  if (!is_void(cloud$tree)) crossing(cloud$tree$forget(), sys.call())
  rm(list = ls(cloud), envir = cloud)
  invisible(NULL)
}

deleteclouds <- function() {
  ask("deleteclouds", list(), sys.call())
  invisible(NULL)
}
