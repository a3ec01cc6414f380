# Mixtures: of a stream, over time, and of many components.

dp_gmm <- function(x, data = NULL, lambda = "auto", criterion = c("radius", "objective"),
                   merge_factor = 1, check_every = 256, min_weight = 5, patience = 2000,
                   forget = 1, max_clusters = 1000, covariance = c("diag", "spherical"),
                   warm_up = 500, ...) {
  no_more(...)
  call <- sys.call()
  check_order(data, "data", "dp_gmm", call)
  options <- given_options(call)
  fit_mixture("dp_gmm", mixture_rows(x, data, call), list(), options, match.call(), call)
}

ddp_mixture <- function(x, phase, data = NULL, family = "gaussian", concentration = 1,
                        survival = 0.95, innovation = NULL, transition = NULL,
                        mixing = c("gamma", "counts"),
                        sampler = c("collapsed", "uncollapsed"), n_sweeps = 60,
                        burn_in = NULL, thin = 2, weight_memory = 1, count_memory = 1,
                        history = 50, history_merge = TRUE, identity_move = TRUE,
                        prune = 1e-6, base = c("stationary", "moved"),
                        max_particles = 512, n_chains = 1, seed = NULL, ...) {
  no_more(...)
  call <- sys.call()
  options <- given_options(call)
  rows <- mixture_rows(x, data, call)
  if (missing(phase))
    stop(simpleError(paste0("phase must be given, a label for each of the ", nrow(rows$x),
                            " rows of x; got none. dp_gmm() has no phases."), call))
  if (!nrow(rows$x))
    stop(simpleError("x must have at least one row; got none.", call))
  asked <- substitute(phase)
  phase <- phases(phase_of(asked, data, rows, parent.frame()), rows$x, "x", call)
  options$seed <- seed_for(seed, call)
  object <- fit_mixture("ddp_mixture", rows, list(phase = phase$code), options,
                        match.call(), call)
  object$phases <- phase$labels
  object$phase <- phase$labels[phase$code]
  object
}

canopy_mixture <- function(x, n_components = 64, data = NULL,
                           family = c("diag", "spherical", "spherical_tied", "full",
                                      "poisson", "multinomial"),
                           inference = c("auto", "em", "esca", "canopy1", "canopy2",
                                         "tree"),
                           init = "auto", mixing = c("map", "sample", "collapsed"),
                           concentration = 1, prior = NULL, max_iter = 100, tol = 1e-4,
                           options = NULL, weights = NULL, seed = NULL, ...) {
  no_more(...)
  call <- sys.call()
  given <- given_options(call)
  rows <- mixture_rows(x, data, call)
  more <- list()
  more$weights <- case_weights(weights, nrow(rows$x), "x", call)
  given$seed <- seed_for(seed, call)
  fit_mixture("canopy_mixture", rows, more, given, match.call(), call)
}

# ------------------------------------------------------------------- rows
# Rows to learn: those given, or the columns that a formula makes of a data frame.
mixture_rows <- function(x, data, call) {
  if (!inherits(x, "formula")) {
    if (!is.null(data))
      stop(simpleError(paste0("data must be NULL where x is no formula; got ", a_thing(data),
                              ". Give the rows as x."), call))
    return(list(x = numbers_only(as_rows(x, "x", call), "x", call)))
  }
  if (length(x) != 2L)
    stop(simpleError(paste0("x must be a formula without a response, ~ a + b; got ",
                            deparse(x)[1L], ". Leave out what is left of ~."), call))
  frame <- no_integer64(stats::model.frame(x, data, na.action = stats::na.pass), call)
  terms <- attr(frame, "terms")
  if (!is.null(attr(terms, "offset")))
    stop(simpleError(paste0("x must be a formula without offset(); got ", deparse(x)[1L],
                            ". Leave it out."), call))
  X <- design(terms, frame)
  list(x = as_rows(X, "data", call), terms = terms,
       xlevels = stats::.getXlevels(terms, frame), contrasts = attr(X, "contrasts"),
       variables = variables_of(all.vars(terms), terms, data), times = times_in(frame))
}

