# What new rows may be: that R's own functions take from elsewhere, or for something else.

measured <- function(n = 60) {
  set.seed(6)
  d <- data.frame(a = runif(n), day = as.Date("2026-01-01") + seq_len(n),
                  time = as.POSIXct("2026-01-01", tz = "Asia/Tokyo") + 3600 * seq_len(n),
                  span = as.difftime(runif(n, 0, 9), units = "hours"), w = runif(n, 1, 2))
  d$y <- as.numeric(d$span) + as.numeric(d$day) / 10
  d
}

other_clock <- function(d) {
  attr(d$time, "tzone") <- "America/Lima"
  if (!is.null(d$span)) units(d$span) <- "mins"
  d
}

test_that("dates and times are those of the fit, and differences are in its units", {
  native()
  d <- measured()
  inputs <- c("a", "day", "time", "span")
  fits <- list(
    dynaTree(y ~ a + day + time + span, d, model = "linear", N = 10, verb = 0),
    dynaTree(d[inputs], d$y, model = "linear", N = 10, verb = 0),
    dyntree_stream(y ~ day + time + a:span, d, n_particles = 10, seed = 1),
    dp_gmm(~ a + day + time + span, data = d, lambda = 1e9),
    canopy_mixture(~ span + I(day), 2, data = d, seed = 1))
  for (fit in fits) {
    answer <- function(rows) if (inherits(fit, "dyntree_mixture"))
      predict(fit, rows, type = "density") else
        if (inherits(fit, "dyntree")) predict(fit, rows)$mean else predict(fit, rows)
    expect_equal(answer(other_clock(d)), answer(d), tolerance = 1e-12) # hours by 60 and back
    expect_error(answer(transform(d, day = as.POSIXct(day), time = time)),
                 "day\\)?\" of (XX|newdata) must be a Date, as in the fit; got")
    if (!inherits(fit, "canopy_mixture"))
      expect_error(answer(transform(d, time = as.Date(time))), "must be a POSIXct")
    expect_error(answer(transform(d, span = as.numeric(span))))
  }
  p <- predict(fits[[1]], d)$mean
  expect_error(update(fits[[1]], transform(d, day = as.POSIXct(day)), verb = 0),
               "of X must be a Date")
  expect_identical(predict(fits[[1]], d)$mean, p)
})

test_that("a column of nothing but NA is one of gaps, of whatever kind", {
  native()
  d <- mixed_rows()
  d$time <- as.POSIXct(d$day)
  d$span <- as.difftime(d$x, units = "mins")
  fit <- dynaTree(y ~ x + g + s + l + day + time + span, d, N = 10, verb = 0)
  typed <- untyped <- d[1:3, ]
  for (name in c("x", "g", "s", "l", "day", "time", "span")) {
    typed[[name]][1:3] <- NA
    untyped[[name]] <- NA
  }
  expect_identical(predict(fit, untyped)$mean, predict(fit, typed)$mean)
})

