# Streaming trees and averages of trees, by formula.

dyntree_stream <- function(formula, data = NULL, model = NULL,
                           window = 500, discard = NULL, forget = NULL, drift = FALSE,
                           rejuvenate_every = NULL, n_particles = NULL,
                           weights = NULL, exposure = NULL, subset, na.action = NULL,
                           intercept = c("implicit", "augmented", "none"),
                           proposal = c("luvar", "luall", "reject"), min_leaf = NULL,
                           tree_prior = NULL, first_split = 1, n_basis = NULL,
                           classes = NULL, prior = "adaptive", class_mass = 1,
                           max_retired_mass = NULL, categories = NULL,
                           new_levels = c("grow", "missing", "error"),
                           encode_levels = c("auto", "onehot", "effect"), weighting = NULL,
                           dispersion = NULL, robust = FALSE, seed = NULL, ...) {
  no_more(...)
  call <- sys.call()
  options <- given_options(call)
  fit_trees("dyntree_stream", match.call(), data, parent.frame(), options, seed, call)
}

dyntree_average <- function(formula, data = NULL,
                            model = NULL,
                            stream = FALSE, n_clouds = 10, shuffle = TRUE, members = NULL,
                            linear = TRUE,
                            discount = 0.98, tempering = 0.2, n_particles = NULL,
                            weights = NULL, exposure = NULL, subset, na.action = NULL,
                            intercept = c("implicit", "augmented", "none"),
                            proposal = c("luvar", "luall", "reject"), min_leaf = NULL,
                            tree_prior = NULL, first_split = 1, n_basis = NULL,
                            classes = NULL, prior = "adaptive", class_mass = 1,
                            max_retired_mass = NULL, categories = NULL,
                            new_levels = c("grow", "missing", "error"),
                            encode_levels = c("auto", "onehot", "effect"), weighting = NULL,
                            dispersion = NULL, robust = FALSE, seed = NULL, ...) {
  no_more(...)
  call <- sys.call()
  if (!isTRUE(stream) && !isFALSE(stream))
    stop(simpleError(paste0("stream must be TRUE or FALSE; got ", shown(stream),
                            ". TRUE averages memories of a stream, FALSE clouds that learn ",
                            "a table."), call))
  of_streams <- c("members", "discount", "tempering")
  of_tables <- c("n_clouds", "shuffle")
  options <- given_options(call)
  stray <- intersect(names(options), if (stream) of_tables else of_streams)
  if (length(stray))
    stop(simpleError(paste0(stray[1L], " is for stream = ", !stream, "; got it with stream = ",
                            stream, ". Leave it out."), call))
  options$stream <- stream
  fit_trees("dyntree_average", match.call(), data, parent.frame(), options, seed, call)
}

