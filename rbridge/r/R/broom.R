# What packages around broom ask of a fit; their generics are those of the package
# generics, with which these methods are registered where it is there.

# Packages that tidy any model pass on arguments such as conf.int, which are for some.
warn_of_unused <- function(...) {
  if (...length())
    warning("these arguments are not used: ", names_or_values(...), call. = FALSE)
}

tidy.dyntree <- function(x, ...) {
  warn_of_unused(...)
  used <- inputs_used(x)
  data.frame(term = colnames(used), use = used["use", ], total = used["total", ],
             row.names = NULL)
}

tidy.dyntree_trees <- function(x, ...) {
  warn_of_unused(...)
  shares <- ask_model(x, "importance", list(), sys.call())
  data.frame(term = shares$input, share = shares$share)
}

tidy.dyntree_mixture <- function(x, ...) {
  warn_of_unused(...)
  x$components
}

# A row for each word of each topic, in the names of the package tidytext.
tidy.hdp_topics <- function(x, ...) {
  warn_of_unused(...)
  p <- as.matrix(coef.hdp_topics(x))
  data.frame(topic = rep(x$topics$topic, ncol(p)), term = rep(colnames(p), each = nrow(p)),
             beta = c(p))
}

glance.dyntree <- function(x, ...) {
  warn_of_unused(...)
  cloud_of(x, sys.call())
  trees <- treestats(x)
  active <- nrow(x[["X"]])
  data.frame(model = x$model, rules = if (is_native(x)) "native" else "r", N = x$N,
             nobs = nobs.dyntree(x), active = active, retired = nobs.dyntree(x) - active,
             logLik = sum(x$lpred), height = trees$avgheight, leaves = trees$avgleaves)
}

glance.dyntree_trees <- function(x, ...) {
  warn_of_unused(...)
  data.frame(model = x$model, N = x$n_particles, nobs = x$n_seen,
             active = nrow(stored_frame(x, sys.call())),
             members = if (!is.null(x$members)) nrow(x$members) else
               if (is.null(x$n_clouds)) 1L else as.integer(x$n_clouds),
             logLik = x$log_evidence)
}

glance.dyntree_mixture <- function(x, ...) {
  warn_of_unused(...)
  data.frame(clusters = nrow(x$components), columns = length(x$inputs), nobs = x$n_seen,
             logLik = if (is.null(x$log_likelihood)) NA_real_ else x$log_likelihood)
}

glance.hdp_topics <- function(x, ...) {
  warn_of_unused(...)
  data.frame(topics = nrow(x$topics), terms = length(x$words), documents = x$n_documents,
             nobs = x$n_seen, free.energy = x$free_energy)
}

augment.dyntree <- function(x, data = NULL, newdata = NULL, ...) {
  warn_of_unused(...)
  asked <- if (is.null(newdata)) data else newdata
  rows <- if (is.null(asked)) active_frame(x) else as.data.frame(asked)
  given <- if (is.null(attr(x, "terms"))) asked else rows
  gaps <- if (!is.null(asked) && nrow(rows))
    left_out(x, new_rows(x, given), NULL, "response", NULL)
  reply <- if (is.null(asked)) predict.dyntree(x) else if (nrow(rows) > length(gaps))
    predict.dyntree(x, given, na.action = if (!is.null(gaps)) stats::na.exclude) else
    at_no_rows(x, given)
  if (is.null(asked)) warn_of_excluded(attr(x, "na.action"))
  if (x$model == "class") {
    rows$.fitted <- stats::napredict(gaps, of_type(reply, "class"))
    rows$.prob <- stats::napredict(gaps, as.numeric(apply(reply$p, 1L, max)))
    return(rows)
  }
  rows$.fitted <- stats::napredict(gaps, reply$mean)
  rows$.lower <- stats::napredict(gaps, reply$q1)
  rows$.upper <- stats::napredict(gaps, reply$q2)
  y <- if (is.null(asked)) x$y else response_among(x, rows)
  if (!is.null(y)) rows$.resid <- y - rows$.fitted
  rows
}

# As methods of broom do: only the data have the variables of rows that were left out.
warn_of_excluded <- function(gaps) {
  if (inherits(gaps, "exclude"))
    warning("the rows that na.exclude() left out are not among these; give data = to have them",
            call. = FALSE)
}