test_that("what the data of a fit had is not taken from the workspace", {
  native()
  d <- measured()
  d$k <- rpois(60, 3)
  a <- d$a
  w <- d$w
  y <- d$y
  k <- d$k
  fit <- dynaTree(y ~ a + day + offset(w), d, weights = w, N = 10, verb = 0)
  expect_error(predict(fit, d[c("day", "w")]), "XX must have the columns.*it has no a")
  expect_error(predict(fit, d[c("a", "day")]), "it has no w")
  expect_error(update(fit, d[c("a", "day", "w")], verb = 0), "y must be given.*have no y")
  plain <- dynaTree(y ~ a, d, weights = w, N = 10, verb = 0)
  expect_error(update(plain, d[c("a", "y")], verb = 0), "weights must be given.*have no w")
  counted <- dynaTree(k ~ a, d, exposure = w, model = "poisson", N = 10, verb = 0)
  expect_error(predict(counted, d["a"]), "exposure must be given.*have no w")
  expect_length(predict(counted, d["a"], exposure = 1)$mean, 60L)
  expect_identical(nobs(fit), 60L)
  stream <- dyntree_stream(k ~ a, d, model = "poisson", exposure = w, n_particles = 10,
                           seed = 1)
  expect_error(predict(stream, d["a"]), "exposure must be given, or be in newdata")
  expect_error(update(stream, d[c("a", "w")]), "it lacks \"k\"")
  expect_error(update(stream, d[c("a", "k")]), "exposure must be given, or be in newdata")
  knots <- c(0, 0.3, 0.6, 1) # a setting, which no new rows need have
  pieces <- dynaTree(y ~ cut(a, knots), d, N = 10, verb = 0)
  expect_length(predict(pieces, d["a"])$mean, 60L)
  pieces <- dyntree_average(y ~ cut(a, knots), d, n_particles = 5, n_clouds = 2, seed = 1)
  expect_length(predict(pieces, d["a"]), 60L)
  expect_length(predict(dp_gmm(~ pmin(a, knots[2]) + w, data = d, lambda = 1),
                        d[c("a", "w")]), 60L)
  free <- dynaTree(y ~ a, N = 10, verb = 0) # nothing but the workspace
  expect_length(predict(free, data.frame(a = 1))$mean, 1L)
})

test_that("what the rows of a fit have beside inputs is not that of as many new rows", {
  native()
  d <- measured()
  d$k <- rpois(60, 3)
  a <- d$a
  y <- d$y
  w <- d$w
  tens <- 10
  other <- data.frame(w = w)
  from_elsewhere <- function() d$w
  exposed <- function(...) dynaTree(k ~ a, d, model = "poisson", N = 10, verb = 0, ...)
  tree <- function(..., formula = y ~ a) dynaTree(formula, d[c("a", "y", "k")], N = 10, verb = 0, ...)
  streams <- function(...) dyntree_stream(k ~ a, d[c("a", "k")], model = "poisson",
                                          n_particles = 10, seed = 1, ...)
  beside <- list(
    weights = tree(weights = w), weights = tree(weights = 1 / other$w),
    weights = tree(weights = from_elsewhere()), weights = tree(weights = w, subset = a > 0),
    offset = tree(offset = w), exposure = exposed(exposure = from_elsewhere()),
    weights = streams(weights = w), weights = streams(weights = from_elsewhere()),
    exposure = streams(exposure = w), weights = dynaTree(y ~ a, weights = w, N = 10, verb = 0))
  for (i in seq_along(beside)) {
    expect_error(update(beside[[i]], d[c("a", "y", "k")]), paste(names(beside)[i], "must be given"))
    given <- c(list(beside[[i]], d[c("a", "y", "k")]),
               stats::setNames(list(rep(2, 60)), names(beside)[i]))
    if (inherits(given[[1]], "dyntree")) given$verb <- 0
    expect_identical(nobs(do.call(update, given)), 120L)
  }
  for (fit in list(tree(formula = y ~ a + offset(w)), tree(formula = y ~ a + w),
                   dynaTree(y ~ a + w, N = 10, verb = 0), tree(formula = y ~ a * other$w)))
    for (ask in list(predict, update)) expect_error(ask(fit, d[c("a", "y")]), "has no (w|other)")
  expect_error(update(dynaTree(w ~ a, d[c("a", "y")], N = 10, verb = 0), d["a"]), "y must be given")
  expect_error(update(dyntree_stream(w ~ a, d["a"], n_particles = 10, seed = 1), d["a"]),
               "lacks \"w\"")
  once <- dynaTree(y ~ I(a * tens), d, weights = w / tens, N = 10, verb = 0)
  once <- update(once, d[1:7, c("a", "y", "w")], verb = 0)
  expect_identical(once$weights, c(w, w[1:7]) / 10) # the ten is of no row
})

