# The one place that speaks to Python. A request and its answer are raw vectors.

python <- new.env(parent = emptyenv())

# rbridge.guest, loaded at the first call, with the function that shows its output
guest <- function() {
  if (is.null(python$guest)) {
    found <- tryCatch(
      unopened(imported("rbridge.guest")),
      error = function(e) stop(
        "R's package dyntree needs the Python package dyntree, which could not be ",
        "loaded: ", conditionMessage(e), "\nInstall it in a clone of its repository with ",
        "pip install -e . (the package of that name on PyPI is another project's), and ",
        "name that Python before the first call: Sys.setenv(RETICULATE_PYTHON = ",
        "\".../bin/python\").", call. = FALSE))
    unopened(found$listen(function(text) cat(text)))
    python$guest <- found
  }
  python$guest
}

# The value of code that calls reticulate, whose functions open R's random stream where nothing
# was drawn yet, as all made by Rcpp do: it is as it was then.
unopened <- function(code) {
  if (is.null(.GlobalEnv$.Random.seed))
    on.exit(if (!is.null(.GlobalEnv$.Random.seed)) rm(".Random.seed", envir = .GlobalEnv))
  code
}

# A module as it is installed: a folder of that name in the working directory, such as the
# sources, is none.
imported <- function(name) {
  sys <- import("sys", convert = FALSE)
  here <- which(py_to_r(sys$path) == "")
  for (k in rev(here)) sys$path$pop(k - 1L)
  on.exit(for (k in here) sys$path$insert(k - 1L, ""))
  if (is.null(import("importlib.util")$find_spec("rbridge"))) read_pth_files(sys$path)
  import(name)
}

# Reads the .pth files beside Python's packages, by which it finds a package that is installed
# in place (pip install -e): Debian's Python has not when reticulate has started it.
read_pth_files <- function(path) {
  site <- import("site")
  for (place in py_to_r(path))
    if (basename(place) %in% c("site-packages", "dist-packages")) site$addsitedir(place)
}

# A holder of a tree in Python, still empty.
new_holder <- function(call) {
  guest() # which says what is missing
  crossing(python$guest$RObject(), call)
}

# A list as Python reads it.
packed <- function(x) serialize(x, NULL, version = 2)

draws <- c("dynaTree", "dynaTrees", "update", "rejuvenate", "sens", "classprobs")

# Asks for one function of the mirror; what draws, draws from R's own stream.
# tree: Python's holder of a tree, empty for what needs none. Returns the reply.
ask <- function(name, arguments, call, tree = new_holder(call), rules = "r", save = FALSE,
                rows = rownames(arguments[["X"]])) {
  check_arguments(arguments, call)
  reply <- exchange(name, arguments, call, tree$answer, rules, save)
  raise_conditions(reply, call, rows, colnames(arguments[["X"]]))
  reply
}

# The reply with its request; names of rows and columns stay here.
exchange <- function(name, arguments, call, answer, rules = "r", save = FALSE,
                     native = rules != "r") {
  if (!is.null(dim(arguments[["X"]]))) dimnames(arguments[["X"]]) <- NULL
  if (!is.null(dim(arguments$XX))) dimnames(arguments$XX) <- NULL
  arguments$.name <- name
  if (rules != "r") arguments$.rules <- rules
  if (save) arguments$.save <- TRUE
  if (name %in% draws) arguments$.state <- stream_state(native)
  request <- packed(arguments)
  reply <- unserialize(crossing(answer(request), call))
  if (!is.null(reply$interrupted)) stop_interrupted(call)
  reply$request <- request
  reply
}

# Errors and warnings of a reply become R's, and R's stream goes on. `rows` and `columns` are
# the names of those that were sent, which are looked up if a text has their numbers.
raise_conditions <- function(reply, call, rows = NULL, columns = NULL) {
  if (!is.null(reply$error)) stop(simpleError(with_names(reply$error, rows, columns), call))
  for (text in reply$warnings)
    warning(simpleWarning(with_names(text, rows, columns), call))
  if (!is.null(reply$state) && is_known_generator()) set_stream_state(reply$state)
}

