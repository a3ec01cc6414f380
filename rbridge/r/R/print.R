print.dyntree <- function(x, ...) {
  repeats <- if (is.null(x$R)) "" else paste(",", x$R, "repeats")
  cat("Dynamic tree, ", x$model, " leaves", repeats, "\n", sep = "")
  retired <- if (is.null(x$removed)) "" else paste0(" (", x$removed, " retired)")
  cat(x$N, " particles, ", nrow(x$X), " active rows", retired, ", ",
      ncol(x$X) - ones(x), " inputs", if (!is.null(x$rules)) ", native rules", "\n",
      sep = "")
  cat("fields: ")
  cat(strwrap(paste(names(x), collapse = ", "), width = 70L), sep = "\n        ")
  invisible(x)
}

summary.dyntree <- function(object, ...) {
  reply <- list(call = attr(object, "call"), model = object$model,
               rules = if (is_native(object)) "native" else "r", N = object$N,
               R = object$R, rows = nrow(object$X),
               retired = if (is.null(object$removed)) 0L else as.integer(object$removed),
               sensitivities = outside_unit(object),
               evidence = colSums(as.matrix(object$lpred)), time = sum(object$time))
  if (!is.null(attr(object, "cloud"))) {
    reply$residuals <- in_sample(object)
    reply$trees <- treestats(object)
    reply$inputs <- inputs_used(object)
  }
  structure(reply, class = "summary.dyntree")
}

# How many of the indices of sens() lie outside [0, 1], where R's rules have NA, and of how
# many; NULL where there are none.
outside_unit <- function(object) {
  if (is.null(object[["S"]])) return(NULL)
  vapply(c("S", "T"), FUN.VALUE = c(outside = 0L, of = 0L), function(name) {
    values <- unlist(object[[name]])
    is_outside <- if (is_native(object)) !is.na(values) & (values < 0 | values > 1) else
      is.na(values)
    c(outside = sum(is_outside), of = length(values))
  })
}

# Residuals at the active rows, of labels the share misclassified; "prior" has none.
in_sample <- function(object) {
  if (object$model == "prior") return(NULL)
  reply <- predict.dyntree(object)
  if (object$model == "class") mean(max.col(reply$p, "first") != object$y) else
    object$y - reply$mean
}

# Shares of trees that split on an input, and of all splits, a column an input.
inputs_used <- function(object) {
  used <- rbind(use = varpropuse(object), total = varproptotal(object))
  names <- input_names(object)
  colnames(used) <- if (is.null(names)) paste0("x", seq_len(ncol(used))) else names
  used
}

print.summary.dyntree <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  if (!is.null(x$call)) {
    cat("Call:\n")
    cat(deparse(x$call), sep = "\n")
    cat("\n")
  }
  if (length(x$residuals) > 1L) {
    cat("Residuals at the active rows:\n")
    five <- stats::setNames(stats::quantile(x$residuals),
                            c("Min", "1Q", "Median", "3Q", "Max"))
    print(zapsmall(five, digits + 1L), digits = digits)
    cat("\n")
  }
  if (!is.null(x$trees)) {
    cat("Share of trees that split on an input, and share of their splits:\n")
    print(t(x$inputs), digits = digits)
    cat("\nAverage tree:\n")
    print(x$trees, digits = digits, row.names = FALSE)
    cat("\n")
  }
  if (identical(x$model, "class") && !is.null(x$residuals))
    cat("Share of labels misclassified at the active rows: ", format(x$residuals, digits = digits),
        "\n", sep = "")
  if (!is.null(x$sensitivities))
    cat("Sensitivities outside [0, 1]", if (x$rules == "r") ", which are NA", ": ",
        paste(x$sensitivities["outside", ], "of", x$sensitivities["of", ], c("S", "T"),
              collapse = ", "), "\n", sep = "")
  repeats <- if (is.null(x$R)) "" else paste0(" in ", x$R, " repeats")
  cat("Dynamic tree, ", x$model, " leaves, ", x$N, " particles", repeats, ", ", x$rows,
      " active rows, ", x$retired, " retired\n", sep = "")
  cat("Log evidence: ", paste(format(x$evidence, digits = digits), collapse = " "),
      if (x$rules == "native") ", native rules", "\n", sep = "")
  invisible(x)
}