test_that("columns that a mixture has no use for may be of any kind", {
  d <- measured()
  d$any <- as.list(d$a)
  for (fit in list(dp_gmm(d["a"], lambda = 1), dp_gmm(~ a, data = d, lambda = 1)))
    expect_identical(predict(fit, d), fit$cluster)
})

test_that("update() of nothing but a fit is the fit anew", {
  native()
  d <- measured()
  set.seed(1)
  fit <- dynaTree(y ~ a, d, N = 10, verb = 0)
  set.seed(1)
  expect_identical(plain(update(fit)), plain(fit))
})

test_that("integer64, whose bits are other numbers, is refused by name", {
  native()
  big <- structure(1:60 * 2^-1074, class = "integer64")
  d <- data.frame(a = seq_len(60) / 60, y = seq_len(60) / 9)
  d$big <- big
  not_read <- list(
    quote(dynaTree(y ~ big, d)), quote(dynaTree(big ~ a, d)),
    quote(dynaTree(y ~ a, d, weights = big)), quote(dynaTree(y ~ a + offset(big), d)),
    quote(dynaTree(y ~ a, transform(d, a = big))),
    quote(dynaTree(d["big"], d$y)), quote(dynaTree(d$big, d$y)), quote(dynaTree(d$a, d$big)),
    quote(dynaTree(d$a, d$y, weights = d$big)), quote(predict(fit, data.frame(a = big))),
    quote(update(fit, d["a"], big)), quote(dyntree_stream(big ~ a, d)),
    quote(dyntree_stream(y ~ a:big, d)), quote(dyntree_stream(y ~ a, d, weights = big)),
    quote(predict(stream, data.frame(a = big))), quote(dp_gmm(~ big + a, data = d)),
    quote(canopy_mixture(d["a"], 2, weights = big)), quote(ddp_mixture(d["a"], big)),
    quote(predict(dp_gmm(~ a, data = d), data.frame(a = big))))
  fit <- dynaTree(y ~ a, d, N = 5, verb = 0)
  stream <- dyntree_stream(y ~ a, d, n_particles = 5, seed = 1)
  for (asked in not_read) expect_error(eval(asked), "integer64", label = deparse(asked)[1L])
  expect_error(hdp_topics(structure(matrix(1, 3, 3), class = "integer64")), "matrix of counts")
})

test_that("rows without values after rows with some are learned with a warning", {
  native()
  d <- measured()
  X <- as.matrix(d[c("a", "w")])
  n <- rpois(nrow(d), 3)
  fits <- list(
    exposure = dynaTree(X, n, N = 5, model = "poisson", exposure = d$w, verb = 0),
    weights = dynaTree(X, d$y, N = 5, weights = d$w, verb = 0),
    offset = dynaTree(X, d$y, N = 5, offset = d$w, verb = 0)
  )
  for (name in names(fits)) {
    expect_warning(update(copy(fits[[name]]), X, n, verb = 0), paste(name, "is [01] in these rows"))
    given <- list(copy(fits[[name]]), X, n, verb = 0)
    given[[name]] <- d$w
    expect_silent(do.call(update, given))
  }
  expect_silent(update(dynaTree(X, d$y, N = 5, verb = 0), X, d$y, verb = 0))
})

test_that("errors name what was passed instead of what was asked for", {
  native()
  d <- measured()
  d$text <- "p"
  expect_error(dynaTree(span ~ a, d), "y must hold numbers; got an object of class difftime")
  for (name in c("weights", "exposure")) {
    given <- list(y ~ a, transform(d, y = 1), "poisson", d$text)
    names(given) <- c("formula", "data", "model", name)
    expect_error(do.call(dyntree_stream, given),
                 paste0("^", name, " must be a number.*60 rows of data; got 60 texts"))
  }
  expect_error(ddp_mixture(d["a"]), "phase must be given, a label for each of the 60 rows")
  expect_error(hdp_topics(matrix("a", 3, 3)), "got a matrix of type character")
  expect_error(update(hdp_topics(word_counts(), seed = 1), cbind(word_counts(), other = 1)),
               "got \"other\". Leave out the columns of others.", fixed = TRUE)
  d$a[2] <- Inf
  for (face in list(dyntree_stream, dyntree_average))
    expect_error(face(y ~ w + offset(a), d), "offset must be finite; got Inf in row 2")
})

