# Models beside dynamic trees. An object is a value: a list with the attribute "state", an
# environment of that object alone:
#   face    the function that made it
#   model   Python's holder of the model; void in an object that was read from a file, NULL
#           in one whose update has taken it over, or after an interrupt: it is then made
#           again from what follows
#   answer  its method, bound beforehand, as looking it up takes time
#   saved   a checkpoint, a raw vector
#   since   the requests that were learned since, each a raw vector
#   again   whether the model was made again beside that of a later object
# so that an update costs no copy, and saveRDS() keeps all that is needed to go on.

new_state <- function(face, model, saved, since = list(), answer = model$answer) {
  state <- new.env(parent = emptyenv())
  state$face <- face
  hold_model(state, model, answer)
  state$saved <- saved
  state$since <- since
  state
}

hold_model <- function(state, model, answer = model$answer) {
  state$model <- model
  state$answer <- unopened(answer)
}

# Python's holder of a model, still empty.
new_model <- function(call) {
  guest() # which says what is missing
  if (is.null(python$models)) python$models <- unopened(imported("rbridge.guest_models"))
  crossing(python$models$RModel(), call)
}

# A model that has learned its first rows: its facts, and its state.
# rows: the name of the argument with the rows; labels, columns: the names of these.
made <- function(face, options, given, rows, call, labels = NULL, columns = NULL) {
  model <- new_model(call)
  asked <- c(list(face = face, rows = rows, options = options), given)
  reply <- exchange("make", asked, call, model$answer, save = TRUE)
  raise_conditions(reply, call, labels, columns)
  list(value = reply$value, state = new_state(face, model, reply$saved))
}

# The state of an object, with a model in it.
state_of <- function(object, call) {
  state <- attr(object, "state")
  if (!is.environment(state))
    stop(simpleError(paste0(
      "object must be what ", class(object)[1L], "() returned, with its attribute ",
      "\"state\"; got one without it, which has no model. Fit it again."), call))
  if (is_void(state$model)) {
    model <- new_model(call)
    reply <- unserialize(crossing(model$restore(state$saved, state$since), call))
    if (!is.null(reply$interrupted)) stop_interrupted(call)
    raise_conditions(reply, call)
    hold_model(state, model)
    state$again <- isTRUE(state$left)
  }
  state
}

# The answer of an object's model.
ask_model <- function(object, name, given, call, rows = "newdata", labels = NULL,
                      columns = NULL) {
  state <- state_of(object, call)
  asked <- c(list(face = state$face, rows = rows), given)
  reply <- exchange(name, asked, call, state$answer)
  raise_conditions(reply, call, labels, columns)
  reply$value
}

# What an object's model tells once it has learned more rows, and its new state, which takes
# the model over, or has a copy where this one has proved to be in use beside a later one.
learned <- function(object, given, call, rows = "newdata", labels = NULL, columns = NULL) {
  state <- state_of(object, call)
  is_taken <- !isTRUE(state$again)
  model <- if (is_taken) state$model else crossing(state$model$shared(), call)
  answer <- if (is_taken) state$answer else unopened(model$answer)
  full <- is_full(state, given)
  # an interrupt, or a warning that is an error, may come in the middle of a change
  on.exit(if (is_taken) {
    state$model <- state$answer <- NULL
    state$left <- TRUE
  })
  asked <- c(list(face = state$face, rows = rows), given)
  reply <- exchange("learn", asked, call, answer, save = full)
  if (!is.null(reply$error)) is_taken <- FALSE
  raise_conditions(reply, call, labels, columns)
  after <- if (full) new_state(state$face, model, reply$saved, answer = answer) else
    new_state(state$face, model, state$saved, c(state$since, list(reply$request)), answer)
  list(value = reply$value, state = after)
}

# The arguments of a fit that are no options of its model.
not_options <- c("formula", "data", "x", "phase", "weights", "exposure", "subset",
                 "na.action", "stream", "seed", "...")

