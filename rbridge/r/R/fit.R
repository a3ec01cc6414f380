dynaTree <- function(X, ...) UseMethod("dynaTree")

dynaTree.default <- function(X, y, N = 1000,
                             model = c("constant", "linear", "class", "prior",
                                       "poisson", "negbin"),
                             nu0s20 = c(0, 0), ab = c(0.95, 2), minp = NULL, sb = NULL,
                             nstart = minp, icept = c("implicit", "augmented", "none"),
                             rprop = c("luvar", "luall", "reject"),
                             verb = round(length(y) / 10), exposure = NULL, ...) {
  no_more(...)
  model <- match.arg(model)
  check_exposed(model, exposure)
  if (model %in% counts && rules() != "native")
    stop("model = \"", model, "\" is one of native rules: options(dyntree.rules = ",
         "\"native\")", call. = FALSE)
  force(y)
  call <- sys.call()
  X <- as_inputs(X)
  given <- list(X = X, y = as_response(y, model), N = N, model = model, nu0s20 = nu0s20,
                ab = ab, minp = minp, sb = sb,
                nstart = if (missing(nstart)) "minp" else nstart,
                icept = match.arg(icept), rprop = match.arg(rprop), verb = verb)
  if (!is.null(exposure)) given$exposure <- exposure
  tree <- held(call)
  told <- ask("dynaTree", given, call, tree, rules = rules(), save = TRUE)
  fields <- named_fields(told$value, colnames(X))
  structure(fields, class = c("dyntree", "dynaTree"), levels = levels(y),
            cloud = new_cloud(tree, told$saved, fields$lpred, fields$time))
}

dynaTree.formula <- function(X, data = NULL, subset, na.action = NULL, exposure = NULL,
                             ...) {
  if (is.null(na.action))
    na.action <- if (rules() == "native") omit_responses else stats::na.omit
  frame <- match.call(expand.dots = FALSE)
  named <- frame$exposure
  frame <- frame[c(1L, match(c("X", "data", "subset", "na.action", "exposure"),
                             names(frame), 0L))]
  names(frame)[names(frame) == "X"] <- "formula"
  frame[[1L]] <- quote(stats::model.frame)
  frame$na.action <- na.action
  frame <- eval(frame, parent.frame())
  terms <- attr(frame, "terms")
  asked <- stats::formula(terms)
  if (!asks_counts(...)) no_offset(terms)
  over <- exposed(stats::model.offset(frame), frame[["(exposure)"]])
  terms <- stats::delete.response(terms)
  y <- stats::model.response(frame)
  inputs <- design(terms, frame)
  contrasts <- attr(inputs, "contrasts")
  attr(inputs, "contrasts") <- NULL
  if (is.character(y)) y <- as.factor(y)
  if (is_labels(y) && rules() == "native" && is.na(match("model", ...names()))) {
    object <- dynaTree.default(inputs, droplevels(as.factor(y)), ..., model = "class",
                               exposure = over)
  } else {
    object <- dynaTree.default(inputs, y, ..., exposure = over)
  }
  if (!attr(terms, "intercept") && object$model == "linear" && object$icept != "none")
    warning("the formula leaves out the intercept, but linear leaves have one; ",
            "icept = \"none\" fits them without", call. = FALSE)
  attr(object, "formula") <- asked
  attr(object, "terms") <- terms
  attr(object, "xlevels") <- stats::.getXlevels(terms, frame)
  attr(object, "contrasts") <- contrasts
  attr(object, "exposure") <- named
  object
}

# Rows without a response are left out; under native rules inputs may have gaps.
omit_responses <- function(object, ...) {
  there <- stats::complete.cases(object[[1L]])
  if (all(there)) object else object[there, , drop = FALSE]
}

# Labels of native rules make a classification where no model is named.
is_labels <- function(y) is.factor(y) || is.logical(y)

counts <- c("poisson", "negbin") # whose rows have exposures

