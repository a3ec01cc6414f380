# What packages around broom ask of a fit; their generics are those of the package
# generics, with which these methods are registered where it is there.

tidy.dyntree <- function(x, ...) {
  used <- inputs_used(x)
  data.frame(term = colnames(used), use = used["use", ], total = used["total", ],
             row.names = NULL)
}

glance.dyntree <- function(x, ...) {
  cloud_of(x, sys.call())
  trees <- treestats(x)
  active <- nrow(x[["X"]])
  data.frame(model = x$model, rules = if (is_native(x)) "native" else "r", N = x$N,
             nobs = nobs.dyntree(x), active = active, retired = nobs.dyntree(x) - active,
             logLik = sum(x$lpred), height = trees$avgheight, leaves = trees$avgleaves)
}

augment.dyntree <- function(x, data = NULL, newdata = NULL, ...) {
  asked <- if (is.null(newdata)) data else newdata
  rows <- if (is.null(asked)) active_frame(x) else as.data.frame(asked)
  reply <- if (is.null(asked)) predict.dyntree(x) else
    predict.dyntree(x, if (is.null(attr(x, "terms"))) asked else rows)
  if (x$model == "class") {
    rows$.fitted <- of_type(reply, "class")
    rows$.prob <- apply(reply$p, 1L, max)
    return(rows)
  }
  rows$.fitted <- reply$mean
  rows$.lower <- reply$q1
  rows$.upper <- reply$q2
  y <- if (is.null(asked)) x$y else response_among(x, rows)
  if (!is.null(y)) rows$.resid <- y - reply$mean
  rows
}

# The rows that an object holds, with the variables of its formula where it has them.
active_frame <- function(object) {
  frame <- active_variables(object)
  if (!is.null(frame)) return(frame)
  X <- as.data.frame(active_rows(object))
  names <- active_names(object)
  if (!is.null(names)) row.names(X) <- make.unique(as.character(names))
  X
}

# The response of a fit by formula where a frame has it; NULL else.
response_among <- function(object, frame) {
  formula <- attr(object, "formula")
  if (is.null(formula) || !all(all.vars(formula[[2L]]) %in% names(frame))) return(NULL)
  response_in(object, frame)
}
