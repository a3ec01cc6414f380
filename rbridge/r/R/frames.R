# Data frames as inputs: the columns that are made of them, at a fit and later.

# A matrix of numbers, as R's dynaTree takes a vector, a matrix or a data frame.
as_inputs <- function(X, name = "X") {
  refuse_formula(X, name)
  if (is.data.frame(X)) check_columns(X, name)
  if (!is.matrix(X)) {
    if (!is.data.frame(X) && !is_plain(X)) refuse(X, name, "hold numbers")
    X <- as.matrix(X)
  }
  if (is.logical(X)) storage.mode(X) <- "double"
  if (!is_number(X)) refuse(X, name, "hold numbers")
  X
}

refuse_formula <- function(x, name) {
  if (inherits(x, "formula"))
    stop(name, " must hold numbers; got a formula, which only dynaTree() takes.",
         call. = FALSE)
}

# Refuses a formula behind the data, in the place of what comes second.
check_order <- function(x, name, face, call = NULL) {
  if (inherits(x, "formula"))
    stop(simpleError(paste0("the formula must come first, ", face, "(formula, data); got it as ",
                            name, "."), call))
}

check_columns <- function(X, name) {
  for (column in names(X)) if (!is_plain(X[[column]]))
    stop(name, " must hold numbers; column ", name_of(column), " is ", sort_of(X[[column]]),
         if (takes(X[[column]])) paste0(", which options(dyntree.rules = \"native\") takes at a ",
                                        "fit, and so do formulas. Else make columns of numbers ",
                                        "of it first.") else ". Make numbers of it first.",
         call. = FALSE)
}

sort_of <- function(x) {
  if (is.character(x)) return("text")
  if (is.atomic(x) && !is.object(x)) content(x) else shown(x)
}

# Inputs of a fit, with attributes from which later frames are read: under native rules a
# frame may have columns of other kinds, which become what a formula makes of them.
fit_inputs <- function(X, name = "X", native = rules() == "native") {
  if (!native || !is.data.frame(X) || all(vapply(X, is_plain, NA)))
    return(as_inputs(X, name))
  for (column in names(X)) if (!takes(X[[column]]))
    stop(name, " must hold numbers, factors, text, logicals, dates or times; column ",
         column, " is ", shown(X[[column]]), ".", call. = FALSE)
  if (!nrow(X)) stop(name, " must have at least one row; got none.", call. = FALSE)
  for (column in names(X)) if (n_levels(X[[column]]) %in% 0:1)
    stop(name, " must have columns with two levels or more; ", column, " has ",
         n_levels(X[[column]]), ".", call. = FALSE)
  terms <- stats::terms(~ ., data = X)
  environment(terms) <- baseenv()
  frame <- stats::model.frame(terms, X, na.action = stats::na.pass)
  as_coded(design(attr(frame, "terms"), frame), frame)
}

n_levels <- function(x)
  if (is.factor(x)) nlevels(x) else if (is.character(x)) length(unique(x[!is.na(x)])) else
    NA_integer_

takes <- function(x) is_plain(x) || is.factor(x) || is.character(x) ||
  inherits(x, "Date") || inherits(x, "POSIXct") || inherits(x, "difftime")

# Warns of columns of text that hold numbers or dates, each of which is then a level.
warn_of_text <- function(frame, terms) {
  for (name in names(Filter(is.character, frame[intersect(all.vars(terms), names(frame))]))) {
    texts <- unique(frame[[name]][!is.na(frame[[name]])])
    if (length(texts) > 1L) ask("warn_of_text", list(name = name, texts = texts), NULL)
  }
}

# Columns made of a frame, with what they were made by.
as_coded <- function(inputs, frame) {
  terms <- stats::delete.response(attr(frame, "terms"))
  warn_of_text(frame, terms)
  structure(inputs, terms = terms, xlevels = stats::.getXlevels(terms, frame),
            times = times_in(frame))
}

# What numbers dates and times are: days, seconds, or the units of a difference. R's own
# functions take one for the other.
times_in <- function(frame) unlist(lapply(frame, time_of))

time_of <- function(x) {
  if (inherits(x, "difftime")) return(units(x))
  Find(function(kind) inherits(x, kind), c("Date", "POSIXct"))
}

# A frame of new rows with dates and times of those kinds, and differences in those units.
same_times <- function(frame, times, name, call = NULL) {
  for (column in intersect(names(times), names(frame))) {
    value <- frame[[column]]
    kind <- times[[column]]
    known <- if (kind %in% c("Date", "POSIXct")) kind else "difftime"
    if (all(is.na(value))) next
    if (!inherits(value, known))
      stop(simpleError(paste0("column ", name_of(column), " of ", name, " must be a ", known,
                              ", as in the fit; got ", a_thing(value),
                              ". Convert it first."), call))
    if (known == "difftime") units(frame[[column]]) <- kind
  }
  frame
}

coding <- c("terms", "xlevels", "contrasts", "times")

