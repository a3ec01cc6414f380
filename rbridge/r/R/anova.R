# A table of fits to the same responses, in the place of anova() for lm().

most_blocks <- 200L # in which rows are predicted before they are learned

anova.dyntree <- function(object, ..., repeats = 10, level = 0.9) {
  call <- sys.call()
  fits <- list(object, ...)
  if (!is_single(repeats, is_number) || repeats < 2 || repeats != trunc(repeats))
    refuse(repeats, "repeats", "be a whole number >= 2")
  share(level, "level")
  names(fits) <- names_of_fits(fits, as.list(substitute(list(object, ...)))[-1L])
  check_comparable(fits, call)
  n <- length(fits[[1L]]$y)
  orders <- c(list(seq_len(n)), lapply(seq_len(repeats - 1), function(k) sample.int(n)))
  first <- max(vapply(fits, `[[`, 1, "nstart")) + 1
  evidence <- vapply(fits, FUN.VALUE = numeric(repeats), function(fit)
    vapply(orders, function(odr) sum(again(fit, odr)$lpred[first:n]), 1))
  best <- which.max(colMeans(evidence))
  factors <- evidence - evidence[, best]
  table <- data.frame(
    logEvidence = colMeans(evidence), se = error_of(evidence),
    logBF = colMeans(factors), seBF = error_of(factors),
    density = vapply(fits, function(fit) mean(fit$lpred[first:n]), 1),
    coverage = vapply(fits, covered, 1, level = level),
    leaves = vapply(fits, function(fit) treestats(fit)$avgleaves, 1),
    row.names = names(fits))
  if (length(fits) == 1L) table$logBF <- table$seBF <- NULL # there is nothing to compare
  structure(table[order(-table$logEvidence), ], class = c("anova", "data.frame"),
            heading = heading_of(fits, repeats, level))
}

# Standard errors of means over repeats.
error_of <- function(values) apply(values, 2L, stats::sd) / sqrt(nrow(values))

names_of_fits <- function(fits, arguments) {
  names <- names(fits)
  if (is.null(names)) names <- character(length(fits))
  written <- vapply(seq_along(fits), FUN.VALUE = "", function(k)
    if (is.language(arguments[[k]])) deparse(arguments[[k]])[1L] else paste("fit", k))
  names[!nzchar(names)] <- written[!nzchar(names)]
  make.unique(names)
}

check_comparable <- function(fits, call) {
  for (name in names(fits)) {
    fit <- fits[[name]]
    if (!inherits(fit, "dyntree"))
      stop(simpleError(paste0("fits must be what dynaTree() returned; ", name,
                              " is of class ", class(fit)[1L], "."), call))
    if (!is.null(fit$R) || !is.null(fit$removed))
      stop(simpleError(paste0("fits must hold all rows that they have learned; ", name,
                              if (is.null(fit$R)) " has retired some" else " is of repeats",
                              ". Fit it again to all rows."), call))
    if (!isTRUE(all.equal(unname(as.numeric(fit$y)), unname(as.numeric(fits[[1L]]$y)))))
      stop(simpleError(paste0("fits must have the same responses in the same order; those of ",
                              name, " differ from those of ", names(fits)[1L], "."), call))
  }
  rules <- vapply(fits, is_native, NA)
  if (any(rules) && !all(rules))
    stop(simpleError(paste0("fits must follow the same rules; ", names(fits)[rules][1L],
                            " has native ones, and ", names(fits)[!rules][1L], " R's."), call))
}

# The rows of a fit in another order, or some of them, learned by trees of its options.
again <- function(object, odr) {
  old <- options(dyntree.rules = if (is_native(object)) "native" else "r")
  on.exit(options(old))
  p <- object$params
  y <- object$y[odr]
  if (!is.null(active_offset(object))) y <- y - active_offset(object)[odr]
  if (object$model == "class" && is_native(object))
    y <- factor(y, seq_len(max(length(attr(object, "levels")), object$y)))
  dynaTree.default(
    unname(active_rows(object)[odr, , drop = FALSE]), y, N = object$N, model = object$model,
    nu0s20 = p[1:2], ab = p[3:4], minp = p[5],
    sb = if (object$model == "linear") p[6:7] - ones(object),
    nstart = if (is_native(object)) "minp" else object$nstart, icept = object$icept,
    rprop = c("luall", "luvar", "reject")[p[9]], verb = 0, exposure = object$exposure[odr],
    weights = object$weights[odr])
}

# The share of responses within their intervals, as they were predicted by trees that had
# learned the rows before: in blocks, the later half of the rows. Labels have no intervals.
covered <- function(object, level) {
  if (object$model %in% c("class", "prior")) return(NA_real_)
  n <- length(object$y)
  first <- n %/% 2L
  if (first < 10L) return(NA_real_)
  fit <- again(object, seq_len(first))
  X <- unname(active_rows(object))
  offset <- active_offset(object)
  y <- if (is.null(offset)) object$y else object$y - offset
  blocks <- split((first + 1L):n, ceiling(seq_len(n - first) * min(1, most_blocks / (n - first))))
  inside <- lapply(blocks, function(rows) {
    exposure <- object$exposure[rows]
    weights <- object$weights[rows]
    ends <- predict.dyntree(fit, X[rows, , drop = FALSE], interval = "prediction",
                            level = level, exposure = exposure)
    fit <<- update.dyntree(fit, X[rows, , drop = FALSE], y[rows], verb = 0,
                           exposure = exposure, weights = weights)
    spread <- if (is.null(weights) || object$model %in% counts) 1 else 1 / sqrt(weights)
    middle <- ends[, "fit"]
    y[rows] >= middle + (ends[, "lwr"] - middle) * spread &
      y[rows] <= middle + (ends[, "upr"] - middle) * spread
  })
  mean(unlist(inside))
}

heading_of <- function(fits, repeats, level) {
  written <- vapply(names(fits), FUN.VALUE = "", function(name) {
    formula <- attr(fits[[name]], "formula")
    paste0(name, ": ", if (is.null(formula)) "a matrix" else
      paste(deparse(formula), collapse = " "))
  })
  c("Log evidence of dynamic trees\n",
    paste0(paste(written, collapse = "\n"), "\n\n", repeats, " orders of the rows; se is ",
           "the Monte Carlo error of the mean over them,\ndensity the mean log density of a ",
           "row before it is learned, coverage that of ", format(100 * level), "% intervals\n"))
}