test_that("rows without a weight, exposure or offset are left out, as by lm()", {
  native()
  d <- measured()
  d$n <- rpois(nrow(d), 3)
  d$a[2] <- NA
  whole <- d[-2, ]
  asks <- list(
    function(d, face, ...) face(y ~ w + offset(a), d, ...),
    function(d, face, ...) face(y ~ w, d, weights = a, ...),
    function(d, face, ...) face(n ~ w, d, model = "poisson", exposure = a, ...)
  )
  for (ask in asks) {
    stream <- ask(d, dyntree_stream, n_particles = 5, seed = 1)
    expect_identical(nobs(stream), nrow(whole))
    again <- ask(whole, dyntree_stream, n_particles = 5, seed = 1)
    expect_equal(predict(stream, whole), predict(again, whole))
    expect_identical(nobs(update(stream, d)), 2L * nrow(whole))
    set.seed(1)
    tree <- ask(d, dynaTree, N = 5, verb = 0)
    expect_length(tree$y, nrow(whole))
    expect_identical(names(attr(tree, "na.action")), "2")
    expect_length(update(tree, d, verb = 0)$y, 2L * nrow(whole))
  }
  set.seed(1)
  tree <- dynaTree(y ~ w, d, offset = a, N = 5, verb = 0)
  expect_length(tree$y, nrow(whole))
  expect_length(update(tree, d, verb = 0)$y, 2L * nrow(whole))
  stream <- dyntree_stream(y ~ w + offset(a), d, n_particles = 5, seed = 1)
  expect_identical(which(is.na(predict(stream, d))), c("2" = 2L))
})

test_that("columns of a frame go by name under native rules", {
  d <- measured()[c("a", "w", "y")]
  native()
  set.seed(1)
  fit <- dynaTree(d[c("a", "w")], d$y, N = 10, verb = 0)
  here <- predict(fit, d[c("a", "w")])$mean
  expect_silent(there <- predict(fit, d)$mean)
  expect_identical(there, here)
  expect_identical(update(copy(fit), d[1:2, 3:1], 1:2, verb = 0)$X[61:62, ], fit$X[1:2, ])
  expect_warning(predict(fit, d[c("a", "y")]), "by their place: a, y are taken for a, w")
  expect_warning(predict(fit, as.matrix(d[c("w", "a")])), "by their place")
  expect_silent(predict(fit, data.frame(u = 1, v = 2)))
  set.seed(1)
  several <- dynaTrees(d[c("a", "w")], d$y, N = 5, R = 2, XX = d, verb = 0, pverb = 0)
  expect_identical(several$XX, as.matrix(d[c("a", "w")]), ignore_attr = "dimnames")
  options(dyntree.rules = "r")
  fit <- dynaTree(d[c("a", "w")], d$y, N = 10, verb = 0)
  expect_warning(predict(fit, d[c("w", "a")]), "by their place: w, a are taken for a, w")
})