# Whether the model among further arguments is one of them; the others stay as they are.
asks_counts <- function(...) {
  at <- match("model", ...names())
  !is.na(at) && isTRUE(...elt(at) %in% counts)
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

# Exposures of new rows: those given, or of a fit by formula those that it names.
new_exposure <- function(object, X, exposure) {
  check_exposed(object$model, exposure)
  terms <- attr(object, "terms")
  if (!object$model %in% counts || is.null(terms) || !is.data.frame(X)) return(exposure)
  frame <- stats::model.frame(terms, X, xlev = attr(object, "xlevels"),
                              na.action = stats::na.pass)
  if (is.null(exposure) && !is.null(named <- attr(object, "exposure")))
    exposure <- eval(named, X, environment(terms))
  exposed(stats::model.offset(frame), exposure)
}

no_offset <- function(terms) {
  at <- attr(terms, "offset")
  if (!is.null(at))
    stop("a dynamic tree has no offset; the formula has ",
         deparse(attr(terms, "variables")[[at[1L] + 1L]])[1L],
         ". Subtract it from the response, and add it to predictions.", call. = FALSE)
}

dynaTrees <- function(X, y, N = 1000, R = 10, sub = length(y),
                      model = c("constant", "linear", "class", "prior"),
                      nu0s20 = c(0, 0), ab = c(0.95, 2), minp = NULL, sb = NULL,
                      nstart = minp, icept = c("implicit", "augmented", "none"),
                      rprop = c("luvar", "luall", "reject"), XX = NULL, yy = NULL,
                      varstats = FALSE, lhs = NULL, plotit = FALSE, proj = 1,
                      rorder = TRUE, verb = round(sub / 10), pverb = round(N / 10),
                      ...) {
  X <- as_inputs(X)
  rows <- is.character(XX) || is.null(XX)
  model <- match.arg(model)
  given <- list(X = X, y = as_response(y, model), N = N, R = R, sub = sub,
                model = model, nu0s20 = nu0s20, ab = ab, minp = minp,
                sb = sb, nstart = if (missing(nstart)) "minp" else nstart,
                icept = match.arg(icept), rprop = match.arg(rprop),
                XX = if (rows) XX else as_inputs(XX),
                yy = if (!is.null(yy)) coded(yy, model, levels(y)), varstats = varstats,
                lhs = lhs, rorder = rorder, verb = verb, pverb = pverb, ...)
  fields <- ask("dynaTrees", given, sys.call(), rules = rules())$value
  object <- structure(named_fields(fields, colnames(X)), class = c("dyntree", "dynaTree"))
  if (!rows) dimnames(object[["XX"]]) <- dimnames(X_like(object, given$XX))
  if (plotit && !rows) plot(object, proj = proj)
  object
}

# A matrix of numbers, as R's dynaTree takes a vector, a matrix or a data frame.
as_inputs <- function(X) {
  if (inherits(X, "formula"))
    stop("X must hold numbers; got a formula, which only dynaTree() takes.", call. = FALSE)
  if (!is.matrix(X)) X <- as.matrix(X)
  if (is.logical(X)) storage.mode(X) <- "double"
  X
}

# Labels count from 1; a factor is its codes, which are classes and no numbers.
as_response <- function(y, model) {
  if (is.factor(y) && model %in% c("constant", "linear", counts))
    stop("y is a factor, whose codes are no numbers to regress on: give model = ",
         "\"class\", or the numbers it stands for, as.numeric(as.character(y)).",
         call. = FALSE)
  if (is.factor(y)) as.numeric(y) else if (is.matrix(y)) drop(y) else y
}

no_more <- function(...) {
  if (...length())
    stop(simpleError(paste0("unused argument (", names_or_values(...), ")"),
                     sys.call(-1L)))
}

names_or_values <- function(...) {
  names <- ...names()
  paste(if (is.null(names)) rep("...", ...length()) else names, collapse = ", ")
}

# The columns that a formula makes of a frame, without an intercept; with the contrasts
# that made them of factors.
design <- function(terms, frame, contrasts = NULL) {
  X <- stats::model.matrix(terms, frame, contrasts.arg = contrasts)
  structure(X[, attr(X, "assign") != 0L, drop = FALSE], contrasts = attr(X, "contrasts"))
}

# New rows of a model: those of its formula, if it has one.
new_rows <- function(object, X) {
  terms <- attr(object, "terms")
  if (is.null(terms) || !is.data.frame(X)) return(in_place(object, as_inputs(X)))
  frame <- stats::model.frame(terms, X, xlev = attr(object, "xlevels"),
                              na.action = stats::na.pass) # to be refused, not dropped
  stats::.checkMFClasses(attr(terms, "dataClasses"), frame)
  X <- design(terms, frame, attr(object, "contrasts"))
  attr(X, "contrasts") <- NULL
  dimnames(X)[1L] <- list(NULL)
  X
}

# Columns go by their place, as in R's dynaTree; the same names elsewhere are a mistake.
in_place <- function(object, X) {
  given <- dimnames(X)[[2L]]
  if (!is.null(given) && !identical(given, names <- input_names(object)) &&
      setequal(given, names))
    warning("columns go by their place: ", paste(given, collapse = ", "),
            " are taken for ", paste(names, collapse = ", "), ", those of the fit",
            call. = FALSE)
  X
}

# New responses of a model.
new_response <- function(object, y) coded(y, object$model, attr(object, "levels"))

# Responses; labels as their codes among those that a factor had at the fit, if it was one.
coded <- function(y, model, levels) {
  if (is.null(levels) || !(is.factor(y) || is.character(y))) return(as_response(y, model))
  codes <- match(as.character(y), levels)
  if (anyNA(codes))
    stop("y must hold labels of the fit, ", paste(levels, collapse = ", "), "; got ",
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