# A text of Python's, which has numbers of rows and columns between marks, with names.
with_names <- function(text, rows, columns) {
  if (!grepl("[\001\003]", text)) return(text)
  if (grepl("^(y|yy|weights|exposure) ", text)) # of which each row has one
    text <- sub("at element \001", "in row \001", text, fixed = TRUE)
  else if (grepl("at element \001", text, fixed = TRUE)) rows <- NULL
  text <- in_place_of(text, "\001[0-9]+\002", function(k) row_label(k, rows))
  in_place_of(text, "\003[0-9]+\004", function(k)
    if (k > length(columns) || !nzchar(columns[k])) k else
      name_of(sub("^`(.*)`$", "\\1", columns[k]))) # of model.matrix()
}

in_place_of <- function(text, pattern, label) {
  marked <- regmatches(text, gregexpr(pattern, text))[[1L]]
  for (one in marked)
    text <- sub(one, label(as.integer(gsub("[^0-9]", "", one))), text, fixed = TRUE)
  text
}

# What messages call row k: by its name, if rows have names.
row_label <- function(k, rows) {
  name <- if (k <= length(rows)) as.character(rows[k]) else ""
  if (is.na(name) || !nzchar(name)) return(k)
  if (grepl("^[0-9]+$", name)) name else name_of(name)
}

# The value of a call of Python's that tells its errors; what is raised none the less is an
# interrupt on the threshold, under whatever name. R's own interrupts wait meanwhile, as
# reticulate is not safe with them everywhere; Python's end long work.
crossing <- function(value, call)
  withCallingHandlers(unopened(suspendInterrupts(value)),
                      error = function(e) stop_interrupted(call, conditionMessage(e)))

# An interrupt of Python's is an interrupt of R's.
stop_interrupted <- function(call, why = NULL) {
  signalCondition(structure(class = c("interrupt", "condition"),
                            list(message = "interrupted", call = call)))
  stop(simpleError(paste(c("interrupted", why), collapse = ": "), call))
}

# .Random.seed as R's stream stands; it is opened if nothing was drawn yet. Under native
# rules a generator that Python does not know gives a seed, and goes on after that.
stream_state <- function(native = FALSE) {
  if (is.null(state <- .GlobalEnv$.Random.seed)) {
    set.seed(NULL)
    state <- .GlobalEnv$.Random.seed
  }
  if (!is_known_generator()) {
    if (native) return(drawn_state())
    stop("dynamic trees under R's rules draw from Mersenne-Twister or L'Ecuyer-CMRG, ",
         "with normals by inversion; RNGkind() is ", paste(RNGkind(), collapse = ", "),
         ". Call RNGkind(\"default\", \"default\"), or options(dyntree.rules = ",
         "\"native\"), which takes any generator.", call. = FALSE)
  }
  state[1L] <- 10000L + state[1L] %% 10000L
  state
}

# Mersenne-Twister or L'Ecuyer-CMRG, with normals by inversion
is_known_generator <- function() .GlobalEnv$.Random.seed[1L] %% 10000L %in% c(403L, 407L)

# The state of the default generator after a seed that R's own generator has drawn.
drawn_state <- function() {
  seed <- sample.int(.Machine$integer.max, 1L)
  own <- .GlobalEnv$.Random.seed
  on.exit(assign(".Random.seed", own, envir = .GlobalEnv)) # which names its kinds
  set.seed(seed, "Mersenne-Twister", "Inversion", "Rejection")
  .GlobalEnv$.Random.seed
}

# The sampling kind in the first word is not the trees' business, and stays.
set_stream_state <- function(state) {
  kind <- .GlobalEnv$.Random.seed[1L]
  if (kind != state[1L]) state[1L] <- kind
  assign(".Random.seed", state, envir = .GlobalEnv)
}

# "r" or "native", from options(dyntree.rules =).
rules <- function() {
  asked <- getOption("dyntree.rules", "r")
  if (!is.character(asked) || length(asked) != 1L || !asked %in% c("r", "native"))
    stop("options(dyntree.rules) must be \"r\" or \"native\"; got ", deparse(asked)[1L],
         ".", call. = FALSE)
  asked
}

# Whether the examples can run: is there a Python with dyntree?
has_python <- function() {
  unopened(py_available(initialize = TRUE)) &&
    !inherits(try(guest(), silent = TRUE), "try-error")
}