test_that("no rows get no answers, of the type asked for", {
  d <- mixed_rows()
  d$g <- factor(rep(c("u", "v"), 60))
  d$x[4] <- 0
  for (rules in c("r", "native")) {
    old <- options(dyntree.rules = rules)
    fit <- dynaTree(y ~ x + g, d, N = 10, verb = 0, na.action = na.exclude)
    labels <- dynaTree(k ~ x, d, N = 10, verb = 0, model = "class")
    for (type in c("response", "quantile"))
      expect_identical(predict(fit, d[0, ], type = type),
                       {some <- predict(fit, d[1, ], type = type)
                        if (is.matrix(some)) some[0, , drop = FALSE] else some[0]})
    expect_identical(levels(predict(labels, d[0, ], type = "class")), c("low", "high"))
    expect_identical(dim(predict(labels, d[0, ], type = "prob")), c(0L, 2L))
    gaps <- d[1:2, ]
    gaps$x <- NA
    expect_identical(predict(fit, gaps, type = "response"), c("1" = NA_real_, "2" = NA))
    expect_length(predict(fit, gaps, type = "response", na.action = na.omit), 0L)
    expect_error(predict(fit, d[0, ]), "XX must have at least one row")
    expect_error(dynaTree(y ~ x, d[0, ]), "data must have at least one row to learn")
    expect_error(dynaTree(y ~ x, transform(d, y = NA)), "data must have at least one row")
    expect_error(dynaTree(y ~ 1, d), "formula must have an input; got y ~ 1")
    options(old)
  }
  few <- dyntree_stream(y ~ x, d[1:3, ], seed = 1)
  expect_output(print(summary(few)), "3 rows learned")
  expect_null(summary(few)$inputs)
})

test_that("na.exclude() of a fit holds for all its predictions", {
  native()
  d <- measured()
  gap <- transform(d[1:3, ], a = c(NA, 0.2, 0.4))
  fit <- dynaTree(y ~ a, d, N = 10, verb = 0, na.action = na.exclude) # leaves out none
  for (one in list(fit, update(copy(fit), d[1:2, ], verb = 0)))
    expect_identical(is.na(predict(one, gap, type = "response")),
                     c("1" = TRUE, "2" = FALSE, "3" = FALSE))
})

test_that("quantiles have the names that quantile() gives", {
  native()
  d <- measured()
  probs <- c(0.025, 1 / 3, 0.5)
  for (fit in list(dynaTree(y ~ a, d, N = 10, verb = 0),
                   dyntree_stream(y ~ a, d, n_particles = 10, seed = 1)))
    expect_identical(colnames(predict(fit, d, type = "quantile", probs = probs)),
                     names(quantile(1:9, probs)))
})

test_that("NA that addNA() made a level of is missing, as other NA", {
  native()
  d <- mixed_rows()
  d$g[c(3, 9)] <- NA
  d$k[5] <- NA
  levelled <- transform(d, g = addNA(g), k = addNA(k))
  for (face in list(dyntree_stream, dyntree_average)) {
    fits <- lapply(list(d, levelled), function(rows) face(y ~ g + x, rows, n_particles = 10,
                                                          seed = 1))
    expect_identical(predict(fits[[1]], levelled), predict(fits[[1]], d))
    expect_identical(predict(fits[[2]], d), predict(fits[[1]], d))
    labels <- face(k ~ x, levelled, n_particles = 10, seed = 1)
    expect_identical(labels$n_seen, 119L, ignore_attr = TRUE)
    expect_identical(levels(predict(labels, d)), c("low", "high"))
  }
  labels <- dynaTree(k ~ x, levelled, N = 10, verb = 0)
  expect_identical(nobs(labels), 119L)
  expect_identical(colnames(predict(labels, d, type = "prob")), c("low", "high"))
  expect_identical(nobs(update(labels, levelled[4:6, ], verb = 0)), 121L)
})

test_that("labels are whole numbers under native rules", {
  X <- matrix(seq_len(20) / 20)
  y <- rep(c(1, 2.5), 10)
  tree <- function(y) dynaTree(X, y, model = "class", N = 5, verb = 0)
  expect_identical(tree(y)$y, tree(trunc(y))$y) # as R's dynaTree has it
  native()
  expect_error(tree(y), "y must hold labels as whole numbers.*got 2.5 at element 2")
  fit <- tree(trunc(y))
  expect_error(update(fit, X[1:2, , drop = FALSE], c(1, 1.5), verb = 0),
               "y must hold labels as whole numbers")
  expect_error(predict(fit, X[1, , drop = FALSE], yy = 1.5), "yy must hold labels as whole")
})