# A mixture's rows are numbers; levels have no distance.
numbers_only <- function(x, name, call) {
  for (column in names(x)) if (kind_of(x[[column]]) == "levels")
    stop(simpleError(paste0(
      "column ", name_of(column), " of ", name, " must be numeric, logical, Date or POSIXct; got ",
      if (is.factor(x[[column]])) "a factor" else "text", ". Leave it out, or make columns ",
      "of its levels by a formula, ~ ", column, " + ..., with data."), call))
  x
}

# New rows with the columns of a fit.
new_mixture_rows <- function(object, newdata, call) {
  if (is.matrix(newdata) && is.null(colnames(newdata)) &&
      ncol(newdata) == length(object$inputs) && is.null(object$terms))
    colnames(newdata) <- names(object$inputs)
  if (is.data.frame(newdata) && is.null(object$terms)) { # others may be of any kind
    newdata <- as.data.frame(newdata)
    newdata <- newdata[names(newdata) %in% names(object$inputs)]
  }
  if (is.null(object$terms))
    return(same_columns(as_rows(newdata, "newdata", call), object$inputs, "newdata", call))
  if (!is.data.frame(newdata)) newdata <- as_rows(newdata, "newdata", call)
  lacking <- setdiff(object$variables, names(newdata))
  if (length(lacking))
    stop(simpleError(paste0("newdata must have the variables of the fit, ",
                            name_of(object$variables), "; it lacks ", name_of(lacking),
                            ". Add it, or rename the one that is meant."), call))
  frame <- stats::model.frame(object$terms, newdata, na.action = stats::na.pass)
  frame <- same_times(no_integer64(frame, call), object$times, "newdata", call)
  for (column in names(object$xlevels)) {
    value <- as.character(frame[[column]])
    check_levels(value, object$xlevels[[column]], column,
                 "Leave such rows out, or give NA.", call, row.names(frame))
    frame[[column]] <- factor(value, levels = object$xlevels[[column]])
  }
  X <- design(object$terms, frame, object$contrasts)
  same_columns(as_rows(X, "newdata", call), object$inputs, "newdata", call)
}

# The phases of rows: given, or named as a column of the data.
phase_of <- function(asked, data, rows, frame) {
  if (is.data.frame(data)) eval(asked, data, frame) else eval(asked, frame)
}

# Phases in their order as codes 1, 2, ..., with their labels.
phases <- function(phase, x, name, call) {
  n <- nrow(x)
  if (inherits(phase, "POSIXlt")) phase <- as.POSIXct(phase)
  if (!is.atomic(phase) || inherits(phase, "integer64") || length(phase) != n)
    stop(simpleError(paste0("phase must have a label for each of the ", n, " rows of ", name,
                            "; got ", shown(phase), ". Name the phase ",
                            "of each row."), call))
  if (anyNA(phase))
    stop(simpleError(paste0("phase must have no missing value; got NA in row ",
                            row_label(which(is.na(phase))[1L], row.names(x)), ". Leave such rows out."), call))
  if (is.factor(phase)) {
    phase <- droplevels(phase)
    return(list(code = as.integer(phase), labels = levels(phase)))
  }
  key <- if (is.object(phase)) xtfrm(phase) else phase # times may be equal as texts alone
  known <- sort(unique(key))
  list(code = match(key, known), labels = unname(phase)[match(known, key)])
}

# A label for one phase more than there were.
next_phase <- function(object) {
  if (is.numeric(object$phases)) return(max(object$phases) + 1L)
  number <- object$n_phases + 1L
  while (as.character(number) %in% as.character(object$phases)) number <- number + 1L
  number
}

# Labels of phases with those of later ones, each there once.
later_phases <- function(before, labels, call) {
  all <- if (identical(class(before), class(labels))) c(before, labels) else
    c(as.character(before), as.character(labels))
  again <- anyDuplicated(all)
  if (again)
    stop(simpleError(paste0("phase must come after those that are learned; got ",
                            quoted(as.character(all[again])), ", which is one of them. Name ",
                            "a later one."), call))
  all
}

