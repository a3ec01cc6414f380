# Topics of documents, from their counts of words.

hdp_topics <- function(x, memory_limit = NULL, max_items = NULL, max_groups = NULL,
                       epoch_size = "auto", expected_documents = NULL,
                       expected_points = NULL, init_topics = "auto", max_topics = NULL,
                       min_gain = 0, prior = NULL, options = NULL, compat = NULL,
                       seed = NULL, ...) {
  no_more(...)
  call <- sys.call()
  given <- given_options(call)
  counts <- as_counts(x, "x", call)
  given$seed <- seed_for(seed, call)
  found <- made("hdp_topics", given, list(x = counts$sent), "x", call, counts$rows,
                counts$words)
  words <- if (is.null(counts$words)) paste0("V", seq_len(counts$dim[2L])) else counts$words
  with_topics(structure(list(call = called(match.call(), "hdp_topics"), words = words,
                             named = !is.null(counts$words), seed = given$seed),
                        class = "hdp_topics"), found)
}

# Counts of documents (rows) and words (columns): as Python reads them, their size and names.
# words: those of the fit, for new documents; without names they go by their places.
as_counts <- function(x, name, call, words = NULL, by_place = FALSE, drop = FALSE) {
  if (is.data.frame(x)) x <- counts_of_columns(x, name, call)
  dims <- dimnames(x)
  if (inherits(x, "simple_triplet_matrix")) { # of packages slam and tm
    turned <- inherits(x, "TermDocumentMatrix") # tm's has documents in columns
    found <- if (turned) list(i = x$j, j = x$i, dim = c(x$ncol, x$nrow)) else
      list(i = x$i, j = x$j, dim = c(x$nrow, x$ncol))
    odr <- order(found$j, found$i)
    found <- list(i = found$i[odr] - 1L, j = found$j[odr], x = as.numeric(x$v[odr]),
                  dim = found$dim)
    dims <- if (turned) rev(x$dimnames) else x$dimnames
  } else if (inherits(x, "Matrix")) {
    if (!requireNamespace("Matrix", quietly = TRUE))
      stop(simpleError(paste0(name, " must be a matrix where the package Matrix is not ",
                              "installed; got an object of class ", class(x)[1L],
                              ". Install it."), call))
    x <- methods::as(methods::as(methods::as(x, "dMatrix"), "generalMatrix"),
                     "CsparseMatrix")
    found <- list(i = x@i, j = rep(seq_len(ncol(x)), diff(x@p)), x = x@x, dim = dim(x))
  } else if (is.matrix(x) && is_plain(x)) {
    at <- which(x != 0 | is.na(x), arr.ind = TRUE)
    found <- list(i = at[, 1L] - 1L, j = at[, 2L], x = as.numeric(x[at]), dim = dim(x))
  } else {
    stop(simpleError(paste0(
      name, " must be a matrix of counts, documents in rows and words in columns, or such a ",
      "sparse one of the packages Matrix or slam; got ", a_thing(x),
      ". Count the words of documents first."), call))
  }
  own <- if (!by_place) dims[[2L]]
  if (anyDuplicated(own))
    stop(simpleError(paste0(name, " must have columns of different names; got ",
                            name_of(own[anyDuplicated(own)]), " twice. Add them up."), call))
  if (anyNA(found$x))
    stop(simpleError(paste0(name, " must have no missing value; got NA in row ",
                            row_label(found$i[is.na(found$x)][1L] + 1L, dims[[1L]]), ". Write 0 for a word that is ",
                            "not there."), call))
  if (!is.null(words)) found <- in_vocabulary(found, own, words, name, call, drop)
  list(sent = list(i = as.integer(found$i), x = found$x, dim = as.integer(found$dim),
                   p = as.integer(c(0, cumsum(tabulate(found$j, found$dim[2L]))))),
       words = own, dim = found$dim, rows = dims[[1L]])
}

# A matrix of a data frame whose columns hold numbers.
counts_of_columns <- function(x, name, call) {
  for (column in names(x)) if (!is_plain(x[[column]]))
    stop(simpleError(paste0("column ", name_of(column), " of ", name, " must hold counts; got ",
                            a_thing(x[[column]]), ". Make numbers of it, or leave it out."),
                     call))
  as.matrix(x)
}

# Counts with the columns of a fit: words that are not there do not occur.
# drop: whether others are left out; NULL where that cannot be asked for.
in_vocabulary <- function(found, own, words, name, call, drop) {
  if (is.null(own)) {
    if (found$dim[2L] != length(words))
      stop(simpleError(paste0(name, " must have the words of the fit, ", length(words),
                              " columns, or names for its own; got ", found$dim[2L],
                              " without names. Name them."), call))
    return(found)
  }
  place <- match(own, words)
  used <- place[found$j]
  if (anyNA(used) && !isTRUE(drop))
    stop(simpleError(paste0(name, " must hold words of the fit; got ",
                            name_of(own[found$j[is.na(used)][1L]]),
                            ". Leave out the columns of others",
                            if (isFALSE(drop)) ", or set ignore_unknown = TRUE", "."), call))
  odr <- order(used, found$i, na.last = NA)
  list(i = found$i[odr], j = used[odr], x = found$x[odr],
       dim = c(found$dim[1L], length(words)))
}

