dynaTree <- function(X, ...) UseMethod("dynaTree")

dynaTree.default <- function(X, y, N = 1000,
                             model = c("constant", "linear", "class", "prior",
                                       "poisson", "negbin"),
                             nu0s20 = c(0, 0), ab = c(0.95, 2), minp = NULL, sb = NULL,
                             nstart = minp, icept = c("implicit", "augmented", "none"),
                             rprop = c("luvar", "luall", "reject"),
                             verb = round(length(y) / 10), exposure = NULL,
                             weights = NULL, offset = NULL, ...) {
  no_more(...)
  check_order(y, "y", "dynaTree")
  names_model <- !missing(model)
  model <- chosen(model, "model", c("constant", "linear", "class", "prior", counts))
  native <- rules() == "native"
  check_exposed(model, exposure)
  if (model %in% counts && !native)
    stop("model = \"", model, "\" is one of native rules: options(dyntree.rules = ",
         "\"native\")", call. = FALSE)
  force(y)
  call <- sys.call()
  inputs <- fit_inputs(X, native = native)
  labels <- fit_labels(y, model, native)
  more <- check_beside(model, native, list(exposure = exposure, weights = weights,
                                           offset = offset), nrow(inputs),
                       rownames(inputs))
  if (!is.null(more$weights) && !any(more$weights > 0))
    stop("weights must not be 0 in all rows.", call. = FALSE)
  response <- as_response(labels, model, whole = native && model == "class")
  learned <- with_weight(no_coding(inputs), response, more)
  given <- list(X = learned$X, y = learned$y, N = truncated(N), model = model, nu0s20 = nu0s20,
                ab = ab, minp = minp, sb = sb,
                nstart = if (missing(nstart)) "minp" else nstart,
                icept = chosen(icept, "icept", intercepts),
                rprop = chosen(rprop, "rprop", proposals), verb = verb)
  given$classes <- declared_classes(labels, model, native)
  tree <- new_holder(call)
  reply <- ask("dynaTree", c(given, learned$beside), call, tree, rules = rules(),
              save = TRUE, rows = labels_of(learned))
  fields <- named_fields(reply$value, colnames(inputs))
  if (native && !names_model) warn_of_two_numbers(learned$y, model)
  cloud <- new_cloud(tree, reply$saved, fields$lpred, fields$time,
                     rownames(learned$X), learned$offset)
  if (!is.null(learned$offset)) fields$y <- fields$y + learned$offset
  if (!native && is.null(attr(inputs, "terms"))) rownames(fields$X) <- rownames(inputs)
  object <- structure(fields, class = c("dyntree", "dynaTree"), levels = levels(labels),
                      cloud = cloud)
  if (tells_rows(cloud)) attr(object, "rows") <- seq_along(fields$y)
  attr(object, "call") <- called(match.call())
  with_coding(object, inputs)
}

intercepts <- c("implicit", "augmented", "none")
proposals <- c("luvar", "luall", "reject")