# The options that a function's caller has given, but for such as are NULL by default.
given_options <- function(call) {
  frame <- parent.frame()
  defaults <- formals(sys.function(sys.parent()))
  found <- list()
  for (name in setdiff(names(defaults), not_options)) {
    if (eval(base::call("missing", as.name(name)), frame)) next
    value <- get(name, frame)
    if (is.null(value) && is.null(defaults[[name]])) next
    found[name] <- list(checked_option(name, value, call))
  }
  found
}

checked_option <- function(name, value, call) {
  if (is.factor(value)) value <- as.character(value)
  is_array <- !is.null(dim(value)) && !is.data.frame(value) && name != "init"
  if (is_array) stop_odd(name, value, call)
  check_kinds(name, value, call)
  if (is.atomic(value) && !is.null(value) && !length(value))
    stop(simpleError(paste0(name, " must have a value; got ", shown(value), ". Leave it out for ",
                            "the default."), call))
  if (anyNA(value, recursive = TRUE))
    stop(simpleError(paste0(name, " must have no missing value; got NA. Leave it out for ",
                            "the default."), call))
  value
}

# Refuses what is no number, text or truth value, also within lists.
check_kinds <- function(name, value, call) {
  is_odd <- is.complex(value) || is.raw(value) ||
    inherits(value, c("integer64", "Date", "POSIXt", "difftime"))
  if (is_odd || (!is.null(value) && !is.atomic(value) && !is.list(value)))
    stop_odd(name, value, call)
  if (!is.list(value)) return()
  within <- names(value)
  for (k in seq_along(value))
    check_kinds(if (is.null(within) || !nzchar(within[k])) paste0(name, "[[", k, "]]") else
      paste0(name, "$", within[k]), value[[k]], call)
}

stop_odd <- function(name, value, call) {
  class <- if (is.complex(value) || is.raw(value)) typeof(value) else class(value)[1L]
  stop(simpleError(paste0(name, " must be a number, a text, TRUE or FALSE, or a vector or ",
                          "list of these; got an object of class ", class,
                          ". Leave it out for the default."), call))
}

# A seed, drawn from R's own stream where none is given.
seed_for <- function(seed, call) {
  if (is.null(seed)) return(sample.int(.Machine$integer.max, 1L))
  checked_option("seed", seed, call)
}

# ------------------------------------------------------------------- rows

# A data frame of a matrix, a vector or a data frame, whose columns are of kinds that
# models know.
as_rows <- function(x, name, call) {
  if (is.null(dim(x)) && is.atomic(x) && !is.null(x)) x <- as.matrix(x)
  if (is.matrix(x)) x <- as.data.frame(x, stringsAsFactors = FALSE)
  if (!is.data.frame(x))
    stop(simpleError(paste0(name, " must be a data frame or a matrix; got ", a_thing(x),
                            ". Put rows into data.frame()."), call))
  if (!identical(class(x), "data.frame")) x <- as.data.frame(x) # tables of other packages
  again <- anyDuplicated(names(x))
  if (again)
    stop(simpleError(paste0(name, " must have columns of different names; got ",
                            name_of(names(x)[again]), " twice. Rename one."), call))
  for (column in names(x)) {
    if (inherits(x[[column]], "POSIXlt")) x[[column]] <- as.POSIXct(x[[column]])
    far <- if (kind_of(x[[column]]) %in% c("Date", "POSIXct")) which(is.infinite(x[[column]]))
    if (length(far))
      stop(simpleError(paste0(name, " must be finite; got ", as.numeric(x[[column]][far[1L]]),
                              " in row ", row_label(far[1L], row.names(x)), ", column ", name_of(column),
                              ". Drop or impute such rows first."), call))
    known <- levels(x[[column]])
    if (anyNA(known)) x[[column]] <- factor(x[[column]], known[!is.na(known)]) # of addNA()
    if (is.na(kind_of(x[[column]])))
      stop(simpleError(paste0(
        "column ", name_of(column), " of ", name, " must be numeric, logical, a factor, ",
        "character, Date or POSIXct; got ", a_thing(x[[column]]),
        ". Convert it, or leave it out."), call))
  }
  x
}