# What was found out about the frame of a fit, from its inputs to the object.
with_coding <- function(object, inputs) {
  for (name in coding) attr(object, name) <- attr(inputs, name)
  object
}

no_coding <- function(inputs) {
  for (name in coding) attr(inputs, name) <- NULL
  inputs
}

# The columns that a formula makes of a frame, without an intercept; with the contrasts
# that made them of factors.
design <- function(terms, frame, contrasts = NULL) {
  X <- stats::model.matrix(terms, frame, contrasts.arg = contrasts)
  structure(X[, attr(X, "assign") != 0L, drop = FALSE], contrasts = attr(X, "contrasts"))
}

# New rows of a model: those of its formula or frame, if it has one.
new_rows <- function(object, X, name = "XX") {
  terms <- attr(object, "terms")
  if (is.null(terms) || !is.data.frame(X))
    return(in_place(object, as_inputs(by_name(object, X), name), is.data.frame(X)))
  designed(object, new_frame(object, X, name))
}

# The columns that a fit has made of the variables of new rows.
designed <- function(object, frame) {
  X <- no_coding(design(attr(frame, "terms"), frame, attr(object, "contrasts")))
  dimnames(X)[1L] <- list(NULL)
  X
}

# New rows as the variables of a fit; with its offset and its response where asked for.
new_frame <- function(object, X, name = "XX", terms = attr(object, "terms")) {
  check_variables(object, X, name)
  X <- gaps_of_kind(X, attr(terms, "dataClasses"), attr(object, "times"))
  frame <- no_integer64(stats::model.frame(terms, X, na.action = stats::na.pass))
  frame <- known_levels(frame, attr(object, "xlevels"), name, row_names(object, X),
                        is_native(object))
  stats::.checkMFClasses(attr(attr(object, "terms"), "dataClasses"), frame)
  same_times(frame, attr(object, "times"), name)
}

# A frame whose factors have the levels of the fit; columns of other kinds stay as they are.
known_levels <- function(frame, xlevels, name, rows, native) {
  remedy <- if (native) "Leave such rows out, give NA, or fit with a factor that declares it." else
    "Leave such rows out, or fit with rows that have it."
  for (column in intersect(names(xlevels), names(frame)[are_levels(frame)])) {
    known <- xlevels[[column]]
    value <- frame[[column]]
    check_levels(as.character(value), known, column, remedy, NULL, rows, name)
    frame[[column]] <- factor(value, levels = known, exclude = NULL)
  }
  frame
}

check_variables <- function(object, X, name) {
  lost <- lacking(object, all.vars(attr(object, "terms")), X)
  if (length(lost))
    stop(name, " must have the columns of the fit; it has no ",
         paste(lost, collapse = ", "), ".", call. = FALSE)
}

# Variables that new rows do not have. What has a value for each row of a fit is not to be
# taken from the workspace, where that of other rows is; settings may be there.
lacking <- function(object, variables, X) {
  if (!is.null(attr(object, "formula")))
    variables <- intersect(variables, attr(object, "variables"))
  setdiff(variables, names(X))
}

# A column of nothing but NA is logical to R, and here of any kind.
gaps_of_kind <- function(X, classes, times) {
  for (column in intersect(names(classes), names(X))) {
    value <- X[[column]]
    if (!is.logical(value) || !all(is.na(value))) next
    kind <- classes[[column]]
    if (kind == "other") kind <- c(times[column], "other")[1L]
    X[[column]] <- switch(kind, numeric = as.numeric(value),
                          factor = , ordered = , character = as.character(value),
                          Date = as.Date(value), POSIXct = as.POSIXct(value),
                          logical = , other = value,
                          if (column %in% names(times))
                            as.difftime(as.numeric(value), units = kind) else value)
  }
  X
}

# A frame has its columns by name under native rules, if all names of the fit are there.
by_name <- function(object, X) {
  if (!is_native(object) || !is.data.frame(X)) return(X)
  names <- input_names(object)
  if (is.null(names) || anyDuplicated(names) || !all(names %in% base::names(X))) return(X)
  as.data.frame(X)[names]
}

# Else columns go by their place, as in R's dynaTree; the same names elsewhere are a mistake,
# and so are some of them in a frame under native rules.
in_place <- function(object, X, is_frame = FALSE) {
  given <- dimnames(X)[[2L]]
  if (is.null(given)) return(X)
  names <- input_names(object)
  if (!identical(given, names) && length(given) == length(names) &&
      (setequal(given, names) || (is_frame && is_native(object) && any(given %in% names))))
    warning("columns go by their place: ", paste(given, collapse = ", "),
            " are taken for ", paste(names, collapse = ", "), ", those of the fit",
            call. = FALSE)
  X
}

# Names of rows that are worth keeping: of frames that formulas read, and given ones.
row_names <- function(object, X) {
  if (is.data.frame(X))
    return(if (!is.null(attr(object, "terms")) || .row_names_info(X) > 0L) row.names(X))
  if (is.matrix(X)) rownames(X) else names(X)
}