# matched: the matched call, of which model.frame() takes its part in `frame`.
fit_trees <- function(face, matched, data, frame, options, seed, call) {
  check_order(data, "data", face, call)
  named <- as.list(matched)[intersect(c("weights", "exposure"), names(matched))]
  asked <- matched[c(1L, match(c("formula", "subset", "weights", "exposure"),
                               names(matched), 0L))]
  asked[[1L]] <- quote(stats::model.frame)
  asked$data <- data
  na.action <- if (is.null(matched$na.action)) omit_responses else
    eval(matched$na.action, frame)
  asked$na.action <- na.action
  rows <- no_integer64(learned_frame(asked, frame), call)
  for (name in c("weights", "exposure")) {
    column <- paste0("(", name, ")")
    rows[[column]] <- checked_extra(rows[[column]], name, nrow(rows), "data", call)
  }
  terms <- attr(rows, "terms")
  if (attr(terms, "response") == 0L)
    stop(simpleError(paste0("formula must have a response, y ~ x; got ",
                            deparse(stats::formula(terms))[1L], ". Put it left of ~."),
                     call))
  response <- stats::model.response(rows)
  if (is.null(options$model) && !is.null(options$classes)) options$model <- "class"
  y <- as_labels_or_numbers(response, options$model, row.names(rows), call)
  if (is.character(y)) {
    if (!nrow(rows) && !is.factor(response) && is.null(options$classes))
      stop(simpleError(paste0("data must have at least one row with a response, whose labels ",
                              "are not declared; got none. Give it as a factor, or classes."),
                       call))
    options$model <- "class"
    if (is.null(options$classes))
      options$classes <- if (is.factor(response)) levels(response)[!is.na(levels(response))] else
        levels(factor(response))
    if (is.atomic(options$classes)) options$classes <- as.character(options$classes)
  }
  model <- options$model
  if (!is.character(model) || length(model) != 1L) model <- "linear" # or is refused later
  offset <- offset_of(rows, model, call)
  is_count <- model %in% counts
  if (model == "linear" && !attr(terms, "intercept") &&
      !identical(options$intercept, "none"))
    warning("the formula leaves out the intercept, but linear leaves have one; ",
            "intercept = \"none\" fits them without", call. = FALSE)
  inputs <- tree_inputs(terms, rows, "data", call)
  given <- list(x = bare(inputs, is_first = TRUE), y = if (is_count) y else less(y, offset))
  given$weights <- rows[["(weights)"]]
  given$exposure <- exposed(if (is_count) offset, rows[["(exposure)"]])
  options$seed <- seed_for(seed, call)
  found <- made(face, options, given, "data", call, row.names(inputs))
  if (face == "dyntree_stream" && is.null(options$model)) # averages warn themselves
    warn_of_two_numbers(given$y, found$value$model, call)
  object <- list(call = called(matched, face), terms = terms, inputs = kinds_of(inputs),
                 xlevels = levels_in(inputs), factors = stats::.getXlevels(terms, rows),
                 model = NULL, seed = options$seed)
  object <- with_facts(structure(c(object, list(
    categories = names(options$categories), named = named,
    new_levels = if (is.null(options$new_levels)) "grow" else options$new_levels,
    variables = variables_of(all.vars(stats::delete.response(terms)), terms, data),
    beside = variables_of(c(all.vars(stats::formula(terms)[[2L]]), names_in(named)), terms,
                          data),
    contrasts = attr(inputs, "contrasts"), labels = options$classes,
    times = times_in(rows))),
    class = c(face, "dyntree_trees")), found)
  attr(object, "na.action") <- left_rows(rows, rows[["(weights)"]], is_exclude(na.action))
  with_rows(object, rows, call)
}

# The offset of a formula. That of counts is the logarithm of an exposure; of other numbers
# it is taken off responses and added to predictions, where it may be missing.
offset_of <- function(frame, model, call, learns = TRUE) {
  offset <- stats::model.offset(frame)
  if (!is.null(offset) && model == "class")
    stop(simpleError(paste0("formula must have no offset() with labels, which have none; got ",
                            "one. Leave it out."), call))
  bad <- if (learns) which(!is.finite(offset))
  if (length(bad))
    stop(simpleError(paste0("offset must be finite; got ", offset[bad[1L]], " in row ",
                            row_label(bad[1L], row.names(frame)), ". Leave such rows out."),
                     call))
  offset
}

less <- function(y, offset) if (is.null(offset)) y else y - offset

# An object with the facts of its model now.
with_facts <- function(object, found) {
  reply <- found$value
  if (!is.null(reply$members))
    reply$members <- as.data.frame(lapply(reply$members, function(one)
      replace(one, is.nan(one), NA)))
  reply$labels <- union(object$labels, reply$levels)
  reply$levels <- NULL
  object[names(reply)] <- reply
  attr(object, "state") <- found$state
  object
}

# Responses as numbers, or as texts where they are labels.
as_labels_or_numbers <- function(y, model, rows, call) {
  if (is.matrix(y) && ncol(y) == 1L) y <- as.vector(y)
  is_label <- is.factor(y) || is.logical(y) || is.character(y)
  if (is.null(model)) check_no_numbers(y, call)
  if (is.null(model) && is_label) model <- "class"
  if (is.matrix(y) || is.data.frame(y))
    stop(simpleError(paste0("the response must be one column; got a matrix of ", ncol(y),
                            ". Fit a model of each."), call))
  if (!is_label && !is_number(y))
    stop(simpleError(paste0("the response must be numeric, logical, a factor or character; got ",
                            a_thing(y), ". Convert it first."), call))
  if (!identical(model, "class")) {
    if (is_label)
      stop(simpleError(paste0("the response must be numeric for model = ", deparse(model)[1L],
                              "; got ", if (is.factor(y)) "a factor" else typeof(y),
                              ". Give model = \"class\", or numbers."), call))
    return(as.numeric(y))
  }
  part <- if (!is_label) which(y != trunc(y))
  if (length(part))
    stop(simpleError(paste0("the response must hold labels, as whole numbers, text or a factor; ",
                            "got ", y[part[1L]], " in row ", row_label(part[1L], rows),
                            ". Give model = \"linear\" for numbers, or make it a factor."),
                     call))
  as.character(y)
}

