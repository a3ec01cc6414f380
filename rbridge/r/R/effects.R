# What inputs do to predictions: average effects, and curves of partial dependence.

most_rows <- 500L # over which is averaged, evenly among those that a fit holds

# The inputs of a fit in its active rows, as columns of a frame or of a matrix, and what is
# predicted where some have other values: a column for the mean, or for each label.
inquiry <- function(object, call) {
  if (inherits(object, "dyntree_trees")) {
    rows <- evenly(stored_frame(object, call))
    ask <- function(rows) {
      given <- list(x = bare(inputs_at(object, rows, call)))
      if (object$model %in% counts) given$exposure <- 1
      reply <- ask_model(object, "predict", given, call)
      if (object$model != "class") return(cbind(reply$mean))
      structure(reply$prob[, match(object$labels, reply$levels), drop = FALSE],
                dimnames = list(NULL, object$labels))
    }
    return(list(rows = rows, names = inputs_of_frame(rows, object$terms), ask = ask))
  }
  frame <- active_variables(object)
  levels <- attr(object, "xlevels")
  for (name in names(Filter(is.character, frame)))
    frame[[name]] <- factor(frame[[name]], levels[[name]]) # if all rows are moved to one
  rows <- evenly(if (is.null(frame)) active_rows(object) else frame)
  ask <- function(rows) {
    X <- if (is.null(frame)) rows else designed(object, rows)
    reply <- ask_cloud(object, "predict", list(XX = unname(X)), call)
    if (object$model == "class") probabilities(replace(object, "p", list(reply$p))) else
      cbind(reply$mean)
  }
  names <- if (!is.null(frame)) inputs_of_frame(rows, attr(frame, "terms")) else
    inquired_names(object)
  if (is.null(frame)) colnames(rows) <- names
  list(rows = rows, names = names, ask = ask)
}

inquired_names <- function(object) {
  names <- input_names(object)
  if (is.null(names)) paste0("x", seq_len(ncol(active_rows(object)))) else names
}

evenly <- function(rows) {
  if (!nrow(rows)) stop("object must hold rows to average over; it holds none.", call. = FALSE)
  n <- nrow(rows)
  if (n <= most_rows) return(rows)
  chosen <- rows[unique(round(seq(1, n, length.out = most_rows))), , drop = FALSE]
  if (is.data.frame(rows)) attr(chosen, "terms") <- attr(rows, "terms")
  chosen
}

# Variables of a model frame that some term has, which neither the response nor offsets are.
inputs_of_frame <- function(frame, terms) {
  factors <- attr(terms, "factors")
  names(frame)[seq_len(nrow(factors))][rowSums(factors) > 0]
}

# Values of an input between which it is moved, with the name that the effect has: of a
# number its quartiles, of levels each against the first. Columns of a matrix are inputs.
moves_of <- function(x, name) {
  if (is.matrix(x)) {
    each <- if (is.null(colnames(x))) seq_len(ncol(x)) else colnames(x)
    return(do.call(c, lapply(seq_len(ncol(x)), function(j)
      lapply(moves_of(x[, j], paste0(name, each[j])), c, column = j))))
  }
  if (is.factor(x) || is.character(x) || is.logical(x)) {
    levels <- if (is.logical(x)) c(FALSE, TRUE) else if (is.factor(x)) levels(x) else
      sort(unique(x))
    return(lapply(levels[-1L], function(level)
      list(name = paste0(name, level), from = levels[1L], to = level, by = 1)))
  }
  sorted <- sort(x)
  n <- length(sorted)
  at <- if (n) c(ceiling(n / 4), ceiling(3 * n / 4))
  if (n && sorted[at[1L]] == sorted[at[2L]]) at <- c(1L, n)
  ends <- if (n) sorted[at] else x[c(1L, 1L)]
  list(list(name = name, from = ends[1L], to = ends[2L],
            by = as.numeric(ends[2L]) - as.numeric(ends[1L])))
}

# Rows in which an input has one value.
moved <- function(rows, name, value, column = NULL) {
  if (is.matrix(rows)) rows[, name] <- value else
    if (!is.null(column)) rows[[name]][, column] <- value else rows[[name]][] <- value
  rows
}

