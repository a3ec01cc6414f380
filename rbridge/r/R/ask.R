# Called row by row: what is as by default stays here.
predict.dyntree <- function(object, XX, yy = NULL, quants = TRUE, ei = FALSE, verb = 0,
                            exposure = NULL, type = NULL, probs = c(0.05, 0.95),
                            offset = NULL, na.action = NULL, newdata,
                            interval = c("none", "confidence", "prediction"),
                            level = 0.95, se.fit = FALSE, ...) {
  no_more(...)
  call <- sys.call()
  idle <- c(probs = !missing(probs), level = !missing(level) && missing(interval))
  kind <- if (missing(interval)) "none" else chosen(interval, "interval", intervals_known)
  check_flag(se.fit, "se.fit")
  if (kind != "none") {
    type <- of_interval(object, type, paste0("interval = \"", kind, "\""), "interval")
    probs <- 0.5 + c(-0.5, 0.5) * share(level, "level")
  } else if (se.fit) {
    type <- of_interval(object, type, "se.fit = TRUE", "response")
  }
  if (!missing(newdata)) {
    if (!missing(XX)) stop("give XX or newdata, not both.", call. = FALSE)
    XX <- newdata
  }
  check_flag(quants, "quants")
  check_flag(ei, "ei")
  if (!is.null(type) && !identical(type, "interval")) type <- of_model(object, type)
  if (is_native(object) || !is.null(type)) check_idle(idle, type, kind) # R's ignores others
  asked <- if (!missing(XX)) XX
  if (missing(XX)) { # at the active rows
    if (!is.null(exposure)) stop_beside("exposure")
    if (!is.null(offset)) stop_beside("offset")
    names <- active_names(object)
    more <- list(exposure = object$exposure, offset = active_offset(object))
    XX <- active_rows(object)
    gaps <- attr(object, "na.action")
  } else {
    names <- if (!is.null(type)) row_names(object, XX)
    more <- new_beside(object, XX, list(exposure = exposure, offset = offset), NROW(XX))
    XX <- new_rows(object, XX)
    gaps <- left_out(object, XX, names, type, na.action)
    if (!is.null(gaps)) {
      if (!is.null(yy) && length(yy) == nrow(XX)) yy <- yy[-gaps]
      XX <- XX[-gaps, , drop = FALSE]
      names <- names[-gaps]
      more <- lapply(more, function(values) values[-gaps])
    }
    if (!is.null(type) && !nrow(XX)) { # no answers, as those of the active rows are made
      answer <- if (type %in% c("quantile", "interval"))
        predict.dyntree(object, type = type, probs = probs) else
        predict.dyntree(object, type = type)
      answer <- if (is.matrix(answer)) answer[0L, , drop = FALSE] else answer[0L]
      answer <- stats::napredict(gaps, named(answer, names))
      return(if (!se.fit) answer else list(fit = answer, se.fit = stats::napredict(
        gaps, named(numeric(), names))))
    }
  }
  given <- list(XX = XX)
  if (!is.null(more$exposure)) given$exposure <- more$exposure
  if (!is.null(yy)) given$yy <- beyond(new_response(object, yy, "yy"), more$offset)
  if (!quants) given$quants <- FALSE
  if (ei) given$ei <- improvement(object)
  if (!identical(verb, 0)) given["verb"] <- list(verb)
  # which checks them; names that nobody asked for are looked up for an error alone
  object <- extended(object, "predict", given, call, rows = if (is.null(names))
    labels_left(row_names(object, asked), gaps) else names)
  if (!quants) object[c("q1", "q2")] <- NULL
  if (!ei) object$ei <- NULL
  object$XXoffset <- more$offset
  if (!is.null(more$offset)) for (field in c("mean", "q1", "q2"))
    if (!is.null(object[[field]])) object[[field]] <- object[[field]] + more$offset
  if (is.null(type)) return(at(object, XX))
  of_mean <- if (kind == "confidence" || se.fit)
    quantiles(object, XX, probs, more, call, "of_mean")
  if (kind == "confidence") object$quantiles <- of_mean$quantile
  else if (type == "interval" || (type == "quantile" && !identical(probs, c(0.05, 0.95))))
    object$quantiles <- quantiles(object, XX, probs, more, call)$quantile
  fit <- stats::napredict(gaps, named(of_type(object, type), names))
  if (!se.fit) return(fit)
  list(fit = fit, se.fit = stats::napredict(gaps, named(of_mean$se, names)))
}

