# Answers what Python asks, in R's own serialization format, and leaves R as it was.
local({
  seed_now <- function() get0(".Random.seed", envir = globalenv(), inherits = FALSE)
  set_seed <- function(seed) {
    if (is.null(seed)) rm(list = intersect(".Random.seed", ls(globalenv(), all.names = TRUE)),
                          envir = globalenv())
    else assign(".Random.seed", seed, envir = globalenv())
  }
  find <- function(package, name) {
    if (!requireNamespace(package, quietly = TRUE))
      stop(structure(class = c("missing_package", "error", "condition"),
                     list(message = package, call = NULL)))
    space <- asNamespace(package)
    method <- paste0(name, ".", package)
    get(if (exists(method, space, inherits = FALSE)) method else name, space)
  }
  # f(x = x, ...), so that errors show the call without its data
  call_named <- function(asked) {
    frame <- list2env(asked$arguments, parent = globalenv())
    given <- lapply(names(asked$arguments), as.name)
    names(given) <- names(asked$arguments)
    f <- new.env(parent = frame)
    assign(asked$name, find(asked$package, asked$name), envir = f)
    eval(as.call(c(as.name(asked$name), given)), f)
  }
  run <- function(asked) {
    before <- list(options = options(), seed = seed_now(), folder = getwd())
    on.exit({
      new <- setdiff(names(options()), names(before$options))
      options(stats::setNames(vector("list", length(new)), new))
      options(before$options)
      setwd(before$folder)
      set_seed(before$seed)
    })
    if (!is.null(asked$state)) set_seed(asked$state)
    if (!is.null(asked$seed)) {
      RNGkind("Mersenne-Twister", "Inversion", "Rejection")
      set.seed(asked$seed)
    }
    notes <- character()
    # an interrupt ends the call, and nothing that puts R back as it was
    value <- withCallingHandlers(allowInterrupts({
      if (is.null(asked$code)) call_named(asked)
      else eval(parse(text = asked$code), new.env(parent = globalenv()))
    }), warning = function(w) {
      notes <<- c(notes, conditionMessage(w))
      invokeRestart("muffleWarning")
    })
    list(value = value, state = seed_now(), warnings = notes)
  }
  function(request) suspendInterrupts({
    reply <- tryCatch(run(unserialize(request)),
      missing_package = function(e) list(missing = conditionMessage(e)),
      interrupt = function(i) list(interrupted = TRUE),
      error = function(e) {
        call <- conditionCall(e)
        call <- if (is.null(call)) "" else deparse(call, nlines = 1L, width.cutoff = 60L)[1L]
        list(error = conditionMessage(e), call = call)
      })
    serialize(reply, NULL, version = 2)
  })
})
