# The one place that speaks to Python. A request and its answer are raw vectors.

python <- new.env(parent = emptyenv())

# rbridge.guest, loaded at the first call; its functions, and what shows its output
guest <- function() {
  if (is.null(python$guest)) {
    found <- tryCatch(
      imported("rbridge.guest"),
      error = function(e) stop(
        "R's package dyntree needs the Python package dyntree, which could not be ",
        "loaded: ", conditionMessage(e), "\nInstall it with pip install dyntree, and ",
        "name that Python before the first call: Sys.setenv(RETICULATE_PYTHON = ",
        "\".../bin/python\").", call. = FALSE))
    found$listen(function(text) cat(text))
    for (name in c("answer", "restore", "Held")) python[[name]] <- found[[name]]
    python$guest <- found
  }
  python
}

# A module as it is installed: a folder of that name in the working directory, such as the
# sources, is none.
imported <- function(name) {
  sys <- reticulate::import("sys", convert = FALSE)
  here <- which(reticulate::py_to_r(sys$path) == "")
  for (k in rev(here)) sys$path$pop(k - 1L)
  on.exit(for (k in here) sys$path$insert(k - 1L, ""))
  reticulate::import(name)
}

# Python's holder of a tree, still empty.
held <- function(call) {
  make <- guest()$Held
  crossing(make(), call)
}

# A list as Python reads it.
packed <- function(x) serialize(x, NULL, version = 2)

draws <- c("dynaTree", "dynaTrees", "update", "rejuvenate", "sens", "classprobs")

# Asks for one function of the mirror; what draws, draws from R's own stream.
# tree: Python's holder of a tree, empty for what needs none. Returns what was told, with
# the request.
ask <- function(name, arguments, call, tree = held(call), rules = "r", save = FALSE) {
  request <- packed(c(list(.name = name, .rules = rules), if (save) list(.save = TRUE),
                      if (name %in% draws) list(.state = stream_state()), arguments))
  answer <- guest()$answer
  told <- unserialize(crossing(answer(tree, request), call))
  if (!is.null(told$interrupted)) stop_interrupted(call)
  if (!is.null(told$error))
    stop(structure(class = c("dyntree_error", "simpleError", "error", "condition"),
                   list(message = told$error, call = call)))
  for (text in told$warnings) warning(simpleWarning(text, call))
  if (!is.null(told$state)) set_stream_state(told$state)
  told$request <- request
  told
}

# The value of a call of Python's that tells its errors; what is raised none the less is an
# interrupt on the threshold, under whatever name. R's own interrupts wait meanwhile, as
# reticulate cannot bear them everywhere; Python's end long work.
crossing <- function(value, call)
  tryCatch(suspendInterrupts(value),
           error = function(e) stop_interrupted(call, conditionMessage(e)))

# An interrupt of Python's is an interrupt of R's.
stop_interrupted <- function(call, why = NULL) {
  signalCondition(structure(class = c("interrupt", "condition"),
                            list(message = "interrupted", call = call)))
  stop(simpleError(paste(c("interrupted", why), collapse = ": "), call))
}

# .Random.seed as R's stream stands; it is opened if nothing was drawn yet.
stream_state <- function() {
  if (!exists(".Random.seed", envir = globalenv(), inherits = FALSE)) set.seed(NULL)
  state <- get(".Random.seed", envir = globalenv(), inherits = FALSE)
  if (state[1] %% 10000L != 403L)
    stop("dynamic trees draw from R's default generator; RNGkind() is ",
         paste(RNGkind(), collapse = ", "), ". Call RNGkind(\"default\", \"default\").",
         call. = FALSE)
  state[1] <- 10403L
  state
}

# The sampling kind in the first word is not the trees' business, and stays.
set_stream_state <- function(state) {
  state[1] <- get(".Random.seed", envir = globalenv(), inherits = FALSE)[1]
  assign(".Random.seed", state, envir = globalenv())
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
  reticulate::py_available(initialize = TRUE) &&
    !inherits(try(guest(), silent = TRUE), "try-error")
}