intervals_known <- c("none", "confidence", "prediction")

# Refuses probabilities that have no effect. Beside interval = "none" that is named, a level
# has none for lm() either, and functions that draw a fit pass both.
# idle: whether probs is given, and whether level is without an interval.
check_idle <- function(idle, type, interval, call = NULL) {
  with <- if (interval != "none") paste0("with interval = \"", interval, "\"") else
    if (is.null(type)) "without a type" else paste0("with type = \"", type, "\"")
  if (idle[["probs"]] && (interval != "none" || !any(type %in% c("quantile", "interval"))))
    stop(simpleError(paste0("probs is for type = \"quantile\"; got it ", with,
                            if (interval != "none") ". Give level in its place." else
                              ". Give that type, or leave probs out."), call))
  if (idle[["level"]])
    stop(simpleError(paste0("level is for interval = \"confidence\" or \"prediction\"; got it ",
                            "without an interval. Give one, or leave level out."), call))
}

labels_left <- function(names, gaps) if (is.null(gaps)) names else names[-gaps]

# The type of an answer with an interval or a standard error, for a model that has some.
of_interval <- function(object, type, asked, answer) {
  check_ours(object)
  if (object$model == "class")
    stop(asked, " is for numbers and counts; labels have probabilities, type = \"prob\".",
         call. = FALSE)
  if (!is.null(type) && !identical(type, "response"))
    stop(asked, " is for type = \"response\"; got ", shown(type),
         ". Leave one of them out.", call. = FALSE)
  answer
}

share <- function(x, name) {
  if (!is_single(x, is_number) || x <= 0 || x >= 1)
    stop(name, " must be a number between 0 and 1; got ", shown(x), ". 0.95 is 95 percent.",
         call. = FALSE)
  x
}

# The inputs of the active rows of an object.
active_rows <- function(object) {
  X <- object[["X"]]
  if (ones(object)) X[, -1L, drop = FALSE] else X
}

beyond <- function(y, offset) if (is.null(offset) || length(y) != length(offset)) y else
  y - offset

improvement <- function(object) {
  if (!is.null(attr(object, "cloud")$offset))
    stop("ei is for responses without an offset; this fit has one. Leave it out.",
         call. = FALSE)
  TRUE
}

# Places of rows with missing values that get no answer, by what na.action does with them;
# by default that of the fit, if it is na.exclude() and one part alone is asked for.
left_out <- function(object, XX, names, type, na.action) {
  if (is.null(na.action)) {
    if (is.null(type) || !isTRUE(attr(object, "excludes"))) return(NULL)
    na.action <- stats::na.exclude
  }
  found <- if (is.character(na.action) && length(na.action) == 1L)
    get0(na.action, mode = "function") else na.action
  if (!is.function(found)) refuse(na.action, "na.action", "be a function or its name")
  frame <- as.data.frame(unname(XX))
  if (!is.null(names)) row.names(frame) <- make.unique(as.character(names))
  complete <- found(frame)
  if (!is.data.frame(complete)) refuse(na.action, "na.action", "give a data frame")
  attr(complete, "na.action")
}

# Averages of the particles' quantiles, a column each; of counts those of their mixture.
# of: "of_mean" for the quantiles of the mean, which have its standard deviation beside.
quantiles <- function(object, XX, probs, more, call, of = "quantiles") {
  check_numbers(probs, "probs")
  bad <- probs[is.na(probs) | probs <= 0 | probs >= 1]
  if (!length(probs) || length(bad))
    stop("probs must be between 0 and 1; got ", if (length(bad)) bad[1L] else shown(probs),
         ".", call. = FALSE)
  given <- list(XX = XX, probs = as.numeric(probs))
  if (!is.null(more$exposure)) given$exposure <- more$exposure
  reply <- ask_cloud(object, of, given, call)
  if (of == "quantiles") reply <- list(quantile = reply)
  if (!is.null(more$offset)) reply$quantile <- reply$quantile + more$offset
  colnames(reply$quantile) <- percents(probs)
  reply
}

