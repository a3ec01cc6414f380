# Tables of several fits.

test_that("anova() finds the input that matters, with its error", {
  native()
  set.seed(3)
  d <- data.frame(x = runif(120), z = runif(120), w = rep(1:2, 60))
  d$y <- 4 * (d$x > 0.5) + rnorm(120)
  right <- dynaTree(y ~ x, d, N = 50, verb = 0)
  wrong <- dynaTree(y ~ z, d, N = 50, verb = 0)
  seed <- .Random.seed
  table <- anova(wrong, right, both = dynaTree(y ~ x + z, d, N = 50, verb = 0), repeats = 4)
  expect_false(identical(seed, .Random.seed)) # orders are R's own draws
  expect_s3_class(table, c("anova", "data.frame"), exact = TRUE)
  expect_setequal(row.names(table), c("right", "wrong", "both"))
  expect_identical(row.names(table)[3], "wrong")
  expect_identical(table$logBF[1], 0)
  expect_lt(table["wrong", "logBF"], -10)
  expect_gt(-table["wrong", "logBF"], 5 * table["wrong", "seBF"])
  expect_equal(table["right", "density"], mean(right$lpred))
  expect_true(all(abs(table$coverage - 0.9) < 0.15)) # 60 rows: 3.9 standard deviations
  expect_true(all(table$se > 0 & table$leaves >= 1))
  expect_output(print(table), "right: y ~ x.*Monte Carlo error.*logEvidence")
  set.seed(5)
  first <- anova(right, wrong, repeats = 2)
  set.seed(5)
  expect_identical(anova(right, wrong, repeats = 2), first)
})

test_that("one fit is compared with nothing", {
  native()
  d <- rows()
  fit <- dynaTree(d$X, d$y, N = 10, verb = 0)
  alone <- anova(fit, repeats = 2)
  expect_identical(names(alone), c("logEvidence", "se", "density", "coverage", "leaves"))
  expect_identical(row.names(alone), "fit")
  expect_output(print(alone), "fit: a matrix.*logEvidence")
})

test_that("fits of all models are compared under either rules", {
  d <- rows()
  weights <- rep(1:2, 30)
  labels <- 1 + (d$y > 1)
  old <- options(dyntree.rules = "r")
  on.exit(options(old))
  pair <- function(y, ...) list(dynaTree(d$X, y, N = 20, verb = 0, ...),
                                dynaTree(d$X[, 2:3], y, N = 20, verb = 0, ...))
  tables <- list(do.call(anova, c(pair(d$y, model = "linear", icept = "augmented"), repeats = 2)),
                 do.call(anova, c(pair(labels, model = "class"), repeats = 2)))
  options(dyntree.rules = "native")
  n <- round(exp(d$y))
  tables <- c(tables, list(
    do.call(anova, c(pair(d$y, weights = weights, offset = d$X[, 1]), repeats = 2)),
    do.call(anova, c(pair(n, model = "poisson", exposure = weights), repeats = 2)),
    do.call(anova, c(pair(factor(labels), model = "class"), repeats = 2))))
  expect_setequal(row.names(tables[[1]]), c("fit 1", "fit 2"))
  for (table in tables) expect_true(all(is.finite(unlist(table[c(1:5, 7)]))))
  expect_true(all(is.na(tables[[5]]$coverage)))
})

test_that("what cannot be compared says why", {
  native()
  d <- rows()
  fit <- dynaTree(d$X, d$y, N = 10, verb = 0)
  expect_error(anova(fit, dynaTree(d$X, rev(d$y), N = 10, verb = 0)), "same responses")
  expect_error(anova(fit, retire(fit, 1:3)), "has retired some. Fit it again")
  expect_error(anova(fit, lm(y ~ X, d)), "is of class lm")
  expect_error(anova(fit, repeats = 1), "repeats must be a whole number >= 2; got 1")
  expect_error(anova(fit, level = 90), "level must be a number between 0 and 1")
  expect_error(anova(fit, local({options(dyntree.rules = "r")
    dynaTree(d$X, d$y, N = 10, verb = 0)})), "same rules")
  stream <- dyntree_stream(y ~ X, d, n_particles = 10, seed = 1)
  expect_error(anova(stream), "anova\\(\\) is not for fits of class dyntree_stream")
})
