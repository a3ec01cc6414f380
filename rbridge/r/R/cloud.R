# A cloud of trees is an environment. Under R's rules all objects made from one another share
# one, as in R's dynaTree; other objects are values (see is_value()), and have one each:
#   tree    Python's holder; void in an object that was read from a file, NULL in a value that
#           a later one was made from, which has the holder then, and after an interrupt: it
#           is then made again from what follows
#   answer  its method, bound beforehand, as looking it up takes time
#   saved   the last checkpoint, a raw vector
#   since   the requests that have changed the cloud since, each a raw vector
#   lpred, time   of all its rows: an older object has those up to its own
#   names, offset   of all its rows, NULL where they have none
#   again   whether the holder was made again beside that of a later value
# so that saveRDS() keeps all that is needed to go on, at no cost for each call.

max_since <- 128L
least_size <- 2^18 # bytes of requests that are stored before size counts
changing <- c("update", "retire", "rejuvenate", "alcX", "entropyX")

new_cloud <- function(tree, saved, lpred, time, names = NULL, offset = NULL,
                      since = list(), answer = tree$answer) {
  cloud <- new.env(parent = emptyenv())
  cloud$saved <- saved
  cloud$since <- since
  cloud$lpred <- lpred
  cloud$time <- time
  cloud$names <- names
  cloud$offset <- offset
  hold(cloud, tree, answer)
  cloud
}

# Whether calls that change a cloud leave an object as it was: R's dynaTree, which shares
# clouds, has neither native rules nor formulas.
is_value <- function(object) is_native(object) || !is.null(attr(object, "formula"))

hold <- function(cloud, tree, answer = tree$answer) {
  cloud$tree <- tree
  cloud$answer <- unopened(answer)
}

let_go <- function(cloud) cloud$tree <- cloud$answer <- NULL

cloud_of <- function(object, call = sys.call(-1L)) {
  cloud <- cloud_in(object, call)
  if (is_void(cloud$tree)) revive(cloud, call)
  cloud
}

# The cloud of an object, which may have no holder.
cloud_in <- function(object, call) {
  check_ours(object, call)
  cloud <- attr(object, "cloud")
  if (!is.environment(cloud))
    stop(simpleError(paste0(
      "object has no cloud of trees: dynaTrees() deletes those of its repeats, and ",
      "copies by hand lose it. Fit with dynaTree()."), call))
  if (is.null(cloud$saved))
    stop(simpleError("the cloud is not allocated: deletecloud() has freed it", call))
  cloud
}

# Whether Python has no holder here.
is_void <- function(holder) is.null(holder) || unopened(py_is_null_xptr(holder))

# Makes the trees of an object that was read from a file.
revive <- function(cloud, call) {
  tree <- new_holder(call)
  reply <- unserialize(crossing(tree$restore(cloud$saved, cloud$since), call))
  if (!is.null(reply$interrupted)) stop_interrupted(call)
  raise_conditions(reply, call)
  hold(cloud, tree)
  cloud$again <- isTRUE(cloud$left)
}

# The answer about an object's cloud.
ask_cloud <- function(object, name, arguments, call = sys.call(-1L))
  answered(object, name, arguments, call)$value

# The answer about an object's cloud, and the cloud as it is then: what changes it is noted
# in a cloud that objects share, and makes a new one of a value.
answered <- function(object, name, arguments, call, rows = NULL) {
  cloud <- cloud_of(object, call)
  check_arguments(arguments, call)
  apart <- name %in% changing && is_value(object)
  # the holder goes with the new value, which costs no copy; where this one has proved to
  # be in use beside a later one, Python copies the trees
  holder <- if (apart && isTRUE(cloud$again)) crossing(cloud$tree$shared(), call)
  full <- is_full(cloud, arguments)
  whole <- FALSE # an interrupt may come in the middle of a change
  on.exit(if (!whole && is.null(holder)) let_go(cloud))
  native <- identical(object[["rules"]], "native")
  answer <- if (is.null(holder)) cloud$answer else holder$answer
  reply <- exchange(name, arguments, call, answer, save = full, native = native)
  suspendInterrupts({
    whole <- !is.null(reply$error)
    raise_conditions(reply, call, rows, input_names(object))
    if (!is.null(reply$changed)) {
      if (apart) cloud <- successor(cloud, holder)
      reply$value <- add_up(cloud, reply$value)
    }
    if (!is.null(reply$saved)) {
      cloud$saved <- reply$saved
      cloud$since <- list()
    } else if (!is.null(reply$changed)) {
      cloud$since[[length(cloud$since) + 1L]] <- reply$request
    }
    whole <- TRUE
  })
  list(value = reply$value, cloud = cloud)
}

# Whether so much was asked for since a cloud's last checkpoint, or is now, that another is
# due: a cloud that is made again learns all of it again.
is_full <- function(cloud, arguments)
  length(cloud$since) >= max_since ||
    sum(lengths(cloud$since)) + utils::object.size(arguments) >
      max(length(cloud$saved), least_size)

# The cloud of a value that was made by a change: with a holder of its own, or with that of
# the value that it was made from.
successor <- function(cloud, holder) {
  after <- new_cloud(if (is.null(holder)) cloud$tree else holder, cloud$saved, cloud$lpred,
                     cloud$time, cloud$names, cloud$offset, cloud$since,
                     if (is.null(holder)) cloud$answer else holder$answer)
  if (is.null(holder)) {
    cloud$left <- TRUE
    let_go(cloud)
  }
  after
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
                     offset = NULL, rows = names) {
  if (!is.null(attr(object, "rows")) && name %in% c("update", "retire"))
    arguments$.rows <- TRUE
  reply <- answered(object, name, arguments, call, rows)
  fields <- reply$value
  attr(object, "cloud") <- reply$cloud
  if (!is.null(fields[["y"]])) attr(object, "na.action") <- NULL # the rows have changed
  if (!is.null(numbers <- fields[[".rows"]])) {
    fields[[".rows"]] <- NULL
    cloud <- reply$cloud
    if (name == "update") more_rows(cloud, length(arguments$y), names, offset)
    attr(object, "rows") <- numbers
    if (!is.null(cloud$offset)) fields$y <- fields$y + cloud$offset[numbers]
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

# Names and offsets of the active rows of an object. A row that was learned twice has a
# second name, as in a data frame.
active_names <- function(object) {
  names <- attr(object, "cloud")$names[attr(object, "rows")]
  if (!is.null(names)) make.unique(as.character(names))
}
active_offset <- function(object) attr(object, "cloud")$offset[attr(object, "rows")]
