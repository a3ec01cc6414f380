print.dyntree <- function(x, ...) {
  repeats <- if (is.null(x$R)) "" else paste(",", x$R, "repeats")
  cat("Dynamic tree, ", x$model, " leaves", repeats, "\n", sep = "")
  held <- if (is.null(x$removed)) "" else paste0(" (", x$removed, " retired)")
  cat(x$N, " particles, ", nrow(x$X), " rows held", held, ", ",
      ncol(x$X) - ones(x), " inputs", if (!is.null(x$rules)) ", native rules", "\n",
      sep = "")
  cat("fields: ")
  cat(strwrap(paste(names(x), collapse = ", "), width = 70L), sep = "\n        ")
  invisible(x)
}

summary.dyntree <- function(object, ...) {
  lpred <- as.matrix(object$lpred)
  told <- list(model = object$model, N = object$N, R = object$R, rows = nrow(object$X),
               removed = object$removed, rules = object$rules,
               evidence = colSums(lpred), time = sum(object$time))
  if (!is.null(attr(object, "cloud"))) {
    told$trees <- treestats(object)
    used <- rbind(use = varpropuse(object), total = varproptotal(object))
    names <- input_names(object)
    colnames(used) <- if (is.null(names)) paste0("x", seq_len(ncol(used))) else names
    told$inputs <- used
  }
  structure(told, class = "summary.dyntree")
}

print.summary.dyntree <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat("Dynamic tree, ", x$model, " leaves, ", x$N, " particles, ", x$rows,
      " rows held\n", sep = "")
  cat("log evidence:", format(x$evidence, digits = digits), "\n")
  if (!is.null(x$trees)) {
    cat("\naverage tree:\n")
    print(x$trees, digits = digits, row.names = FALSE)
    cat("\nshare of trees that split on an input, and share of their splits:\n")
    print(x$inputs, digits = digits)
  }
  invisible(x)
}
