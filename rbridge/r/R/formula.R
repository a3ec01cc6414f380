dynaTree.formula <- function(formula, data = NULL, subset, na.action = NULL,
                             weights = NULL, offset = NULL, exposure = NULL, ...) {
  call <- match.call()
  if (missing(formula)) stop("the formula must come first, or as formula.", call. = FALSE)
  check_rules(as.list(call))
  asked <- frame_call(call, na.action)
  asked$data <- data
  frame <- no_integer64(learned_frame(asked, parent.frame()))
  terms <- attr(frame, "terms")
  y <- stats::model.response(frame)
  if (is.null(y))
    stop("formula must have a response; got ", deparse(stats::formula(terms))[1L], ".",
         call. = FALSE)
  if (!nrow(frame))
    stop("data must have at least one row to learn, with a response; got none.",
         call. = FALSE)
  if (!length(attr(terms, "term.labels")))
    stop("formula must have an input; got ", deparse(stats::formula(terms))[1L],
         ". Name one right of ~.", call. = FALSE)
  inputs <- as_coded(design(stats::delete.response(terms), frame), frame)
  if (is.na(match("model", ...names()))) check_no_numbers(y, NULL)
  if (is.character(y)) y <- as.factor(y)
  weights <- frame[["(weights)"]]
  offset <- stats::model.offset(frame)
  exposure <- frame[["(exposure)"]]
  if (is_labels(y) && rules() == "native" && is.na(match("model", ...names()))) {
    object <- dynaTree.default(inputs, y, ..., model = "class", exposure = exposure,
                               weights = weights, offset = offset)
  } else {
    object <- dynaTree.default(inputs, y, ..., exposure = exposure, weights = weights,
                               offset = offset)
  }
  if (!attr(terms, "intercept") && object$model == "linear" && object$icept != "none")
    warning("the formula leaves out the intercept, but linear leaves have one; ",
            "icept = \"none\" fits them without", call. = FALSE)
  attr(object, "call") <- called(call)
  attr(object, "formula") <- stats::formula(terms)
  named <- as.list(call)[intersect(names(call), beside)]
  attr(object, "beside") <- named
  attr(object, "variables") <- variables_of(c(all.vars(terms), names_in(named)), terms, data)
  attr(object, "response") <- attr(terms, "predvars")[[attr(terms, "response") + 1L]]
  attr(object, "excludes") <- is_exclude(asked$na.action)
  attr(object, "na.action") <- left_rows(frame, weights, attr(object, "excludes"))
  light <- which(weights == 0)
  if (length(light)) frame <- rows_of_frame(frame, -light)
  attr(object, "frames") <- list(list(rows = seq_len(nrow(frame)), frame = frame))
  object
}

# The model frame that a fit asks for. Terms with its response are left out, as by lm().
learned_frame <- function(asked, env) {
  frame <- eval(asked, env)
  terms <- attr(frame, "terms")
  factors <- attr(terms, "factors")
  at <- attr(terms, "response")
  bad <- if (at && length(factors)) colnames(factors)[factors[at, ] > 0L]
  if (!length(bad)) return(frame)
  warning("the response appeared on the right-hand side and was dropped: ",
          paste(bad, collapse = ", "), call. = FALSE)
  asked$formula <- stats::update(stats::formula(terms),
                                 paste(c(". ~ .", bad), collapse = " - "))
  eval(asked, env)
}

# Rows of a model frame, as a model frame.
rows_of_frame <- function(frame, places)
  structure(frame[places, , drop = FALSE], terms = attr(frame, "terms"))

# The variables of an object's active rows, as its model frame has them: of the fit, and of
# each update a part with the numbers of its rows. NULL where rows have no names.
active_variables <- function(object) {
  parts <- attr(object, "frames")
  rows <- attr(object, "rows")
  if (is.null(parts)) return(NULL)
  frame <- parts[[1L]]$frame
  if (length(parts) == 1L && identical(rows, parts[[1L]]$rows)) return(frame)
  at <- match(rows, unlist(lapply(parts, `[[`, "rows")))
  frames <- lapply(parts, `[[`, "frame")
  columns <- lapply(stats::setNames(nm = names(frame)), function(name) {
    whole <- one_after_the_other(lapply(frames, `[[`, name))
    if (is.matrix(whole)) whole[at, , drop = FALSE] else whole[at]
  })
  structure(columns, class = "data.frame", terms = attr(frame, "terms"),
            row.names = active_names(object))
}