column_of <- function(rows, name) if (is.matrix(rows)) rows[, name] else rows[[name]]

# Average effects of a unit of each input, or of each level against the first.
effects_of <- function(object, call) {
  asked <- inquiry(object, call)
  each <- lapply(asked$names, function(name) {
    moves <- moves_of(column_of(asked$rows, name), name)
    effects <- lapply(moves, function(move) {
      if (is.na(move$by) || move$by == 0) return(NA_real_)
      ends <- lapply(move[c("from", "to")], function(value)
        colMeans(asked$ask(moved(asked$rows, name, value, move$column))))
      (ends$to - ends$from) / move$by
    })
    stats::setNames(effects, vapply(moves, `[[`, "", "name"))
  })
  effects <- do.call(c, each)
  if (object$model == "class") do.call(rbind, effects) else unlist(effects)
}

coef.dyntree_trees <- function(object, ...) {
  no_more(...)
  effects_of(object, sys.call())
}

# ------------------------------------------------------------------- partial dependence
n_points <- 25L # of a curve

# The values that an input has along its curve.
points_of <- function(x) {
  if (is.factor(x)) return(factor(levels(x), levels(x)))
  if (is.logical(x)) return(c(FALSE, TRUE))
  if (is.character(x)) return(sort(unique(x)))
  values <- sort(unique(x))
  if (length(values) <= n_points) return(values)
  values[unique(round(seq(1, length(values), length.out = n_points)))]
}

# Of each input a data frame: its values, and what is predicted on average if all rows have
# the value.
dependence <- function(object, call, names = NULL) {
  asked <- inquiry(object, call)
  is_drawn <- function(name) !is.matrix(column_of(asked$rows, name))
  chosen <- Filter(is_drawn, if (is.null(names)) asked$names else
    inputs_named(names, asked$names))
  lapply(stats::setNames(nm = chosen), function(name) {
    at <- points_of(column_of(asked$rows, name))
    each <- lapply(seq_along(at), function(k)
      colMeans(asked$ask(moved(asked$rows, name, as_cell(at[k])))))
    fit <- do.call(rbind, each)
    if (object$model != "class") colnames(fit) <- "fit"
    data.frame(value = at, fit, check.names = FALSE, stringsAsFactors = FALSE)
  })
}

# Inputs by their names or their places.
inputs_named <- function(proj, names) {
  places <- if (is.character(proj)) match(proj, names) else if (is_number(proj)) proj
  if (!length(places) || !all(places %in% seq_along(names)))
    refuse(proj, "proj", paste0("name inputs, ", name_of(names), ", or their places"))
  names[places]
}

as_cell <- function(x) if (is.factor(x)) as.character(x) else x

# Curves of all inputs, on one scale.
draw_dependence <- function(curves, ylab, col = seq_len(8L), ...) {
  if (!length(curves)) stop("object must have inputs whose curves can be drawn.", call. = FALSE)
  old <- graphics::par(mfrow = grDevices::n2mfrow(length(curves)))
  on.exit(graphics::par(old))
  all <- unlist(lapply(curves, `[`, -1L))
  for (name in names(curves)) {
    curve <- curves[[name]]
    at <- curve$value
    is_level <- is.factor(at) || is.character(at) || is.logical(at)
    x <- if (is_level) seq_along(at) else at
    graphics::plot(range(x), range(all), type = "n", xlab = name, ylab = ylab,
                   xaxt = if (is_level) "n" else "s", ...)
    if (is_level) graphics::axis(1L, x, as.character(at))
    graphics::matlines(as.numeric(x), as.matrix(curve[-1L]), lty = 1, col = col,
                       type = if (is_level) "b" else "l", pch = 20)
  }
  if (ncol(curves[[1L]]) > 2L)
    graphics::legend("topleft", legend = names(curves[[1L]])[-1L], lty = 1, bty = "n",
                     col = col, cex = 0.8)
  invisible(curves)
}

what_is_drawn <- function(object)
  if (object$model == "class") "probability" else if (object$model %in% counts) "rate" else
    "mean response"
