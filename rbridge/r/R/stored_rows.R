# The rows that streams and averages of trees hold, with their variables, as lm() has them in
# its model: attr(object, "frames"), of the fit and of each update a part with the numbers of
# its rows. Rows that have left all windows are dropped from time to time.

with_rows <- function(object, frame, call) {
  light <- which(frame[["(weights)"]] == 0)
  if (length(light)) frame <- frame[-light, , drop = FALSE]
  attr(frame, "terms") <- NULL # which the object has
  rows <- seq.int(to = object$n_seen, length.out = nrow(frame))
  attr(object, "frames") <- c(attr(object, "frames"), list(list(rows = rows, frame = frame)))
  parts <- attr(object, "frames")
  n_stored <- sum(lengths(lapply(parts, `[[`, "rows")))
  if (length(parts) >= max_parts || n_stored > 4 * object$n_active + 1000)
    attr(object, "frames") <- list(stored_rows(object, call))
  object
}

weights_in <- function(frame) {
  weights <- frame[["(weights)"]]
  if (is.null(weights)) rep(1, nrow(frame)) else as.numeric(weights)
}

# Numbers of the rows that some trees hold, and their variables.
stored_rows <- function(object, call) {
  parts <- attr(object, "frames")
  active <- ask_model(object, "active", list(), call)
  if (length(parts) == 1L && length(active) == length(parts[[1L]]$rows))
    return(parts[[1L]])
  at <- match(active, unlist(lapply(parts, `[[`, "rows")))
  frames <- lapply(parts, `[[`, "frame")
  names <- unique(unlist(lapply(frames, names)))
  frames <- lapply(frames, function(frame) {
    for (name in setdiff(names, names(frame))) frame[[name]] <- rep(1, nrow(frame)) # beside
    frame
  })
  columns <- lapply(stats::setNames(nm = names), function(name) {
    whole <- one_after_the_other(lapply(frames, `[[`, name))
    if (is.matrix(whole)) whole[at, , drop = FALSE] else whole[at]
  })
  labels <- unlist(lapply(frames, row.names))[at]
  list(rows = active, frame = structure(columns, class = "data.frame",
                                        row.names = make.unique(as.character(labels))))
}

stored_frame <- function(object, call)
  structure(stored_rows(object, call)$frame, terms = object$terms)

# Answers at the stored rows, with NA for those that na.exclude() left out, as long as the rows
# are those of the fit.
padded <- function(answer, object, frame) {
  gaps <- if (nrow(frame) == object$n_seen) attr(object, "na.action")
  if (is.null(gaps) || !is.data.frame(answer)) return(stats::naresid(gaps, answer))
  as.data.frame(stats::naresid(gaps, as.matrix(answer)), optional = TRUE)
}

model.frame.dyntree_trees <- function(formula, ...) {
  no_more(...)
  stored_frame(formula, sys.call())
}

model.frame.dyntree_mixture <- function(formula, ...)
  stop(refusal("model.frame", formula, "they store no rows.", sys.call()))
model.frame.hdp_topics <- model.frame.dyntree_mixture

# What is predicted at rows of a model frame: mean, sd and of_mean, or prob; the parts are
# those of Python's answer. Offsets are added, counts have their exposures.
predicted_at <- function(object, frame, call, ..., has_response = TRUE) {
  request <- list(x = bare(inputs_at(object, frame, call, has_response)), ...)
  offset <- offset_of(frame, object$model, call, learns = FALSE)
  if (object$model %in% counts) {
    request$exposure <- exposed(offset, frame[["(exposure)"]])
    offset <- NULL
  }
  reply <- ask_model(object, "predict", request, call, labels = row.names(frame))
  if (!is.null(offset)) for (name in intersect(c("mean", "quantile"), names(reply)))
    reply[[name]] <- reply[[name]] + offset
  reply
}

# The inputs of a stream in rows of its model frame, or of new ones without a response.
inputs_at <- function(object, frame, call, has_response = TRUE) {
  terms <- object$terms
  if (has_response) frame <- frame[-attr(terms, "response")]
  x <- tree_inputs(stats::delete.response(terms), frame, "data", call, object$contrasts,
                   object$factors)
  same_columns(x, object$inputs, "data", call)
}