one_after_the_other <- function(parts) {
  if (is.matrix(parts[[1L]])) return(do.call(rbind, parts))
  if (is.character(parts[[1L]])) parts <- lapply(parts, as.character)
  if (is.factor(parts[[1L]])) parts <- lapply(parts, as.factor)
  do.call(c, parts)
}

max_parts <- 64L # of a model frame, before they are put together

# An object with the variables of rows that it has learned.
with_variables <- function(object, frame) {
  parts <- attr(object, "frames")
  if (is.null(parts) || is.null(frame)) {
    attr(object, "frames") <- NULL
    return(object)
  }
  last <- length(attr(object, "cloud")$names)
  rows <- seq.int(last - nrow(frame) + 1L, length.out = nrow(frame))
  attr(object, "frames") <- c(parts, list(list(rows = rows, frame = frame)))
  if (length(parts) >= max_parts)
    attr(object, "frames") <- list(list(rows = attr(object, "rows"),
                                        frame = active_variables(object)))
  object
}

# The model frame of new rows X in the columns of that of the fit: their inputs, responses,
# and what they have beside, given or as the fit named it.
frame_of_new <- function(object, X, inputs, y, given) {
  names <- names(attr(object, "frames")[[1L]]$frame)
  if (is.null(names)) return(NULL)
  columns <- as.list(inputs)
  columns[[names[1L]]] <- y
  for (name in beside) if (paste0("(", name, ")") %in% names) {
    value <- given[[name]]
    if (is.null(value))
      value <- eval(attr(object, "beside")[[name]], X, environment(attr(object, "terms")))
    columns[[paste0("(", name, ")")]] <- rep_len(value, length(y))
  }
  structure(columns[names], class = "data.frame", row.names = .set_row_names(length(y)))
}

is_exclude <- function(na.action)
  identical(na.action, stats::na.exclude) || identical(na.action, "na.exclude")

# Places of the rows that a fit has left out: those with missing values, and those of weight 0.
left_rows <- function(frame, weights, excludes) {
  out <- attr(frame, "na.action")
  light <- which(weights == 0)
  if (!length(light)) return(out)
  there <- setdiff(seq_len(nrow(frame) + length(out)), out)
  places <- c(stats::setNames(as.integer(out), names(out)),
              stats::setNames(there[light], row.names(frame)[light]))
  structure(sort(places), class = if (excludes) "exclude" else "omit")
}

beside <- c("exposure", "weights", "offset") # what rows have beside inputs and a response

# A call as it is written; lapply() calls a function FUN.
called <- function(call, face = "dynaTree") {
  call[[1L]] <- as.name(face)
  call
}

# The variables in expressions.
names_in <- function(expressions) unlist(lapply(expressions, all.vars))

# Those of them that new rows must have: variables of the data, and others with a value for
# each of its rows. The rest are settings such as knots.
variables_of <- function(variables, terms, data) {
  n <- if (is.data.frame(data)) nrow(data) else
    NROW(eval(attr(terms, "variables")[[2L]], data, environment(terms)))
  is_per_row <- function(name) name %in% names(data) ||
    (n > 1L && NROW(get0(name, environment(terms))) == n)
  Filter(is_per_row, unique(variables))
}

# The call of model.frame() that a call of dynaTree() asks for.
frame_call <- function(call, na.action = NULL) {
  call <- call[c(1L, match(c("formula", "data", "subset", "na.action", beside),
                           names(call), 0L))]
  call[[1L]] <- quote(stats::model.frame)
  call$drop.unused.levels <- rules() != "native" # where a later row may have a declared one
  if (is.null(na.action))
    na.action <- if (rules() == "native") omit_responses else stats::na.omit
  call$na.action <- na.action
  call
}