# What is predicted at no rows, whose columns are those of a fit.
at_no_rows <- function(object, rows) {
  new_rows(object, rows)
  reply <- predict.dyntree(object)
  for (name in c("mean", "q1", "q2")) reply[[name]] <- reply[[name]][0L]
  if (!is.null(reply[["p"]])) reply$p <- reply$p[0L, , drop = FALSE]
  reply
}

augment.dyntree_trees <- function(x, data = NULL, newdata = NULL, ...) {
  warn_of_unused(...)
  call <- sys.call()
  asked <- if (is.null(newdata)) data else newdata
  rows <- if (is.null(asked)) stored_frame(x, call) else as.data.frame(asked)
  if (is.null(asked)) warn_of_excluded(attr(x, "na.action"))
  frame <- if (is.null(asked)) rows else
    new_inputs(x, rows, stats::delete.response(x$terms), FALSE, call)$frame
  if (!is.null(asked) && x$model %in% counts)
    frame[["(exposure)"]] <- new_extra(x, "exposure", NULL, rows, call)
  reply <- predicted_at(x, frame, call, probs = c(0.05, 0.95), has_response = is.null(asked))
  if (x$model == "class") {
    rows$.fitted <- unname(labelled(reply, x$labels, "class", frame))
    rows$.prob <- apply(reply$prob, 1L, max)
    return(rows)
  }
  rows$.fitted <- reply$mean
  rows$.lower <- reply$quantile[, 1L]
  rows$.upper <- reply$quantile[, 2L]
  y <- response_of(x, rows, is.null(asked))
  if (!is.null(y)) rows$.resid <- y - reply$mean
  rows
}

# The responses of rows: of a model frame, or of others that have the variables.
response_of <- function(object, rows, is_frame) {
  if (is_frame) return(as.numeric(rows[[1L]]))
  terms <- object$terms
  response <- stats::formula(terms)[[2L]]
  if (!all(all.vars(response) %in% names(rows))) return(NULL)
  predvars <- attr(terms, "predvars")
  place <- attr(terms, "response") + 1L
  as.numeric(eval(if (is.null(predvars)) response else predvars[[place]], rows,
                  environment(terms)))
}

augment.dyntree_mixture <- function(x, data = NULL, newdata = NULL, ...) {
  warn_of_unused(...)
  rows <- asked_rows(x, data, newdata, sys.call())
  rows$.cluster <- unname(predict.dyntree_mixture(x, rows))
  rows$.density <- unname(predict.dyntree_mixture(x, rows, type = "density"))
  rows
}

# A row for each document, with its most probable topic.
augment.hdp_topics <- function(x, data = NULL, newdata = NULL, ...) {
  warn_of_unused(...)
  asked <- if (is.null(newdata)) data else newdata
  if (is.null(asked)) asked_rows(x, NULL, NULL, sys.call())
  prob <- predict.hdp_topics(x, asked)
  data.frame(document = row.names(prob),
             .topic = factor(names(prob)[max.col(as.matrix(prob), "first")], names(prob)),
             .prob = apply(as.matrix(prob), 1L, max), row.names = NULL)
}

# Rows that must be given, as the object stores none.
asked_rows <- function(x, data, newdata, call) {
  asked <- if (is.null(newdata)) data else newdata
  if (is.null(asked))
    stop(simpleError(paste0("data must be given for fits of class ", class(x)[1L],
                            ", which store no rows. Give those of the fit."), call))
  as.data.frame(asked)
}

# The rows that an object holds, with the variables of its formula where it has them.
active_frame <- function(object) {
  frame <- active_variables(object)
  if (!is.null(frame)) return(frame)
  X <- as.data.frame(active_rows(object))
  names <- active_names(object)
  if (!is.null(names)) row.names(X) <- names
  X
}

# The response of a fit by formula where a frame has it; NULL else.
response_among <- function(object, frame) {
  formula <- attr(object, "formula")
  if (is.null(formula) || !all(all.vars(formula[[2L]]) %in% names(frame))) return(NULL)
  response_in(object, frame)
}