# Numbers with fractions that were read as text are no labels, unless a model says so.
check_no_numbers <- function(y, call) {
  if (!is.character(y)) return(invisible())
  texts <- y[!is.na(y)]
  numbers <- suppressWarnings(as.numeric(texts))
  part <- which(numbers != trunc(numbers))
  if (length(part) && !anyNA(numbers))
    stop(simpleError(paste0("the response must hold numbers, or labels; got the text \"",
                            texts[part[1L]], "\", which reads as a number. Convert it by ",
                            "as.numeric(), or give model = \"class\" if the texts are labels."),
                     call))
}

# Text and factors may have any labels; numbers and truth values are labels where those of
# the fit were, and not the codes of a factor.
check_labels <- function(y, terms, call) {
  was <- attr(terms, "dataClasses")[[1L]]
  is_other <- (is.logical(y) && was != "logical") ||
    (is.numeric(y) && was %in% c("factor", "ordered", "character", "logical"))
  if (is_other)
    stop(simpleError(paste0("the response must hold labels as in the fit, which are of class ",
                            was, "; got ", a_thing(y), ". Give the labels as a factor or text."),
                     call))
}

# The inputs of a formula: variables as they are, and of interactions the columns that
# model.matrix() makes.
tree_inputs <- function(terms, frame, name, call, contrasts = NULL, xlevels = NULL) {
  factors <- attr(terms, "factors")
  order <- attr(terms, "order")
  if (!length(order))
    stop(simpleError(paste0("formula must have an input; got ",
                            deparse(stats::formula(terms))[1L],
                            ". Name one right of ~."), call))
  columns <- list()
  for (k in which(order == 1L)) {
    at <- which(factors[, k] > 0L)
    value <- frame[[at]]
    own <- names(frame)[at]
    if (is.matrix(value) && ncol(value) == 1L && is.null(colnames(value)))
      value <- as.vector(value) # as scale() gives a column
    if (is.matrix(value)) {
      of <- colnames(value)
      own <- paste0(own, if (is.null(of)) seq_len(ncol(value)) else of)
      columns[own] <- lapply(seq_len(ncol(value)), function(j) as.vector(value[, j]))
    } else {
      columns[[own]] <- value
    }
  }
  if (any(order > 1L)) {
    is_crossed <- rowSums(factors[, order > 1L, drop = FALSE]) > 0
    crossed <- names(frame)[seq_along(is_crossed)][is_crossed] # rownames() has backticks
    for (own in intersect(names(xlevels), crossed)) {
      value <- as.character(frame[[own]])
      check_levels(value, xlevels[[own]], own, "Leave such rows out, or give NA.", call,
                   row.names(frame))
      frame[[own]] <- factor(value, levels = xlevels[[own]])
    }
    for (own in setdiff(names(frame)[are_levels(frame)], crossed)) # may be of one level
      frame[[own]] <- numeric(nrow(frame)) # and their columns are not taken from there
    attr(frame, "terms") <- terms # rows that were taken out of a frame lose it
    X <- stats::model.matrix(terms, frame,
                             contrasts.arg = contrasts[intersect(names(contrasts), crossed)])
    more <- X[, attr(X, "assign") %in% which(order > 1L), drop = FALSE]
    columns[colnames(more)] <- lapply(seq_len(ncol(more)), function(j) as.vector(more[, j]))
    contrasts <- attr(X, "contrasts")
  }
  inputs <- structure(columns, class = "data.frame",
                      row.names = attr(frame, "row.names"))
  structure(as_rows(inputs, name, call), contrasts = contrasts)
}

are_levels <- function(x) vapply(x, function(one) is.factor(one) || is.character(one), NA)

levels_in <- function(x) {
  lapply(x[are_levels(x)], function(one) if (is.factor(one)) levels(one) else
    sort(unique(one)))
}

# Levels that rows have, of those that a factor declares.
present_in <- function(x) as.character(unique(x[!is.na(x)]))