test_that("truth values are no codes of a factor's labels", {
  d <- mixed_rows()
  for (rules in c("r", "native")) {
    old <- options(dyntree.rules = rules)
    fit <- dynaTree(k ~ y, d, model = "class", N = 5, verb = 0)
    expect_error(update(fit, d[1, ], TRUE), "y must hold labels of the fit, low, high; got TRUE")
    truths <- dynaTree(factor(l) ~ y, d, model = "class", N = 5, verb = 0)
    expect_identical(update(truths, d[1, ], TRUE)$y[121], 2)
    options(old)
  }
})

test_that("rows without a response leave a fit by formula as it was", {
  native()
  d <- measured()
  fit <- dynaTree(y ~ a, d, N = 10, verb = 0)
  for (rows in list(transform(d[1:3, ], y = NA), transform(d[1:3, ], y = NA_real_), d[0, ]))
    expect_identical(update(fit, rows), fit)
  expect_error(update(fit, transform(d[1:3, ], y = NA, a = "u")), "'a' was fitted with type")
})

test_that("what a formula makes of columns is scaled as at the fit", {
  native()
  d <- measured()
  scaled <- (d$y - mean(d$y)) / sd(d$y)
  fit <- dynaTree(scale(y) ~ scale(a), d, N = 10, verb = 0)
  fit <- update(fit, d[c(3, 9), ], verb = 0)
  expect_equal(fit$y[61:62], scaled[c(3, 9)])
  expect_equal(dyntree:::augment.dyntree(fit, newdata = d)$.resid,
               scaled - predict(fit, d)$mean)
  of <- function(rows, more) update(rows, more)$log_evidence
  d$s <- scaled
  expect_equal(of(dyntree_stream(scale(y) ~ a, d, n_particles = 10, seed = 1), d[1:5, ]),
               of(dyntree_stream(s ~ a, d, n_particles = 10, seed = 1), d[1:5, ]))
  d$z <- scale(d$a) # a matrix of one column
  stream <- dyntree_stream(y ~ z, d, n_particles = 10, seed = 1)
  expect_identical(predict(stream, transform(d, z = as.vector(z))), predict(stream, d))
})

test_that("mixtures of one column are drawn", {
  d <- measured()
  pdf(NULL)
  on.exit(dev.off())
  for (fit in list(canopy_mixture(d["a"], 2, seed = 1), dp_gmm(d["a"], lambda = 1),
                   ddp_mixture(d["a"], rep(1:3, 20), n_sweeps = 6, burn_in = 2, seed = 1))) {
    expect_null(plot(fit))
    expect_null(plot(fit, d))
    expect_error(plot(fit, columns = 2), "columns must be one or two of \"a\"; got 2")
  }
})

test_that("times keep parts of seconds, and those without end are refused", {
  native()
  set.seed(8)
  d <- data.frame(tick = seq_len(60) / 4) # binary fractions, which numbers keep
  d$time <- as.POSIXct("2026-01-01", tz = "UTC") + d$tick
  d$y <- (d$tick > 5) + rnorm(60, 0, 0.1)
  by_time <- dyntree_stream(y ~ time, d, n_particles = 20, seed = 1)
  by_number <- dyntree_stream(y ~ tick, d, n_particles = 20, seed = 1)
  expect_equal(predict(by_time, d), predict(by_number, d))
  middle <- dp_gmm(d["time"], lambda = 1e9)$components$time * 86400
  expect_lt(abs(middle - mean(as.numeric(d$time))), 1e-3) # days, whose doubles keep 3e-7 s
  d$time[7] <- as.POSIXct(Inf, origin = "1970-01-01", tz = "UTC")
  expect_error(predict(by_time, d), "newdata must be finite; got Inf in row 7, column \"time\"")
  expect_error(dyntree_stream(y ~ time, d), "data must be finite; got Inf in row 7")
})