dynaTrees <- function(X, y, N = 1000, R = 10, sub = length(y),
                      model = c("constant", "linear", "class", "prior"),
                      nu0s20 = c(0, 0), ab = c(0.95, 2), minp = NULL, sb = NULL,
                      nstart = minp, icept = c("implicit", "augmented", "none"),
                      rprop = c("luvar", "luall", "reject"), XX = NULL, yy = NULL,
                      varstats = FALSE, lhs = NULL, plotit = FALSE, proj = 1,
                      rorder = TRUE, verb = round(sub / 10), pverb = round(N / 10),
                      ...) {
  no_others(c("quants", "ei", "class", "nns", "nME", "span", "method", "categ", "rect",
              "approx"), ...)
  refuse_formula(y, "y")
  names_model <- !missing(model)
  native <- rules() == "native"
  inputs <- fit_inputs(X, native = native)
  X <- no_coding(inputs)
  rows <- is.character(XX) || is.null(XX)
  model <- chosen(model, "model", c("constant", "linear", "class", "prior"))
  labels <- fit_labels(y, model, native)
  check_flag(plotit, "plotit")
  like <- list(X = if (native) X else unname(X), icept = "none",
               rules = if (native) "native")
  like <- with_coding(like, inputs)
  given <- list(X = X, y = as_response(labels, model, whole = native && model == "class"),
                N = truncated(N), R = R, sub = sub,
                model = model, nu0s20 = nu0s20, ab = ab, minp = minp,
                sb = sb, nstart = if (missing(nstart)) "minp" else nstart,
                icept = chosen(icept, "icept", intercepts),
                rprop = chosen(rprop, "rprop", proposals),
                XX = if (rows) XX else new_rows(like, XX),
                yy = if (!is.null(yy)) coded(yy, model, levels(labels), "yy", native),
                varstats = varstats, lhs = lhs, rorder = rorder, verb = verb,
                pverb = pverb, ...)
  given$classes <- declared_classes(labels, model, native)
  fields <- ask("dynaTrees", given, sys.call(), rules = rules())$value
  if (native && !names_model) warn_of_two_numbers(given$y, model)
  object <- structure(named_fields(fields, colnames(X)), class = c("dyntree", "dynaTree"))
  if (!rows) dimnames(object[["XX"]]) <- dimnames(X_like(object, given$XX))
  if (plotit && !rows) plot(object, proj = proj)
  object
}

# Warns of responses that may be labels, such as 0 and 1, where nobody has named the model.
warn_of_two_numbers <- function(y, model, call = NULL)
  ask("warn_of_two_numbers", list(y = y, leaves = model), call)

# Rows that weigh nothing, or are not there, are left out; beside an offset the trees
# learn the rest of a response.
with_weight <- function(X, y, more, there = TRUE) {
  keep <- if (is.null(more$weights)) there else there & more$weights > 0
  offset <- more$offset
  if ((!all(keep) || !is.null(offset)) && length(y) != nrow(X))
    stop("y must have one value a row of X, ", nrow(X), "; got ", length(y), ".",
         call. = FALSE)
  if (!all(keep)) {
    X <- X[keep, , drop = FALSE]
    y <- y[keep]
    more <- lapply(more, function(values) values[keep])
    offset <- more$offset
  }
  if (!is.null(offset)) y <- y - offset
  beside <- more[c("exposure", "weights")]
  list(X = X, y = y, keep = keep, offset = offset, beside = beside[lengths(beside) > 0L])
}

# A number of particles such as 1000 / 7, of which R's dynaTree takes the whole part.
truncated <- function(N) if (is_single(N, is_number) && abs(N) < .Machine$integer.max)
  trunc(N) else N

# The names of learned rows, or their numbers where some were left out.
labels_of <- function(learned) {
  names <- rownames(learned$X)
  if (is.null(names) && !all(learned$keep)) which(learned$keep) else names
}

# Labels as a factor where native rules take more than codes.
fit_labels <- function(y, model, native) {
  if (model != "class" || !native) return(y)
  if (is.character(y) || is.logical(y)) return(as.factor(y))
  if (anyNA(levels(y))) factor(y, levels(y)[!is.na(levels(y))]) else y # of addNA()
}

# How many labels a factor declares, whether rows have them or not.
declared_classes <- function(labels, model, native)
  if (native && model == "class" && is.factor(labels)) nlevels(labels)

# Labels count from 1; a factor is its codes, which are classes and no numbers.
# whole: whether parts of labels are refused; R's dynaTree cuts them off.
as_response <- function(y, model, name = "y", whole = FALSE) {
  if (is.factor(y) && model %in% c("constant", "linear", counts))
    stop(name, " is a factor, whose codes are no numbers to regress on: give model = ",
         "\"class\", or the numbers it stands for, as.numeric(as.character(", name, ")).",
         call. = FALSE)
  if (is.factor(y)) return(as.numeric(y))
  check_numbers(y, name)
  part <- if (whole) which(y != trunc(y))
  if (length(part))
    stop(name, " must hold labels as whole numbers, or be a factor; got ", y[part[1L]],
         " at element ", part[1L], ".", call. = FALSE)
  if (is.matrix(y)) drop(y) else y
}