# An object with the topics that its model has now.
with_topics <- function(object, found) {
  reply <- found$value
  object$topics <- data.frame(topic = as.integer(reply$topic), weight = reply$weight,
                              count = reply$count, alpha = reply$alpha,
                              documents = reply$documents)
  object$history <- as.data.frame(reply$history)
  object[c("n_seen", "n_documents", "free_energy")] <-
    reply[c("n_seen", "n_documents", "free_energy")]
  attr(object, "state") <- found$state
  object
}

# Counts of new documents, in the words of the fit.
new_counts <- function(object, newdata, call, drop = NULL)
  as_counts(newdata, "newdata", call, object$words, !object$named, drop)

update.hdp_topics <- function(object, newdata, ...) {
  no_more(...)
  call <- sys.call()
  counts <- new_counts(object, newdata, call)
  if (!counts$dim[1L]) return(object)
  with_topics(object, learned(object, list(x = counts$sent), call, labels = counts$rows,
                              columns = object$words))
}

predict.hdp_topics <- function(object, newdata, type = c("prob", "topic", "density"),
                               ignore_unknown = FALSE, ...) {
  no_more(...)
  call <- sys.call()
  type <- one_of(type, c("prob", "topic", "density"), "type", call)
  if (!isTRUE(ignore_unknown) && !isFALSE(ignore_unknown))
    stop(simpleError(paste0("ignore_unknown must be TRUE or FALSE; got ",
                            shown(ignore_unknown), ". TRUE leaves out words that the ",
                            "fit does not have."), call))
  counts <- new_counts(object, newdata, call, ignore_unknown)
  name <- if (type == "density") "score" else "predict"
  found <- ask_model(object, name, list(x = counts$sent), call, labels = counts$rows,
                     columns = object$words)$found
  rows <- data.frame(row.names = if (is.null(counts$rows)) seq_len(counts$dim[1L]) else
    make.unique(counts$rows))
  if (type == "density") return(named_by(found, rows))
  found <- matrix(found, counts$dim[1L], nrow(object$topics))
  topic <- object$topics$topic
  if (type == "prob") return(as_answer(found, as.character(topic), rows))
  named_by(factor(topic[max.col(found, "first")], levels = topic), rows)
}

# Probabilities of all words in all topics: a topic a row.
coef.hdp_topics <- function(object, ...) {
  no_more(...)
  found <- ask_model(object, "probabilities", list(), sys.call())$found
  as_answer(matrix(found, nrow(object$topics)), object$words,
            data.frame(row.names = as.character(object$topics$topic)))
}

summary.hdp_topics <- function(object, n = 10, ...) {
  no_more(...)
  words <- top_words(object, n, sys.call())
  structure(list(n_documents = object$n_documents, n_seen = object$n_seen,
                 topics = object$topics, words = words), class = "summary.hdp_topics")
}

# The most probable words of each topic, by falling probability.
top_words <- function(object, n, call) {
  if (!is.numeric(n) || length(n) != 1L || is.na(n) || n < 1 || n != round(n))
    stop(simpleError(paste0("n must be a whole number >= 1; got ", shown(n),
                            ". 10 shows ten words of each topic."), call))
  found <- ask_model(object, "words", list(n = n), call)
  k <- nrow(object$topics)
  word <- matrix(found$word, k)
  data.frame(topic = rep(object$topics$topic, each = ncol(word)),
             rank = rep(seq_len(ncol(word)), k), word = object$words[t(word)],
             probability = c(t(matrix(found$probability, k))))
}

print.hdp_topics <- function(x, ...) {
  cat("Topics of words by a hierarchical Dirichlet process: ", nrow(x$topics), " topics\n",
      x$n_documents, " documents learned, ", x$n_seen, " words of ", length(x$words),
      " different ones\n", sep = "")
  print(utils::head(x$topics, 10L), digits = 4L, row.names = FALSE)
  if (nrow(x$topics) > 10L) cat("and", nrow(x$topics) - 10L, "more\n")
  invisible(x)
}

print.summary.hdp_topics <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat(nrow(x$topics), "topics of", x$n_documents, "documents, and their words\n\n")
  for (topic in x$topics$topic) {
    row <- x$topics[x$topics$topic == topic, ]
    cat(format(row$weight, digits = 2L), "  ", sep = "")
    cat(strwrap(paste(x$words$word[x$words$topic == topic], collapse = " "), width = 70L),
        sep = "\n        ")
  }
  invisible(x)
}

plot.hdp_topics <- function(x, n = 5, ...) {
  words <- top_words(x, n, sys.call())
  label <- vapply(split(words$word, factor(words$topic, levels = x$topics$topic)),
                  paste, "", collapse = " ")
  odr <- rev(seq_len(nrow(x$topics)))
  graphics::dotchart(x$topics$weight[odr], labels = label[odr], xlab = "share of words", ...)
  invisible(NULL)
}
