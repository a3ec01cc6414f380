# What arguments may be, in R's words, before they go to Python; whether a number is
# within its range is checked there.

# By name. What is not here passes, or is checked where it comes in.
kinds <- list(
  N = "count", R = "count", sub = "count", minp = "count", nns = "count",
  nME = "count", index = "count", var = "count", lambda = "number", q = "number",
  alpha = "number", prec = "number", span = "number", verb = "step", pverb = "step",
  quants = "flag", ei = "flag", approx = "flag", varstats = "flag",
  y = "numbers", yy = "numbers", nu0s20 = "numbers", ab = "numbers", sb = "numbers",
  indices = "numbers", odr = "numbers", probs = "numbers", class = "numbers",
  exposure = "numbers", weights = "numbers", X = "rows", XX = "rows", Xref = "rows",
  rect = "numbers", categ = "flags", nstart = "start", rorder = "numbers",
  lhs = "laws"
)
optional <- c("minp", "sb", "XX", "yy", "rect", "categ", "Xref", "probs", "class", "verb",
              "pverb", "exposure", "weights", "odr")

check_arguments <- function(given, call = NULL) {
  for (name in names(given)) {
    if (is.null(kind <- kinds[[name]])) next
    value <- given[[name]]
    if (is.null(value) && name %in% optional) next
    rule <- broken_rule(value, kind)
    if (!is.null(rule))
      stop(simpleError(paste0(name, " must ", rule, "; got ", shown(value), "."), call))
  }
}

# What is wrong with a value of some kind; NULL if nothing is.
broken_rule <- function(value, kind) {
  right <- switch(kind,
    number = is_single(value, is.numeric),
    count = is_count(value),
    step = is_count(value) || is_single(value, is.logical),
    start = is.null(value) || identical(value, "minp") || is_count(value),
    flag = is_single(value, is.logical),
    flags = is.logical(value) && !anyNA(value),
    numbers = is_numbers(value),
    rows = is_plain(value) || identical(value, "sens"),
    laws = is.null(value) || is_laws(value))
  if (!right) rules_of_kinds[[kind]]
}

most <- paste("be one number of at most", .Machine$integer.max)
rules_of_kinds <- c(number = "be one number", count = most, step = most,
                    start = paste0(most, ", or NULL"), flag = "be TRUE or FALSE",
                    flags = "hold TRUE and FALSE only", numbers = "hold numbers",
                    rows = "hold numbers",
                    laws = "be a list of numbers named rect, shape, mode")

refuse <- function(value, name, rule)
  stop(name, " must ", rule, "; got ", shown(value), ".", call. = FALSE)

# Of inputs, as sens() takes them.
is_laws <- function(x) is.list(x) && !is.data.frame(x) && !is.null(names(x)) &&
  all(names(x) %in% c("rect", "shape", "mode")) &&
  all(vapply(x, function(part) is.null(part) || is_plain(part), NA))

is_count <- function(x) is_single(x, is.numeric) && abs(x) <= .Machine$integer.max

check_flag <- function(value, name) {
  if (!is_single(value, is.logical)) refuse(value, name, "be TRUE or FALSE")
}

check_numbers <- function(value, name) {
  if (!is_numbers(value)) refuse(value, name, "hold numbers")
}

# Whether a value is one of a kind, such as is.numeric, and not missing.
is_single <- function(x, is_kind) length(x) == 1L && is_kind(x) && !is.na(x)

# Numbers or logicals: factors, dates and times are neither to R.
is_plain <- function(x) (is_number(x) || is.logical(x)) && !is.data.frame(x)

# The class integer64 of package bit64 keeps its values in the bits of other numbers.
is_number <- function(x) is.numeric(x) && !inherits(x, "integer64")

# Rows that a formula has read, none of them of that class, which model.frame() takes.
no_integer64 <- function(frame, call = NULL) {
  for (column in names(frame)) if (inherits(frame[[column]], "integer64"))
    stop(simpleError(paste0("column ", name_of(column), " must hold numbers; got an object of ",
                            "class integer64. Convert it with as.numeric(), with bit64 ",
                            "loaded."), call))
  frame
}

# NA of no number is logical.
is_numbers <- function(x) is_plain(x) && !(is.logical(x) && anyNA(x))

# A value as messages name it.
shown <- function(x) {
  if (is.null(x)) return("NULL")
  if (is.data.frame(x)) return("a data frame")
  if (is.factor(x)) return("a factor")
  if (inherits(x, "formula")) return("a formula")
  if (inherits(x, "Date") || inherits(x, "POSIXt")) return("dates")
  if (is.function(x)) return("a function")
  if (inherits(x, c("difftime", "integer64"))) return(paste("an object of class", class(x)[1L]))
  if (is.list(x)) return("a list")
  if (is.matrix(x))
    return(paste("a matrix of", nrow(x), "rows and", ncol(x), "columns of", content(x)))
  if (length(x) <= 1L) return(paste(deparse(x), collapse = " "))
  paste(length(x), content(x))
}

content <- function(x) switch(mode(x), character = "texts", numeric = "numbers",
                              logical = "logicals", complex = "complex numbers",
                              paste("values of mode", mode(x)))

# Names of quantiles, as quantile() has them.
percents <- function(probs)
  paste0(formatC(100 * probs, format = "fg", width = 1, digits = 7L), "%")

# The choice that a value names, in full or by its beginning; the first by default.
chosen <- function(value, name, choices) {
  found <- if (identical(value, choices)) 1L else
    if (is.character(value) && length(value) == 1L) pmatch(value, choices)
  if (is.null(found) || is.na(found))
    stop(name, " must be one of ", quoted(choices), "; got ", shown(value), ".",
         call. = FALSE)
  choices[found]
}

# Values as R reads them, with commas between them.
quoted <- function(x) paste(encodeString(x, quote = "\""), collapse = ", ")

# Names with commas between them: in quotes, or in backticks where they have some themselves.
name_of <- function(x) {
  has_quotes <- grepl("[\"\\\\]", x)
  x[!has_quotes] <- encodeString(x[!has_quotes], quote = "\"")
  x[has_quotes] <- vapply(x[has_quotes], function(one)
    paste(deparse(as.name(one), backtick = TRUE), collapse = ""), "")
  paste(x, collapse = ", ")
}
