# A cloud of trees is an environment that all objects made from one another share:
#   tree    Python's holder; void in an object that was read from a file, NULL after an
#           interrupt: it is then made again from what follows
#   answer  its method, bound beforehand, as looking it up takes time
#   saved   the last checkpoint, a raw vector
#   since   the requests that have changed the cloud since, each a raw vector
#   lpred, time   of all its rows: an older object has those up to its own
#   names, offset   of all its rows, NULL where they have none
# so that saveRDS() keeps all that is needed to go on, at no cost for each call.

max_since <- 128L
least_size <- 2^18 # bytes of requests that are stored before size counts

new_cloud <- function(tree, saved, lpred, time, names = NULL, offset = NULL,
                      since = list()) {
  cloud <- new.env(parent = emptyenv())
  cloud$saved <- saved
  cloud$since <- since
  cloud$lpred <- lpred
  cloud$time <- time
  cloud$names <- names
  cloud$offset <- offset
  hold(cloud, tree)
  cloud
}

hold <- function(cloud, tree) {
  cloud$tree <- tree
  cloud$answer <- tree$answer
}

cloud_of <- function(object, call = sys.call(-1L)) {
  check_ours(object, call)
  cloud <- attr(object, "cloud")
  if (!is.environment(cloud))
    stop(simpleError(paste0(
      "object has no cloud of trees: dynaTrees() deletes those of its repeats, and ",
      "copies by hand lose it. Fit with dynaTree()."), call))
  if (is.null(cloud$saved))
    stop(simpleError("the cloud is not allocated: deletecloud() has freed it", call))
  if (is.null(cloud$tree) || py_is_null_xptr(cloud$tree))
    revive(cloud, call)
  cloud
}

# Makes the trees of an object that was read from a file.
revive <- function(cloud, call) {
  tree <- new_holder(call)
  reply <- unserialize(crossing(tree$restore(cloud$saved, cloud$since), call))
  if (!is.null(reply$interrupted)) stop_interrupted(call)
  if (!is.null(reply$error)) stop(simpleError(reply$error, call))
  hold(cloud, tree)
}

# Asks about an object's cloud and notes what changes it.
ask_cloud <- function(object, name, arguments, call = sys.call(-1L)) {
  cloud <- cloud_of(object, call)
  check_arguments(arguments, call)
  full <- length(cloud$since) >= max_since ||
    sum(lengths(cloud$since)) > max(length(cloud$saved), least_size)
  whole <- FALSE # an interrupt may come in the middle of a change
  on.exit(if (!whole) cloud$tree <- NULL)
  native <- identical(object[["rules"]], "native")
  reply <- exchange(name, arguments, call, cloud$answer, save = full, native = native)
  suspendInterrupts({
    whole <- !is.null(reply$error)
    raise_conditions(reply, call)
    if (!is.null(reply$changed)) reply$value <- add_up(cloud, reply$value)
    if (!is.null(reply$saved)) {
      cloud$saved <- reply$saved
      cloud$since <- list()
    } else if (!is.null(reply$changed)) {
      cloud$since[[length(cloud$since) + 1L]] <- reply$request
    }
    whole <- TRUE
  })
  reply$value
}

# Fields of a changed cloud, with all of what Python only tells the new part of.
add_up <- function(cloud, fields) {
  if (!is.null(fields$lpred)) {
    cloud$lpred <- c(cloud$lpred, fields$lpred)
    fields$lpred <- cloud$lpred
  }
  if (!is.null(fields$time)) {
    cloud$time <- cloud$time + fields$time
    fields$time <- cloud$time
  }
  fields
}

# Whether the rows of a cloud have names or an offset.
tells_rows <- function(cloud) !is.null(cloud$names) || !is.null(cloud$offset)

# An object with the fields that a call has made; of rows that it learns there may be
# names and offsets.
extended <- function(object, name, arguments, call = sys.call(-1L), names = NULL,
                     offset = NULL) {
  if (!is.null(attr(object, "rows")) && name %in% c("update", "retire"))
    arguments$.rows <- TRUE
  fields <- ask_cloud(object, name, arguments, call)
  if (!is.null(fields[["y"]])) attr(object, "na.action") <- NULL # the rows have changed
  if (!is.null(rows <- fields[[".rows"]])) {
    fields[[".rows"]] <- NULL
    cloud <- attr(object, "cloud")
    if (name == "update") more_rows(cloud, length(arguments$y), names, offset)
    attr(object, "rows") <- rows
    if (!is.null(cloud$offset)) fields$y <- fields$y + cloud$offset[rows]
  }
  fields <- label_answers(fields, input_names(object), stored_names(object))
  object[base::names(fields)] <- fields
  object
}

# Names and offsets of rows that a cloud has learned after its others.
more_rows <- function(cloud, n, names, offset) {
  if (!is.null(cloud$names))
    cloud$names <- c(cloud$names, if (is.null(names)) length(cloud$names) + seq_len(n)
                                  else names)
  if (!is.null(cloud$offset))
    cloud$offset <- c(cloud$offset, if (is.null(offset)) numeric(n) else offset)
}

# Names and offsets of the active rows of an object.
active_names <- function(object) attr(object, "cloud")$names[attr(object, "rows")]
active_offset <- function(object) attr(object, "cloud")$offset[attr(object, "rows")]