no_others <- function(known, ...) {
  strange <- setdiff(...names(), known)
  if (...length() > length(...names()) || length(strange))
    stop(simpleError(paste0("unused argument (",
                            if (length(strange)) strange[1L] else "...", ")"),
                     sys.call(-1L)))
}

no_more <- function(...) {
  if (...length())
    stop(simpleError(paste0("unused argument (", names_or_values(...), ")"),
                     sys.call(-1L)))
}

names_or_values <- function(...) {
  names <- ...names()
  if (is.null(names)) names <- character(...length())
  paste(replace(names, !nzchar(names), "..."), collapse = ", ")
}

# New responses of a model.
new_response <- function(object, y, name = "y")
  coded(y, object$model, attr(object, "levels"), name, is_native(object))

# Responses; labels as their codes among those that a factor had at the fit, if it was one.
coded <- function(y, model, levels, name = "y", native = FALSE) {
  if (is.null(levels) || !(is.factor(y) || is.character(y) || is.logical(y)))
    return(as_response(y, model, name, whole = native && model == "class"))
  codes <- match(as.character(y), levels)
  if (anyNA(codes))
    stop(name, " must hold labels of the fit, ", paste(levels, collapse = ", "), "; got ",
         as.character(y)[is.na(codes)][1L], ".", call. = FALSE)
  as.numeric(codes)
}

# How many columns of ones the object's X begins with.
ones <- function(object) as.integer(object$icept == "augmented" && is.null(object[["rules"]]))

# New rows as the object stores them.
X_like <- function(object, XX) if (ones(object)) cbind(1, XX) else XX

# Fields with the names that R's dynaTree gives them.
named_fields <- function(fields, columns) {
  all <- if (is.null(columns)) NULL else
    c(character(ones(fields)), columns)
  if (!is.null(fields[["X"]]) && !is.null(columns)) colnames(fields[["X"]]) <- all
  if (!is.null(fields[["time"]])) names(fields[["time"]]) <- rep("elapsed", length(fields[["time"]]))
  label_answers(fields, columns, all)
}

label_answers <- function(fields, columns, all) {
  across <- function(x, names) {
    if (is.list(x)) return(lapply(x, across, names))
    if (is.matrix(x)) attr(x, "dimnames") <- list(NULL, names)
    x
  }
  for (name in c("MEmean", "MEq1", "MEq2", "S", "T")) if (!is.null(fields[[name]]))
    fields[[name]] <- across(fields[[name]], columns)
  if (!is.null(fields[["MEgrid"]]) && !is.null(columns)) colnames(fields[["MEgrid"]]) <- columns
  if (!is.null(fields[["relevance"]])) fields[["relevance"]] <- across(fields[["relevance"]], all)
  if (!is.null(fields[["rect"]]) && is.matrix(fields[["rect"]]) && !is.null(all))
    rownames(fields[["rect"]]) <- all
  if (!is.null(fields[["p"]]))
    attr(fields[["p"]], "dimnames") <- list(NULL, paste0("c", seq_len(ncol(fields[["p"]]))))
  if (!is.null(fields[["categ"]]) && !is.null(columns))
    names(fields[["categ"]]) <- if (length(fields[["categ"]]) == length(all)) all else columns
  fields
}

# Names of an object's inputs, of those it stores with ones before them.
stored_names <- function(object) dimnames(object[["X"]])[[2L]]
input_names <- function(object) {
  names <- stored_names(object)
  if (ones(object)) names[-1L] else names
}