# New rows of a fit: its model frame and its inputs. Levels that it does not know are an
# error where they cannot be learned, and do not count as missing by the user's wish.
new_inputs <- function(object, newdata, terms, grows, call) {
  if (!is.data.frame(newdata)) newdata <- as_rows(newdata, "newdata", call)
  variables <- object$variables
  if (attr(terms, "response")) # which is learned with its inputs
    variables <- union(variables, intersect(all.vars(stats::formula(terms)[[2L]]),
                                            object$beside))
  lacking <- setdiff(variables, names(newdata))
  if (length(lacking))
    stop(simpleError(paste0("newdata must have the variables of the fit, ",
                            name_of(variables), "; it lacks ", name_of(lacking),
                            ". Add it, or rename the one that is meant."), call))
  frame <- stats::model.frame(terms, newdata, na.action = stats::na.pass)
  frame <- same_times(no_integer64(frame, call), object$times, "newdata", call)
  list(frame = frame, x = function(frame) {
    x <- tree_inputs(stats::delete.response(terms),
                     if (attr(terms, "response")) frame[-attr(terms, "response")] else frame,
                     "newdata", call, object$contrasts, object$factors)
    x <- same_columns(x, object$inputs, "newdata", call)
    if (!grows && object$new_levels != "missing")
      for (column in setdiff(names(object$xlevels), object$categories))
        check_levels(as.character(x[[column]]), object$xlevels[[column]], column,
                     "Learn rows with it by update() first, or give NA.", call, row.names(x))
    x
  })
}

check_levels <- function(value, known, column, remedy, call, rows, name = "newdata") {
  new <- which(!is.na(value) & !value %in% known)
  if (length(new))
    stop(simpleError(paste0("column ", name_of(column), " of ", name, " must hold levels that ",
                            "the model knows, ", quoted(known), "; got ", quoted(value[new[1L]]),
                            " in row ", row_label(new[1L], rows), ". ", remedy), call))
}

# Weights or exposures of new rows: as given, or as the fit named them.
new_extra <- function(object, name, given, newdata, call) {
  asked <- object$named[[name]]
  if (is.null(given) && !is.null(asked)) {
    absent <- function(e)
      stop(simpleError(paste0(name, " must be given, or be in newdata as in the fit, ",
                              deparse(asked)[1L], "; got none. Add it to newdata."), call))
    per_row <- intersect(all.vars(asked), object$beside)
    if (!all(per_row %in% names(newdata))) absent()
    given <- tryCatch(eval(asked, newdata, environment(object$terms)), error = absent)
    if (!length(per_row) && length(given) > 1L) absent() # these are the rows of the fit
  }
  checked_extra(given, name, nrow(newdata), "newdata", call)
}

# Weights or exposures of n rows, or none.
checked_extra <- function(given, name, n, rows, call) {
  if (is.null(given)) return(NULL)
  if (is_plain(given) && length(given) %in% c(1L, n)) return(as.numeric(given))
  stop(simpleError(paste0(name, " must be a number, or one for each of the ", n, " rows of ",
                          rows, "; got ", shown(given), "."), call))
}

update.dyntree_trees <- function(object, newdata, weights = NULL, exposure = NULL, ...) {
  no_more(...)
  call <- sys.call()
  asked <- new_inputs(object, newdata, object$terms,
                      object$new_levels == "grow", call)
  frame <- asked$frame
  of <- if (is.data.frame(newdata)) newdata else as.data.frame(newdata)
  frame[["(weights)"]] <- new_extra(object, "weights", weights, of, call)
  frame[["(exposure)"]] <- new_extra(object, "exposure", exposure, of, call)
  frame <- omit_responses(frame)
  if (all(weights_in(frame) == 0)) return(object) # or there are no rows
  if (object$model == "class") check_labels(frame[[1L]], object$terms, call)
  y <- as_labels_or_numbers(frame[[1L]], object$model, row.names(frame), call)
  x <- asked$x(frame)
  is_count <- object$model %in% counts
  offset <- offset_of(frame, object$model, call)
  given <- list(x = bare(x), y = if (is_count) y else less(y, offset),
                weights = frame[["(weights)"]])
  given$exposure <- exposed(if (is_count) offset, frame[["(exposure)"]])
  found <- learned(object, given, call, labels = row.names(x))
  if (object$new_levels == "grow") for (column in names(object$xlevels))
    object$xlevels[[column]] <- union(object$xlevels[[column]], present_in(x[[column]]))
  attr(object, "na.action") <- NULL # the rows have changed
  with_rows(with_facts(object, found), frame, call)
}