case_weights <- function(weights, n, name, call) {
  if (is.null(weights)) return(NULL)
  if (!is_number(weights) || length(weights) != n)
    stop(simpleError(paste0("weights must be numbers, one for each of the ", n, " rows of ",
                            name, "; got ", shown(weights), "."),
                     call))
  as.numeric(weights)
}

# ------------------------------------------------------------------- objects
fit_mixture <- function(face, rows, more, options, matched, call) {
  given <- c(list(x = bare(rows$x)), more)
  found <- made(face, options, given, if (is.null(rows$terms)) "x" else "data", call,
                row.names(rows$x))
  object <- structure(c(list(call = called(matched, face)), rows[names(rows) != "x"],
                        list(inputs = kinds_of(rows$x), family = options$family,
                             seed = options$seed)),
                      class = c(face, "dyntree_mixture"))
  with_components(object, found, rows$x)
}

# An object with the components that its model has now, and the clusters of its last rows.
with_components <- function(object, found, x) {
  reply <- found$value
  id <- as.integer(reply$id)
  mean <- as.data.frame(matrix(as.numeric(reply$mean), length(id), length(reply$columns)))
  names(mean) <- reply$columns
  object$components <- data.frame(c(list(cluster = id), reply$parts), mean,
                                  check.names = FALSE, row.names = NULL)
  object$covariance <- covariances(reply$covariance, id, reply$columns)
  object$cluster <- as_clusters(reply$cluster, object, x)
  if (!is.null(reply$lifelines)) object$lifelines <- reply$lifelines
  if (!is.null(reply$history)) reply$history <- as.data.frame(reply$history)
  for (name in c("n_seen", "lambda", "noise", "n_phases", "converged", "history",
                 "log_likelihood", "n_parameters", "total_weight"))
    if (!is.null(reply[[name]])) object[[name]] <- reply[[name]]
  attr(object, "state") <- found$state
  object
}

# Matrices by cluster; of variances alone a data frame, of one a cluster a vector.
covariances <- function(found, id, columns) {
  if (is.null(found)) return(NULL)
  if (length(dim(found)) == 3L) {
    each <- lapply(seq_along(id), function(k)
      matrix(found[k, , ], dim(found)[2L], dimnames = list(columns, columns)))
    return(stats::setNames(each, id))
  }
  if (is.matrix(found))
    return(as_answer(found, columns, data.frame(row.names = as.character(id))))
  stats::setNames(rep_len(found, length(id)), id)
}

# Numbers of components as a factor, also of such as are gone; of rows without one NA.
as_clusters <- function(number, object, x) {
  known <- object$components$cluster
  gone <- setdiff(number[number > 0L], known)
  named_by(factor(number, levels = if (length(gone)) sort(c(known, gone)) else known), x)
}

update.dyntree_mixture <- function(object, newdata, phase = NULL, weights = NULL, ...) {
  no_more(...)
  call <- sys.call()
  x <- new_mixture_rows(object, newdata, call)
  given <- list(x = bare(x))
  over_time <- inherits(object, "ddp_mixture")
  if (over_time) {
    asked <- substitute(phase)
    value <- if (is.data.frame(newdata)) eval(asked, newdata, parent.frame()) else phase
    if (is.null(value)) value <- rep(next_phase(object), nrow(x))
    reply <- phases(value, x, "newdata", call)
    all <- later_phases(object$phases, reply$labels, call)
    given$phase <- reply$code
  } else if (!is.null(phase)) {
    stop(simpleError(paste0("phase is for ddp_mixture(); got it with ", class(object)[1L],
                            "(). Leave it out."), call))
  }
  if (!is.null(weights) && !inherits(object, "canopy_mixture"))
    stop(simpleError(paste0("weights are for canopy_mixture(); got them with ",
                            class(object)[1L], "(). Leave them out."), call))
  given$weights <- case_weights(weights, nrow(x), "newdata", call)
  object <- with_components(object, learned(object, given, call, labels = row.names(x)), x)
  if (inherits(object, "canopy_mixture")) object$log_likelihood <- object$n_parameters <- NULL
  if (over_time) {
    object$phase <- reply$labels[reply$code]
    object$phases <- all
  }
  object
}

