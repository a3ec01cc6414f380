# What R's own functions ask of a model.

nobs.dyntree <- function(object, ...) {
  check_ours(object)
  removed <- object$removed
  nrow(object[["X"]]) + if (is.null(removed)) 0L else as.integer(removed)
}

# The sum of the log predictive densities of the rows, each before it was learned.
logLik.dyntree <- function(object, ...) {
  check_ours(object)
  if (!is.null(object$R))
    stop("the object holds ", object$R, " repeats, which have no one log likelihood; ",
         "see summary(object)$evidence.", call. = FALSE)
  structure(sum(object$lpred), df = NA_real_, nobs = nobs.dyntree(object), class = "logLik")
}

formula.dyntree <- function(x, ...) {
  check_ours(x)
  found <- attr(x, "formula")
  if (is.null(found))
    stop("the object was fitted to a matrix and has no formula.", call. = FALSE)
  found
}

terms.dyntree <- function(x, ...) stats::terms(formula.dyntree(x))

# In-sample predictions at the active rows, as of predict().
fitted.dyntree <- function(object, ...) {
  no_more(...)
  check_ours(object)
  predict.dyntree(object, type = of_model(object, "response"))
}

residuals.dyntree <- function(object, ...) {
  no_more(...)
  check_ours(object)
  if (object$model == "class") stop_residuals()
  rest <- object$y - predict.dyntree(object)$mean
  stats::naresid(attr(object, "na.action"), named(rest, active_names(object)))
}

# "response", "class", "prob" or "quantile": the parts of a prediction.
of_model <- function(object, type) {
  is_class <- object$model == "class"
  choices <- if (is_class) c("class", "prob") else c("response", "quantile")
  if (identical(type, "response") && is_class) return("class")
  found <- if (is.character(type) && length(type) == 1L) pmatch(type, choices) else NA
  if (is.na(found))
    stop("type must be one of ", quoted(choices), " of this model; got ", shown(type), ".",
         call. = FALSE)
  choices[found]
}

# One part of a prediction.
of_type <- function(object, type) {
  switch(type,
    response = object$mean,
    interval = structure(cbind(object$mean, object$quantiles),
                         dimnames = list(NULL, c("fit", "lwr", "upr"))),
    quantile = {
      if (!is.null(object$quantiles)) return(object$quantiles)
      if (is.null(object$q1))
        stop("type = \"quantile\" needs quants = TRUE.", call. = FALSE)
      cbind("5%" = object$q1, "95%" = object$q2)
    },
    prob = probabilities(object),
    class = factor(colnames(probabilities(object))[max.col(object$p, "first")],
                   levels = colnames(probabilities(object))))
}

# An answer a row, with the names of the rows.
named <- function(answer, names) {
  if (is.null(names)) return(answer)
  if (is.matrix(answer)) rownames(answer) <- names else base::names(answer) <- names
  answer
}

# Probabilities with the names of the levels, where the labels were a factor.
probabilities <- function(object) {
  p <- object$p
  levels <- attr(object, "levels")
  k <- seq_len(ncol(p))
  dimnames(p) <- list(NULL, if (is.null(levels)) as.character(k) else levels[k])
  p
}

variable.names.dyntree <- function(object, ...) {
  check_ours(object)
  inquired_names(object)
}

variable.names.dyntree_trees <- function(object, ...) names(object$inputs)
variable.names.dyntree_mixture <- variable.names.dyntree_trees
variable.names.hdp_topics <- function(object, ...) object$words

case.names.dyntree <- function(object, ...) {
  check_ours(object)
  names <- active_names(object)
  as.character(if (is.null(names)) seq_len(nrow(object[["X"]])) else names)
}

case.names.dyntree_trees <- function(object, ...) row.names(stored_frame(object, sys.call()))

# What has no meaning for a class of fits is an error, where R's default methods have NULL.
no_answer <- function(object, ...)
  stop(refusal(.Generic, object, reasons[[.Generic]], sys.call()))

refusal <- function(generic, object, why, call)
  simpleError(paste0(generic, "() is not for fits of class ", class(object)[1L],
                     if (!is.null(object$model)) paste0(" with model = \"", object$model, "\""),
                     ": ", why), call)

no_penalty <- paste("they have no number of parameters. Compare logLik() over the same rows,",
                    "which needs no penalty.")

reasons <- c(
  case.names = "they store no rows.",
  anova = "it fits rows again in other orders. Compare logLik() over the same rows.",
  deviance = "they have a log evidence or a free energy in its place.",
  df.residual = "they have no number of parameters.",
  AIC = no_penalty,
  BIC = no_penalty,
  sigma = "they have no response.",
  fitted = "they store no rows. Call predict() with rows.",
  residuals = "they have no response.",
  weights = "they store no rows.",
  coef = "they have no coefficients; see summary().",
  vcov = "what they say of inputs has no covariance; predict(se.fit = TRUE) has errors of means.",
  logLik = "they store no rows. sum(predict(object, newdata, type = \"density\")) is that of any.",
  prior = "their leaves predict nothing.")