# Rows without a response, or what they have beside it, are left out, as by lm(); under
# native rules inputs may have gaps.
omit_responses <- function(object, ...) {
  y <- object[[1L]]
  there <- if (is.factor(y)) !is.na(as.character(y)) else # addNA() makes a level of NA
    stats::complete.cases(y)
  offsets <- names(object)[attr(attr(object, "terms"), "offset")]
  for (name in intersect(c(paste0("(", beside, ")"), offsets), names(object)))
    there <- there & stats::complete.cases(object[[name]])
  if (all(there)) return(object)
  out <- stats::setNames(which(!there), row.names(object)[!there])
  complete <- object[there, , drop = FALSE]
  attr(complete, "na.action") <- structure(out, class = "omit")
  complete
}

# Labels of native rules make a classification where no model is named.
is_labels <- function(y) is.factor(y) || is.logical(y)

counts <- c("poisson", "negbin") # whose rows have exposures

# Values that rows have beside, one a row, or an error for those that the model or its
# rules do not have.
check_beside <- function(model, native, given, n, rows = NULL) {
  check_exposed(model, given$exposure)
  check_rules(given, native)
  if (!is.null(given$offset) && !model %in% c("mixed", "linear", "constant", counts))
    stop("offset is for regressions and counts; got it with model = \"", model,
         "\". Leave it out.", call. = FALSE)
  for (name in names(given)) given[name] <- list(per_row(given[[name]], name, n, rows))
  weights <- given$weights
  if (!is.null(weights) && any(weights < 0))
    stop("weights must be >= 0; got ", weights[weights < 0][1L], " in row ",
         row_label(which(weights < 0)[1L], rows), ".", call. = FALSE)
  if (model %in% counts) {
    given$exposure <- exposed(given$offset, given$exposure)
    given["offset"] <- list(NULL)
  }
  given
}

check_rules <- function(given, native = rules() == "native") {
  for (name in c("weights", "offset")) if (!is.null(given[[name]]) && !native)
    stop("R's rules have no ", name, "; options(dyntree.rules = \"native\") has. ",
         if (name == "offset") "Or subtract it from the response, and add it to predictions."
         else "Leave it out.", call. = FALSE)
}

check_exposed <- function(model, exposure) {
  if (!is.null(exposure) && !model %in% counts)
    stop("exposure is for counts, model = \"poisson\" or \"negbin\"; got it with model = \"",
         model, "\". Leave it out.", call. = FALSE)
}

# An offset is the logarithm of an exposure, which multiplies one that was given beside it.
exposed <- function(offset, exposure) {
  if (is.null(offset)) return(exposure)
  if (is.null(exposure)) exp(offset) else exp(offset) * exposure
}

# Finite numbers, one a row; one number is that of all rows.
per_row <- function(value, name, n, rows) {
  if (is.null(value)) return(NULL)
  check_numbers(value, name)
  if (length(value) == 1L) value <- rep(value, n)
  if (length(value) != n)
    stop(name, " must have one value a row, ", n, "; got ", length(value), ".",
         call. = FALSE)
  bad <- which(!is.finite(value))
  if (length(bad))
    stop(name, " must be finite; got ", value[bad[1L]], " in row ",
         row_label(bad[1L], rows), ".", call. = FALSE)
  as.numeric(value)
}