# Of linear leaves their coefficients at rows; without rows the average effects of inputs.
coef.dyntree <- function(object, XX, verb = 0, ...) {
  no_more(...)
  if (missing(XX)) {
    check_ours(object)
    if (object$model == "prior") stop(refusal("coef", object, reasons[["prior"]], sys.call()))
    return(effects_of(object, sys.call()))
  }
  given <- list(XX = new_rows(object, XX), verb = verb)
  extended(object, "coef", given, sys.call(), rows = row_names(object, XX))
}

alc <- function(object, XX, rect = NULL, categ = NULL, approx = FALSE, Xref = NULL,
                probs = NULL, verb = 0) UseMethod("alc")

alc.dyntree <- function(object, XX, rect = NULL, categ = NULL, approx = FALSE,
                        Xref = NULL, probs = NULL, verb = 0) {
  asked <- XX
  XX <- new_rows(object, XX)
  if (!is.null(Xref)) Xref <- new_rows(object, Xref)
  given <- list(XX = XX, rect = rect, categ = categ, approx = approx, Xref = Xref,
                probs = probs, verb = verb)
  object <- at(extended(object, "alc", given, sys.call(),
                        rows = row_names(object, asked)), XX)
  if (!is.null(Xref)) object$categ <- NULL
  named_Xref(object, if (is.null(Xref)) object[["X"]] else X_like(object, Xref))
}

# References keep the names of their columns; Python has them transposed.
named_Xref <- function(object, from) {
  if (!is.null(object[["Xref"]]) && !is.null(colnames(from)))
    rownames(object[["Xref"]]) <- colnames(from)
  object
}

alcX <- function(object, rect = NULL, categ = NULL, approx = FALSE,
                 verb = 0) UseMethod("alcX")

alcX.dyntree <- function(object, rect = NULL, categ = NULL, approx = FALSE, verb = 0) {
  given <- list(rect = rect, categ = categ, approx = approx, verb = verb)
  extended(object, "alcX", given, sys.call())
}

qEI <- function(object, XX, q = 0, alpha = 2, verb = 0) UseMethod("qEI")

qEI.dyntree <- function(object, XX, q = 0, alpha = 2, verb = 0) {
  asked <- XX
  XX <- new_rows(object, XX)
  given <- list(XX = XX, q = q, alpha = alpha, verb = verb)
  at(extended(object, "qEI", given, sys.call(),
                        rows = row_names(object, asked)), XX)
}

qEntropy <- function(object, XX, q = 0, verb = 0) UseMethod("qEntropy")

qEntropy.dyntree <- function(object, XX, q = 0, verb = 0) {
  asked <- XX
  XX <- new_rows(object, XX)
  given <- list(XX = XX, q = q, verb = verb)
  at(extended(object, "qEntropy", given, sys.call(),
                        rows = row_names(object, asked)), XX)
}

sens <- function(object, class = NULL, nns = 1000, nME = 100, span = 0.3,
                 method = c("lhs", "boot"), lhs = NULL, categ = NULL,
                 verb = 0) UseMethod("sens")

sens.dyntree <- function(object, class = NULL, nns = 1000, nME = 100, span = 0.3,
                         method = c("lhs", "boot"), lhs = NULL, categ = NULL,
                         verb = 0) {
  given <- list(class = class, nns = nns, nME = nME, span = span,
                method = chosen(method, "method", c("lhs", "boot")), lhs = lhs,
                categ = categ, verb = verb)
  after <- extended(object, "sens", given, sys.call())
  for (name in c("MEmean", "MEq1", "MEq2", "S", "T")) {
    old <- object[[name]] # by class, where classes were asked for before
    if (is.list(old) && is.list(after[[name]]))
      after[[name]] <- other_classes(after[[name]], old)
  }
  after
}