predict.dyntree_trees <- function(object, newdata,
                                  type = c("response", "class", "prob", "quantile", "sd"),
                                  interval = c("none", "confidence", "prediction"),
                                  level = 0.95, probs = c(0.05, 0.95), exposure = NULL,
                                  se.fit = FALSE, ...) {
  no_more(...)
  call <- sys.call()
  idle <- c(probs = !missing(probs), level = !missing(level) && missing(interval))
  is_class <- object$model == "class"
  choices <- if (is_class) c("class", "prob") else c("response", "quantile", "sd")
  type <- if (missing(type) || (is_class && identical(type, "response"))) choices[1L] else
    one_of(type, choices, "type", call)
  interval <- one_of(interval, intervals_known, "interval", call)
  if (!isTRUE(se.fit) && !isFALSE(se.fit))
    stop(simpleError(paste0("se.fit must be TRUE or FALSE; got ", shown(se.fit), "."),
                     call))
  if (se.fit && type != "response")
    stop(simpleError(paste0("se.fit must be FALSE with type = \"", type, "\"; got TRUE. ",
                            "Leave one of them out."), call))
  if (interval != "none") {
    if (type != "response")
      stop(simpleError(paste0("interval must be \"none\" with type = \"", type, "\"; got \"",
                              interval, "\". Leave one of them out."), call))
    check_shares(level, "level", 1L, call)
    probs <- 0.5 + c(-0.5, 0.5) * level
  } else if (type == "quantile") {
    check_shares(probs, "probs", Inf, call)
  }
  check_idle(idle, type, interval, call)
  check_exposed(object$model, exposure)
  is_stored <- missing(newdata)
  if (is_stored) {
    if (!is.null(exposure)) stop_beside("exposure")
    frame <- stored_frame(object, call)
    x <- inputs_at(object, frame, call)
    exposure <- frame[["(exposure)"]]
  } else {
    asked <- new_inputs(object, newdata, stats::delete.response(object$terms), FALSE, call)
    of <- if (is.data.frame(newdata)) newdata else as.data.frame(newdata)
    frame <- asked$frame
    x <- asked$x(frame)
    if (object$model %in% counts) exposure <- new_extra(object, "exposure", exposure, of, call)
  }
  given <- list(x = bare(x))
  offset <- offset_of(frame, object$model, call, learns = FALSE)
  if (object$model %in% counts) {
    given$exposure <- exposed(offset, exposure)
    offset <- NULL
  }
  whole <- function(answer) if (is_stored) padded(answer, object, frame) else answer
  if (interval == "prediction" || type == "quantile") given$probs <- probs
  if (interval == "confidence" || se.fit) given$of_mean <- probs
  found <- ask_model(object, "predict", given, call, labels = row.names(x))
  if (is_class) return(whole(labelled(found, object$labels, type, x)))
  if (interval == "confidence") found$quantile <- found$of_mean$quantile
  if (!is.null(offset)) {
    found$mean <- found$mean + offset
    if (!is.null(found$quantile)) found$quantile <- found$quantile + offset
  }
  fit <- if (interval != "none")
    as_answer(cbind(found$mean, found$quantile), c("fit", "lwr", "upr"), x) else
    part_of(found, type, probs, x)
  if (se.fit) list(fit = whole(fit), se.fit = whole(named_by(found$of_mean$se, x))) else
    whole(fit)
}

# What new rows have beside them is not for those that a fit holds, which have their own.
stop_beside <- function(name)
  stop(name, " is for new rows; got it without them. Give newdata, or leave ", name, " out.",
       call. = FALSE)

# One part of a prediction of numbers or counts.
part_of <- function(found, type, probs, x) {
  switch(type, response = named_by(found$mean, x), sd = named_by(found$sd, x),
         quantile = as_answer(found$quantile, percents(probs), x))
}

# Shares in (0, 1).
check_shares <- function(x, name, most, call) {
  if (!is_number(x) || !length(x) || length(x) > most || anyNA(x) || any(x <= 0 | x >= 1))
    stop(simpleError(paste0(name, " must be ", if (most == 1L) "a number" else "numbers",
                            " between 0 and 1; got ", shown(x), ". 0.95 is 95 percent."),
                     call))
}