# The same of new rows: what is given, or of a fit by formula what that names. Rows that
# are learned may lack a value, and are left out by formula; `there` says which do not.
new_beside <- function(object, X, given, n, learns = FALSE) {
  by_formula <- !is.null(attr(object, "formula")) && is.data.frame(X)
  if (!by_formula) check_given(object, given)
  if (learns && is.null(attr(object, "formula"))) warn_of_defaults(object, given)
  if (!by_formula && all(vapply(given, is.null, NA))) return(given)
  terms <- attr(object, "terms")
  for (name in names(given)) {
    named <- attr(object, "beside")[[name]]
    if (by_formula && is.null(given[[name]]) && !is.null(named)) {
      lost <- lacking(object, all.vars(named), X)
      value <- if (!length(lost)) eval(named, X, environment(terms))
      per_row <- intersect(all.vars(named), attr(object, "variables"))
      if (!length(per_row) && length(value) > 1L) lost <- "values of their own"
      if (length(lost))
        stop(name, " must be given, or be among the new rows as in the fit, ",
             deparse(named)[1L], "; they have no ", paste(lost, collapse = ", "), ".",
             call. = FALSE)
      given[name] <- list(value)
    }
  }
  if (by_formula && !is.null(attr(terms, "offset"))) {
    more <- stats::model.offset(new_frame(object, X))
    given$offset <- if (is.null(given$offset)) more else given$offset + more
  }
  there <- TRUE
  if (learns && by_formula) for (name in names(given)) {
    gaps <- is.na(given[[name]])
    if (!any(gaps) || length(gaps) != n) next
    there <- there & !gaps
    given[[name]][gaps] <- if (name == "offset") 0 else 1
  }
  checked <- check_beside(object$model, is_native(object), given, n, row_names(object, X))
  c(checked, if (learns) list(there = there))
}

# What a fit by formula has beside its inputs is not to be found in rows without names.
check_given <- function(object, given) {
  has <- names(attr(object, "beside"))
  if (!is.null(attr(attr(object, "terms"), "offset"))) has <- c(has, "offset")
  lost <- intersect(names(given)[vapply(given, is.null, NA)], has)
  if (length(lost))
    stop(lost[1L], " must be given beside new rows that are no data frame, as the fit by ",
         "formula has it; got none. Give ", lost[1L], " =, or a data frame of the variables.",
         call. = FALSE)
}

# Warns if rows are learned without values that rows of the fit had.
warn_of_defaults <- function(object, given) {
  had <- c(exposure = any(object$exposure != 1), weights = any(object$weights != 1),
           offset = any(active_offset(object) != 0))
  for (name in names(had)[had]) if (is.null(given[[name]]))
    warning(name, " is ", if (name == "offset") 0 else 1, " in these rows, as none is ",
            "given, but rows of the fit had ", name, ". Give ", name, " =.",
            call. = FALSE)
}

is_native <- function(object) identical(object[["rules"]], "native")

# A formula refits, as R's own update() does; so does a call with neither rows nor formula.
refitted <- function(object, call, env) {
  asked <- as.list(call)[-1L]
  asked$object <- NULL
  names(asked)[names(asked) %in% c("X", "formula.")] <- "formula"
  call <- getCall.dyntree(object)
  if (!is.null(asked$formula))
    asked$formula <- stats::update(formula.dyntree(object), eval(asked$formula, env))
  now <- is.null(asked$evaluate) || isTRUE(eval(asked$evaluate, env))
  asked$evaluate <- NULL
  call[names(asked)] <- asked
  if (!now) return(call)
  old <- options(dyntree.rules = if (is_native(object)) "native" else "r")
  on.exit(options(old))
  call[[1L]] <- quote(dyntree::dynaTree)
  eval(call, env)
}

getCall.dyntree <- function(x, ...) {
  check_ours(x)
  attr(x, "call")
}

# The variables of the active rows; of arguments that are given, those of another fit.
model.frame.dyntree <- function(formula, ...) {
  asked <- list(...)
  names <- intersect(names(asked), c("data", "subset", "na.action", beside))
  if (!length(names)) {
    frame <- active_variables(formula)
    if (!is.null(frame)) return(frame)
    formula.dyntree(formula) # or it has none
    stop("rows of the fit were learned as a matrix, without the variables of its formula. ",
         "Give data =, or update() with data frames.", call. = FALSE)
  }
  call <- getCall.dyntree(formula)
  call$formula <- formula.dyntree(formula)
  call[names] <- asked[names]
  env <- environment(call$formula)
  action <- eval(call$na.action, env)
  if (is.null(action) && is_native(formula)) action <- omit_responses
  if (is.null(action)) action <- stats::na.omit
  eval(frame_call(call, action), env)
}