# What a value is, for messages.
a_thing <- function(x) {
  if (is.null(x)) return("NULL")
  if (is.matrix(x)) return(paste("a matrix of type", typeof(x)))
  if (is.array(x)) return(paste("an array of type", typeof(x)))
  if (is.factor(x)) return("a factor")
  if (is.data.frame(x)) return("a data frame")
  if (is.list(x) && !is.object(x)) return("a list")
  if (is.object(x) || is.function(x)) return(paste("an object of class", class(x)[1L]))
  paste("one of type", typeof(x))
}

# The kind of a column: those of one kind may stand for one another.
kind_of <- function(x) {
  if (is.factor(x) || is.character(x)) return("levels")
  if (inherits(x, "Date")) return("Date")
  if (inherits(x, "POSIXct")) return("POSIXct")
  if (is.logical(x)) return("logical")
  if (is_number(x) && is.null(dim(x))) return("numeric")
  NA_character_
}

kinds_of <- function(x) vapply(x, kind_of, "")

# New rows with the columns of a fit, of the same kinds. A column of nothing but NA has any.
same_columns <- function(x, kinds, name, call) {
  lacking <- setdiff(names(kinds), names(x))
  if (length(lacking))
    stop(simpleError(paste0(name, " must have the columns of the fit, ",
                            name_of(names(kinds)), "; it lacks ", name_of(lacking),
                            ". Add it, or rename the one that is meant."), call))
  x <- x[names(kinds)]
  for (column in names(kinds)) {
    kind <- kinds[[column]]
    value <- x[[column]]
    if (is.logical(value) && all(is.na(value))) {
      x[[column]] <- switch(kind, levels = as.character(value), Date = as.Date(value),
                            POSIXct = as.POSIXct(value), logical = value,
                            as.numeric(value))
    } else if (kind_of(value) != kind) {
      words <- c(levels = "a factor or character", numeric = "numeric",
                 logical = "logical", Date = "a Date", POSIXct = "a POSIXct")
      stop(simpleError(paste0("column ", name_of(column), " of ", name, " must be ",
                              words[[kind]], ", as in the fit; got ", a_thing(value),
                              ". Convert it first."), call))
    }
  }
  x
}

# Rows as Python reads them: no names of rows, which are for R, and times without a zone.
# is_first: whether factors declare their levels, as in the first rows; later ones are text.
bare <- function(x, is_first = FALSE) {
  attr(x, "row.names") <- .set_row_names(nrow(x))
  for (column in names(x)) {
    if (inherits(x[[column]], "POSIXct")) attr(x[[column]], "tzone") <- "UTC"
    if (!is_first && is.factor(x[[column]])) x[[column]] <- as.character(x[[column]])
  }
  x
}

# ------------------------------------------------------------------- answers
one_of <- function(given, choices, name, call) {
  if (identical(given, choices)) return(choices[1L])
  place <- if (is.character(given) && length(given) == 1L) pmatch(given, choices)
  if (is.null(place) || is.na(place))
    stop(simpleError(paste0(name, " must be one of ", quoted(choices), "; got ",
                            shown(given), ". Name one of them."), call))
  choices[place]
}

# A matrix of answers as a data frame with the names of the rows asked about.
as_answer <- function(values, columns, rows) {
  values <- as.data.frame(values)
  names(values) <- columns
  attr(values, "row.names") <- attr(rows, "row.names")
  values
}

named_by <- function(x, rows) {
  names(x) <- row.names(rows)
  x
}

formula.dyntree_trees <- function(x, ...) stats::formula(x$terms)
formula.dyntree_mixture <- function(x, ...) {
  if (is.null(x$terms))
    stop("the object was fitted to rows and has no formula.", call. = FALSE)
  stats::formula(x$terms)
}
formula.hdp_topics <- function(x, ...)
  stop(refusal("formula", x, "they are of counts of words.", sys.call()))
nobs.dyntree_trees <- function(object, ...) object$n_seen
nobs.dyntree_mixture <- function(object, ...) object$n_seen
nobs.hdp_topics <- function(object, ...) object$n_documents