fitted.dyntree_trees <- function(object, ...) {
  no_more(...)
  call <- sys.call()
  frame <- stored_frame(object, call)
  reply <- predicted_at(object, frame, call)
  answer <- if (object$model == "class") labelled(reply, object$labels, "class", frame) else
    named_by(reply$mean, frame)
  padded(answer, object, frame)
}

residuals.dyntree_trees <- function(object, ...) {
  no_more(...)
  if (object$model == "class") stop_residuals()
  call <- sys.call()
  frame <- stored_frame(object, call)
  rest <- as.numeric(frame[[1L]]) - predicted_at(object, frame, call)$mean
  padded(named_by(rest, frame), object, frame)
}

stop_residuals <- function()
  stop("labels have no residuals; compare fitted(object) with the labels.", call. = FALSE)

weights.dyntree_trees <- function(object, ...) {
  no_more(...)
  frame <- stored_frame(object, sys.call())
  padded(weights_in(frame), object, frame)
}

deviance.dyntree_trees <- function(object, ...) {
  no_more(...)
  call <- sys.call()
  frame <- stored_frame(object, call)
  reply <- predicted_at(object, frame, call)
  if (object$model != "class")
    return(deviance_of(object, as.numeric(frame[[1L]]), reply$mean, weights_in(frame), call))
  places <- match(as.character(frame[[1L]]), reply$levels)
  misfit_of_labels(reply$prob, places, weights_in(frame))
}

sigma.dyntree_trees <- function(object, ...) {
  no_more(...)
  call <- sys.call()
  check_spread(object, call)
  reply <- predicted_at(object, stored_frame(object, call), call, of_mean = 0.5)
  noise(reply$sd^2, reply$of_mean$se)
}

# ------------------------------------------------------------------- of all fits
weights.dyntree <- function(object, ...) {
  check_ours(object)
  no_more(...)
  weights <- if (is.null(object$weights)) rep(1, nrow(object[["X"]])) else object$weights
  stats::naresid(attr(object, "na.action"), weights)
}

# As of lm(), glm() and other packages of trees: of the active rows, in sample.
deviance.dyntree <- function(object, ...) {
  check_ours(object)
  no_more(...)
  call <- sys.call()
  weights <- if (is.null(object$weights)) 1 else object$weights
  if (object$model == "prior") stop(refusal("deviance", object, reasons[["prior"]], call))
  reply <- predict.dyntree(object)
  if (object$model != "class")
    return(deviance_of(object, object$y, reply$mean, weights, call))
  misfit_of_labels(reply$p, object$y, weights)
}

deviance_of <- function(object, y, mean, weights, call) {
  if (object$model == "negbin")
    stop(refusal("deviance", object, "their dispersion differs from leaf to leaf; see logLik().",
                 call))
  if (object$model != "poisson") return(sum(weights * (y - mean)^2))
  2 * sum(weights * (ifelse(y > 0, y * log(y / mean), 0) - (y - mean)))
}

misfit_of_labels <- function(p, places, weights)
  -2 * sum(weights * log(p[cbind(seq_along(places), places)]))

# The standard deviation of the noise about the mean, over the active rows.
sigma.dyntree <- function(object, ...) {
  check_ours(object)
  no_more(...)
  call <- sys.call()
  check_spread(object, call)
  X <- active_rows(object)
  noise(predict.dyntree(object)$var, quantiles(object, X, 0.5, list(), call, "of_mean")$se)
}

noise <- function(variance, se) sqrt(mean(pmax(variance - se^2, 0)))

check_spread <- function(object, call) {
  why <- if (object$model == "class") "labels have probabilities; see predict()." else
    if (object$model == "prior") reasons[["prior"]] else
      if (object$model %in% counts) "the spread of counts follows their mean; see predict()."
  if (!is.null(why)) stop(refusal("sigma", object, why, call))
}
