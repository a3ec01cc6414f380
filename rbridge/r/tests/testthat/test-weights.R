measured <- function(n = 60) {
  set.seed(5)
  d <- data.frame(x = runif(n), m = sample(c(1, 4, 40), n, TRUE), o = rnorm(n, 0, 3))
  d$y <- sin(6 * d$x) + rnorm(n, 0, 0.6) / sqrt(d$m)
  d
}

test_that("weights divide variances, and their unit does not matter", {
  native()
  d <- measured()
  tree <- function(w, ...) {
    set.seed(7)
    dynaTree(y ~ x, data.frame(d, w = w), weights = w, N = 40, verb = 0, ...)
  }
  fit <- tree(d$m)
  expect_identical(fit$weights, d$m)
  expect_identical(weights(fit), d$m)
  set.seed(7)
  expect_identical(dynaTree(d$x, d$y, N = 40, weights = d$m, verb = 0)$lpred, fit$lpred)
  expect_equal(fitted(tree(1000 * d$m)), fitted(fit), tolerance = 1e-8)
  none <- tree(rep(1, 60))
  set.seed(7)
  expect_equal(none$lpred, dynaTree(y ~ x, d, N = 40, verb = 0)$lpred, tolerance = 1e-10)
  leaf <- tree(d$m, minp = 40, model = "constant") # one leaf: the weighted mean, shrunken
  expect_lt(abs(fitted(leaf)[[1]] - weighted.mean(d$y, d$m)), 0.15)
  apart <- abs(fitted(leaf)[[1]] - c(weighted.mean(d$y, d$m), mean(d$y)))
  expect_lt(apart[1], apart[2])
})

test_that("weights go with their rows, and rows of weight 0 are left out", {
  native()
  d <- measured()
  d$m[3] <- 0
  fit <- dynaTree(y ~ x, d, weights = m, N = 20, verb = 0)
  expect_identical(nobs(fit), 59L)
  expect_identical(names(fitted(fit)), row.names(d)[-3])
  fit <- update(fit, d[1:4, ], d$y[1:4]) # the third of them weighs nothing
  expect_identical(fit$weights, c(d$m[-3], d$m[c(1, 2, 4)]))
  file <- tempfile()
  saveRDS(fit, file)
  go_on <- function(fit) {
    set.seed(3)
    fit <- rejuvenate(retire(fit, c(1, 7)), verb = 0)
    plain(predict(update(fit, d[5:6, ], verb = 0), d[1:5, ]))
  }
  again <- go_on(readRDS(file))
  fit <- go_on(fit)
  expect_identical(again$mean, fit$mean)
  expect_identical(again$weights, fit$weights)
  expect_true(all(paste(fit$X, fit$weights) %in% paste(d$x, d$m)))
  unweighted <- dynaTree(d$x, d$y, N = 5, verb = 0)
  expect_error(update(unweighted, 0.5, 1, weights = 2), "weights is for fits with weights")
})

test_that("rows of nothing but weight 0 leave a fit as it was", {
  native()
  d <- measured()
  X <- as.matrix(d["x"])
  tree <- dynaTree(y ~ x, d, weights = m, N = 5, verb = 0)
  by_matrix <- dynaTree(X, d$y, weights = d$m, N = 5, verb = 0)
  stream <- dyntree_stream(y ~ x, d, weights = m, n_particles = 5, seed = 1)
  none <- transform(d[1:2, ], m = 0)
  expect_identical(update(tree, none, verb = 0), tree)
  expect_identical(update(by_matrix, X[1:2, , drop = FALSE], 1:2, weights = 0), by_matrix)
  expect_identical(update(stream, none), stream)
  expect_identical(update(stream, d[1, ], weights = 0), stream)
  expect_error(update(stream, d[1, ], weights = -1), "weights must be finite and >= 0; got -1")
  expect_error(dyntree_stream(y ~ x, d, weights = 0 * m, seed = 1), "weights must not be zero")
})

test_that("weights of labels and counts are frequencies", {
  native()
  d <- measured()
  once <- dynaTree(d$x, 1 + (d$y > 0), N = 5, model = "class", minp = 100, weights = 3, verb = 0)
  thrice <- dynaTree(rep(d$x, 3), rep(1 + (d$y > 0), 3), N = 5, model = "class", minp = 300,
                     verb = 0)
  expect_equal(predict(once, 0.5)$p, predict(thrice, 0.5)$p, ignore_attr = TRUE)
  k <- rpois(60, 3)
  once <- dynaTree(d$x, k, N = 5, model = "poisson", minp = 100, weights = 3, verb = 0)
  thrice <- dynaTree(rep(d$x, 3), rep(k, 3), N = 5, model = "poisson", minp = 300, verb = 0)
  expect_equal(predict(once, 0.5)$mean, predict(thrice, 0.5)$mean, tolerance = 0.02)
})