predict.dyntree_mixture <- function(object, newdata,
                                    type = c("cluster", "prob", "density", "distance"),
                                    ahead = 0, ...) {
  no_more(...)
  call <- sys.call()
  choices <- c("cluster", "prob", "density", if (inherits(object, "dp_gmm")) "distance")
  type <- if (missing(type)) "cluster" else one_of(type, choices, "type", call)
  over_time <- inherits(object, "ddp_mixture")
  if (!missing(ahead) && !(over_time && type == "density"))
    stop(simpleError(paste0("ahead is for type = \"density\" of ddp_mixture(); got it with ",
                            "type = \"", type, "\" of ", class(object)[1L],
                            "(). Leave it out."), call))
  if (missing(newdata)) {
    if (type == "cluster") return(object$cluster)
    stop(simpleError(paste0("newdata must be given for type = \"", type,
                            "\", as the object has no rows. Give those of the fit."), call))
  }
  x <- new_mixture_rows(object, newdata, call)
  given <- list(x = bare(x), type = type)
  if (over_time) given$ahead <- checked_option("ahead", ahead, call)
  found <- ask_model(object, "predict", given, call, labels = row.names(x))$found
  if (type == "cluster") return(as_clusters(found, object, x))
  if (type == "density") return(named_by(found, x))
  as_answer(matrix(found, nrow(x), nrow(object$components)),
            as.character(object$components$cluster), x)
}

# Of the rows of the fit, each as often as its weight says, with as many parameters as the
# mixture has: for AIC() and BIC().
logLik.canopy_mixture <- function(object, ...) {
  if (is.null(object$log_likelihood))
    stop("the log likelihood is that of the rows of the fit, which update() has gone beyond; ",
         "sum(predict(object, newdata, type = \"density\")) is that of any rows.",
         call. = FALSE)
  structure(object$log_likelihood, df = object$n_parameters, nobs = object$total_weight,
            class = "logLik")
}

# ------------------------------------------------------------------- printing, drawing
what_mixture <- function(x) {
  k <- nrow(x$components)
  switch(class(x)[1L],
    dp_gmm = paste0("Dirichlet process mixture of round Gaussians: ", k, " clusters, lambda ",
                    format(x$lambda, digits = 4L)),
    ddp_mixture = paste0("Dependent Dirichlet process mixture: ", k, " clusters that may be ",
                         "alive, ", x$n_phases, " phases"),
    paste0("Mixture of ", k, " components, ", if (is.null(x$family)) "diag" else x$family,
           if (isTRUE(x$converged)) "" else ", not settled"))
}

print.dyntree_mixture <- function(x, n = 10, ...) {
  cat(what_mixture(x), "\n", x$n_seen, " rows learned, ", length(x$inputs), " columns\n",
      sep = "")
  shown <- x$components[seq_len(min(n, nrow(x$components))),
                        seq_len(min(8L, ncol(x$components))), drop = FALSE]
  print(shown, digits = 4L, row.names = FALSE)
  if (nrow(shown) < nrow(x$components))
    cat("and", nrow(x$components) - nrow(shown), "more\n")
  invisible(x)
}

summary.dyntree_mixture <- function(object, ...) {
  no_more(...)
  reply <- list(what = what_mixture(object), n_seen = object$n_seen,
               components = object$components, rows = table(object$cluster))
  if (!is.null(object$log_likelihood)) reply$logLik <- logLik.canopy_mixture(object)
  if (!is.null(object$lifelines)) {
    lines <- object$lifelines
    reply$lifelines <- as_answer(
      lines$count, phase_names(object), data.frame(row.names = as.character(lines$id)))
  }
  structure(reply, class = "summary.dyntree_mixture")
}