# Probabilities of the labels, or the most probable ones, in R's order of levels.
labelled <- function(found, labels, type, x) {
  p <- found$prob
  columns <- match(labels, found$levels)
  p <- p[, columns, drop = FALSE]
  if (type == "prob") return(as_answer(p, labels, x))
  named_by(factor(labels[max.col(p, "first")], levels = labels), x)
}

# The sum of the log predictive densities of the rows, each before it was learned.
logLik.dyntree_trees <- function(object, ...)
  structure(object$log_evidence, df = NA_real_, nobs = object$n_seen, class = "logLik")

print.dyntree_trees <- function(x, ...) {
  cat(what_trees(x), "\n", deparse(stats::formula(x$terms))[1L], "\n", sep = "")
  cat(rows_of(x), "; log evidence ", format(x$log_evidence, digits = 5L), "\n", sep = "")
  if (!is.null(x$members)) {
    cat("members, and what each counts for now:\n")
    print(x$members, digits = 3L)
  }
  invisible(x)
}

# How many rows trees have learned, and how many are active in one window.
rows_of <- function(x) paste0(x$n_seen, " rows learned", if (!is.null(x$window))
  paste0(", ", x$n_active, " active"))

what_trees <- function(x) {
  leaves <- switch(x$model, class = "class counts", poisson = "Poisson rates",
                   negbin = "negative binomial rates", mixed = "linear and constant leaves",
                   paste(x$model, "leaves"))
  if (!is.null(x$n_clouds))
    return(paste0("Average of ", x$n_clouds, " clouds of dynamic trees, ", leaves, ", ",
                  x$n_particles, " particles in all"))
  if (!is.null(x$members))
    return(paste0("Stream of dynamic trees, ", leaves, ", ", nrow(x$members),
                  " members averaged"))
  paste0("Stream of dynamic trees, ", leaves, ", ", x$n_particles, " particles, window ",
         x$window, if (x$forget < 1) paste0(", forget ", x$forget))
}

summary.dyntree_trees <- function(object, ...) {
  no_more(...)
  call <- sys.call()
  shares <- tryCatch(ask_model(object, "importance", list(), call), error = function(e)
    if (!grepl("needs a model that has learned", conditionMessage(e))) stop(e)) # too few rows
  structure(list(what = what_trees(object), formula = stats::formula(object$terms),
                 rows = rows_of(object), log_evidence = object$log_evidence,
                 members = object$members,
                 inputs = if (!is.null(shares))
                   data.frame(share = shares$share, row.names = shares$input)),
            class = "summary.dyntree_trees")
}

print.summary.dyntree_trees <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat(x$what, "\n", deparse(x$formula)[1L], "\n", x$rows,
      "\nlog evidence: ", format(x$log_evidence, digits = digits), "\n", sep = "")
  if (!is.null(x$members)) {
    cat("\nmembers, and what each counts for now:\n")
    print(x$members, digits = 3L)
  }
  if (!is.null(x$inputs)) {
    cat("\nshare of what is predicted that each input accounts for:\n")
    print(x$inputs, digits = digits)
  }
  invisible(x)
}

plot.dyntree_trees <- function(x, which = c("inputs", "members", "effects"), ...) {
  call <- sys.call()
  which <- one_of(which, c("inputs", "members", "effects"), "which", call)
  if (which == "effects")
    return(draw_dependence(dependence(x, call), what_is_drawn(x), ...))
  if (which == "inputs") {
    shares <- ask_model(x, "importance", list(), call)
    odr <- order(shares$share)
    graphics::dotchart(shares$share[odr], labels = shares$input[odr],
                       xlab = "share of what is predicted", ...)
    return(invisible(NULL))
  }
  if (is.null(x$history))
    stop(simpleError(paste0("which must be \"inputs\" for one cloud, and for clouds that count ",
                            "alike; got \"members\", which are of averaged streams. Fit ",
                            "one with window = \"auto\"."), call))
  weight <- x$history$weight
  graphics::matplot(x$history$row, weight, type = "l", lty = 1, ylim = c(0, 1),
                    xlab = "row", ylab = "weight", ...)
  windows <- if (is.null(x$members$window)) seq_len(ncol(weight)) else x$members$window
  graphics::legend("topleft", legend = windows, col = seq_len(ncol(weight)), lty = 1,
                   title = "window", bty = "n", cex = 0.8)
  invisible(NULL)
}