test_that("an offset is taken off the response and put back", {
  native()
  d <- measured()
  d$y <- d$y + d$o
  set.seed(7)
  fit <- dynaTree(y ~ x + offset(o), d, N = 30, verb = 0)
  set.seed(7)
  rest <- dynaTree(d["x"], d$y - d$o, N = 30, verb = 0)
  expect_identical(fit$lpred, rest$lpred)
  expect_equal(fit$y, d$y)
  expect_identical(colnames(fit$X), "x")
  new <- data.frame(x = c(0.2, 0.7), o = c(-5, 5))
  answer <- predict(fit, new, yy = c(-4, 4))
  plain <- predict(rest, new["x"], yy = c(1, -1))
  for (name in c("mean", "q1", "q2")) expect_equal(answer[[name]], plain[[name]] + new$o)
  expect_identical(answer[c("var", "yypred")], plain[c("var", "yypred")], ignore_attr = TRUE)
  expect_equal(unname(predict(fit, new, type = "quantile", probs = 0.3)),
               unname(predict(rest, new["x"], type = "quantile", probs = 0.3)) + new$o)
  expect_equal(unname(residuals(fit)), unname(residuals(rest)))
  expect_error(predict(fit, new["x"]), "it has no o")
  set.seed(7)
  named <- dynaTree(y ~ x, d, offset = o, N = 30, verb = 0)
  expect_identical(named$lpred, fit$lpred)
  expect_identical(predict(named, new)$mean, answer$mean)
  set.seed(7)
  by_matrix <- dynaTree(d["x"], d$y, offset = d$o, N = 30, verb = 0)
  expect_identical(predict(by_matrix, new["x"], offset = new$o)$mean, answer$mean)
  expect_equal(predict(by_matrix, new["x"])$mean, plain$mean)
  file <- tempfile()
  saveRDS(fit, file)
  later <- retire(update(readRDS(file), new, c(-4, 4)), c(2, 9, 61))
  d$id <- paste(d$x)
  at <- match(paste(later$X[1:50, 1]), d$id)
  expect_equal(later$y[1:50][!is.na(at)], d$y[at[!is.na(at)]])
  expect_equal(unname(residuals(later)), later$y - unname(fitted(later)))
  expect_error(predict(fit, new, ei = TRUE), "ei is for responses without an offset")
  expect_error(dynaTree(I(y > 0) ~ x + offset(o), d), "offset is for regressions")
  both <- dynaTree(y ~ x + offset(o), d, weights = m, subset = m > 1, N = 5, verb = 0)
  expect_identical(nobs(both), sum(d$m > 1))
})

test_that("what are no weights or offsets is refused", {
  native()
  d <- measured()
  expect_error(dynaTree(d$x, d$y, weights = -d$m), "weights must be >= 0; got -")
  expect_error(dynaTree(d$x, d$y, weights = 0), "weights must not be 0 in all rows")
  expect_error(dynaTree(d$x, d$y, weights = c(1, NA, d$m[-(1:2)])), "finite; got NA in row 2")
  expect_error(dynaTree(d$x, d$y, weights = 1:3), "weights must have one value a row, 60; got 3")
  expect_error(dynaTree(d$x, d$y, offset = "a"), "offset must hold numbers; got \"a\"")
  options(dyntree.rules = "r")
  expect_error(dynaTree(d$x, d$y, weights = d$m), "R's rules have no weights; options\\(")
  expect_error(dynaTree(d$x, d$y, offset = d$o), "R's rules have no offset.*Or subtract it")
})

test_that("what a formula has beside inputs is given with rows that have no names", {
  native()
  d <- events()
  d$o <- log(d$hours)
  d$y <- d$a + d$o
  fits <- list(offset = dynaTree(y ~ a + offset(o), d, N = 20, verb = 0),
               offset = dynaTree(y ~ a, d, offset = o, N = 20, verb = 0),
               exposure = dynaTree(k ~ a, d, exposure = hours, model = "poisson", N = 20,
                                   verb = 0))
  for (k in seq_along(fits)) {
    fit <- fits[[k]]
    asked <- paste0("^", names(fits)[k], " must be given beside new rows that are no data frame")
    expect_error(predict(fit, 0.5), asked)
    expect_error(update(fit, matrix(0.5), 1), asked)
    given <- stats::setNames(list(0.5), names(fits)[k])
    one <- data.frame(a = 0.5, o = 0.5, hours = 0.5)
    expect_identical(do.call(predict, c(list(fit, 0.5), given))$mean, predict(fit, one)$mean)
  }
  weighted <- dynaTree(y ~ a, d, weights = hours, N = 20, verb = 0)
  expect_error(update(weighted, matrix(0.5), 1), "^weights must be given beside new rows")
  expect_length(predict(weighted, 0.5)$mean, 1L)
  expect_length(update(weighted, matrix(0.5), 1, weights = 2)$y, 81L)
})

test_that("rows of weight 0 are left out as na.exclude() leaves rows out", {
  native()
  d <- events(20)
  row.names(d) <- paste0("r", 1:20)
  d$w <- rep(c(1, 0), 10)
  d$b[c(3, 5)] <- NA
  d$y <- d$a
  d$y[4] <- NA
  for (k in 1:2) {
    if (k == 2) d$b[c(3, 5)] <- d$y[4] <- 0.5 # none is missing
    fit <- dynaTree(y ~ a + b, d, weights = w, na.action = na.exclude, N = 20, verb = 0)
    active <- d$w > 0 & !is.na(d$b)
    expect_identical(nrow(fit$X), sum(active))
    for (answer in list(fitted(fit), residuals(fit), predict(fit, type = "response"))) {
      expect_identical(names(answer), row.names(d))
      expect_identical(unname(is.na(answer)), !active)
    }
    expect_equal(fitted(fit)[active] + residuals(fit)[active], d$y[active], ignore_attr = TRUE)
    expect_identical(rownames(predict(fit, type = "quantile")), row.names(d))
    omitted <- dynaTree(y ~ a + b, d, weights = w, na.action = na.omit, N = 20, verb = 0)
    expect_identical(names(fitted(omitted)), row.names(d)[active])
  }
  expect_null(attr(update(fit, d[1:2, ], verb = 0), "na.action"))
})