# Labels of the phases that lifelines have.
phase_names <- function(object) {
  first <- object$lifelines$first
  labels <- as.character(object$phases)
  labels[first:length(labels)]
}

print.summary.dyntree_mixture <- function(x, digits = max(3L, getOption("digits") - 3L),
                                          ...) {
  cat(x$what, "\n", x$n_seen, " rows learned\n\ncomponents:\n", sep = "")
  print(x$components, digits = digits, row.names = FALSE)
  if (!is.null(x$logLik)) cat("\nlog likelihood:", format(c(x$logLik), digits = digits), "\n")
  if (!is.null(x$lifelines)) {
    cat("\nrows of each cluster in each phase:\n")
    print(x$lifelines)
  }
  invisible(x)
}

plot.dyntree_mixture <- function(x, newdata = NULL, columns = 1:2, ...) {
  call <- sys.call()
  if (missing(columns)) columns <- seq_len(min(2L, length(x$inputs)))
  names <- if (is.character(columns)) columns else if (is_plain(columns)) names(x$inputs)[columns]
  if (!length(names) || length(names) > 2L || !all(names %in% names(x$inputs)))
    stop(simpleError(paste0("columns must be one or two of ", name_of(names(x$inputs)),
                            "; got ", shown(columns), ". Name them."), call))
  if (is.null(newdata) && inherits(x, "ddp_mixture")) return(plot_lifelines(x, ...))
  if (is.null(newdata) && !nrow(x$components))
    stop(simpleError(paste0("x must have components to draw; it has none yet. Give newdata, or ",
                            "learn more rows by update()."), call))
  draw_components(x, names, if (!is.null(newdata)) new_mixture_rows(x, newdata, call),
                  if (!is.null(newdata)) predict.dyntree_mixture(x, newdata), ...)
  invisible(NULL)
}

# Rows, coloured by cluster, under the centres and the widths of two standard deviations.
draw_components <- function(x, names, rows, cluster, ...) {
  centre <- x$components[names]
  if (length(names) == 1L) {
    over <- if (is.null(rows)) centre[[1L]] else as.numeric(rows[[names]])
    breaks <- if (length(over) > 1L) "Scott" else "Sturges" # which has it of one value
    graphics::hist(over, breaks = breaks, main = "", xlab = names, ...)
    graphics::rug(centre[[1L]], col = 2, lwd = 2)
    return(invisible(NULL))
  }
  all <- if (is.null(rows)) centre else rows[names]
  graphics::plot(as.numeric(all[[1L]]), as.numeric(all[[2L]]), xlab = names[1L],
                 ylab = names[2L], pch = 20,
                 col = if (is.null(cluster)) NA else as.integer(cluster) %% 8L + 1L, ...)
  angle <- seq(0, 2 * pi, length.out = 61L)
  for (k in seq_len(nrow(centre))) {
    S <- covariance_of(x$covariance, k, names)
    if (is.null(S)) next
    ring <- 2 * t(chol(S + diag(1e-12 * max(diag(S)), 2L))) %*% rbind(cos(angle), sin(angle))
    graphics::lines(centre[k, 1L] + ring[1L, ], centre[k, 2L] + ring[2L, ])
  }
  graphics::points(centre[[1L]], centre[[2L]], pch = 3, lwd = 2)
}

# The covariance of two columns in one component; NULL in families of counts.
covariance_of <- function(found, k, names) {
  if (is.null(found)) return(NULL)
  if (is.data.frame(found)) return(diag(unlist(found[k, names])))
  if (is.list(found)) return(found[[k]][names, names])
  diag(found[[k]], 2L)
}

plot_lifelines <- function(x, ...) {
  lines <- x$lifelines
  graphics::matplot(seq_len(ncol(lines$count)) + lines$first - 1L, t(lines$count),
                    type = "b", lty = 1, pch = 20, xlab = "phase", ylab = "rows", ...)
  graphics::legend("topleft", legend = lines$id, col = seq_along(lines$id), lty = 1,
                   title = "cluster", bty = "n", cex = 0.8)
  invisible(NULL)
}