# Values by class, with old ones where there are none.
other_classes <- function(new, old) {
  length(new) <- max(length(new), length(old))
  missing <- which(vapply(new, is.null, NA))
  new[missing] <- old[missing]
  new
}

relevance <- function(object, rect = NULL, categ = NULL, approx = FALSE,
                      verb = 0) UseMethod("relevance")

relevance.dyntree <- function(object, rect = NULL, categ = NULL, approx = FALSE,
                              verb = 0) {
  given <- list(rect = rect, categ = categ, approx = approx, verb = verb)
  extended(object, "relevance", given, sys.call())
}

treestats <- function(object) UseMethod("treestats")

treestats.dyntree <- function(object) {
  as.data.frame(ask_cloud(object, "treestats", list(), sys.call()))
}

varpropuse <- function(object) UseMethod("varpropuse")

varpropuse.dyntree <- function(object) {
  ask_cloud(object, "varpropuse", list(), sys.call())
}

varproptotal <- function(object) UseMethod("varproptotal")

varproptotal.dyntree <- function(object) {
  ask_cloud(object, "varproptotal", list(), sys.call())
}

getBF <- function(obj1, obj2) {
  fits <- list(obj1 = obj1, obj2 = obj2)
  for (name in names(fits)) if (!is.list(fits[[name]]) || is.null(fits[[name]]$lpred))
    stop(name, " must be what dynaTree() or dynaTrees() returned")
  given <- lapply(fits, function(fit) list(lpred = as.matrix(fit$lpred)))
  ask("getBF", given, sys.call())$value
}

alcalc <- function(obj, method = c("alm", "alc", "ei", "ieci", "qEntropy", "qEI"),
                   prec = 1) {
  method <- chosen(method, "method", c("alm", "alc", "ei", "ieci", "qEntropy", "qEI"))
  fields <- unclass(obj)[intersect(c("var", "alc", "ei", "ieci", "qEntropy", "qEI"),
                                   names(obj))]
  given <- list(obj = fields, method = method, prec = prec)
  ask("alcalc", given, sys.call())$value
}

# Inside the package, as in R's dynaTree: reached by dyntree:::
classprobs <- function(object, class, XX, output = c("p", "c", "both"),
                       verb = 0) UseMethod("classprobs")
classprobs.dyntree <- function(object, class, XX, output = c("p", "c", "both"),
                               verb = 0) {
  given <- list(class = class, XX = new_rows(object, XX),
                output = chosen(output, "output", c("p", "c", "both")), verb = verb)
  extended(object, "classprobs", given, sys.call(), rows = row_names(object, XX))
}

entropyX <- function(object, verb = 0) UseMethod("entropyX")
entropyX.dyntree <- function(object, verb = 0) {
  extended(object, "entropyX", list(verb = verb), sys.call())
}

ieci <- function(object, XX, Xref = NULL, probs = NULL, verb = 0) UseMethod("ieci")
ieci.dyntree <- function(object, XX, Xref = NULL, probs = NULL, verb = 0) {
  if (!is.null(Xref)) Xref <- new_rows(object, Xref)
  asked <- XX
  XX <- new_rows(object, XX)
  given <- list(XX = XX, Xref = Xref, probs = probs, verb = verb)
  object <- extended(object, "ieci", given, sys.call(), rows = row_names(object, asked))
  named_Xref(object, X_like(object, if (is.null(Xref)) XX else Xref))
}

intervals <- function(object, index, var) UseMethod("intervals")
intervals.dyntree <- function(object, index, var) {
  given <- list(index = index, var = var)
  ask_cloud(object, "intervals", given, sys.call())
}

sameleaf <- function(object, X) UseMethod("sameleaf")
sameleaf.dyntree <- function(object, X) {
  given <- list(X = new_rows(object, X, "X"))
  answered(object, "sameleaf", given, sys.call(), row_names(object, X))$value
}

# Names of the rows and columns of XX, which Python does not keep.
at <- function(object, XX) {
  names <- dimnames(X_like(object, XX))
  if (!is.null(names)) dimnames(object[["XX"]]) <- names
  object
}
