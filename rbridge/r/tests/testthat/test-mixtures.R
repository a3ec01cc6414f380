test_that("clusters are a factor, and components a data frame", {
  X <- clusters()
  row.names(X) <- paste0("r", seq_len(240))
  fits <- list(dp_gmm(X), canopy_mixture(X, 3, seed = 1),
               ddp_mixture(X, rep(1:3, 80), n_sweeps = 9, burn_in = 3, seed = 1))
  for (fit in fits) {
    expect_s3_class(fit$components, "data.frame")
    expect_identical(levels(fit$cluster), as.character(fit$components$cluster))
    expect_identical(names(fit$cluster), row.names(X))
    centres <- sort(fit$components$a)
    expect_equal(centres, c(15, 30, 45), tolerance = 0.05)
    p <- predict(fit, X[1:5, ], type = "prob")
    expect_identical(dimnames(p), list(row.names(X)[1:5], levels(fit$cluster)))
    expect_equal(unname(rowSums(p)), rep(1, 5))
    expect_identical(predict(fit), fit$cluster)
    found <- predict(fit, X[1:5, 2:1])
    expect_identical(as.character(found), names(p)[max.col(p)])
    expect_identical(names(predict(fit, X[1:5, ], type = "density")), row.names(X)[1:5])
    expect_identical(predict(fit, unname(as.matrix(X))[, 1:2])[[7]], predict(fit, X)[[7]])
    expect_error(predict(fit, X[1]), "^newdata must have the columns .* lacks \"b\"")
    expect_error(predict(fit, type = "prob"), "^newdata must be given")
    expect_identical(nobs(fit), 240L)
  }
})

test_that("a formula makes columns of levels", {
  d <- mixed_rows()[-4, ]
  fit <- canopy_mixture(~ x + g + l, 2, data = d, seed = 1)
  expect_identical(names(fit$inputs), c("x", "gv", "lTRUE"))
  expect_identical(predict(fit, d), fit$cluster)
  expect_identical(unname(predict(fit, d[3, ])), unname(fit$cluster[3]))
  one <- d[1, ]
  one$g <- "w"
  expect_error(predict(fit, one), "^column \"g\" of newdata .* got \"w\"")
  timed <- ddp_mixture(~ x + g, phase = day > as.Date("2024-02-20"), data = d, seed = 1,
                       n_sweeps = 5, burn_in = 1, family = list("gaussian", scale = 1))
  expect_identical(timed$phases, c(FALSE, TRUE))
  expect_warning(dates <- dp_gmm(d[c("x", "day")]), "Standardise the columns")
  expect_identical(names(dates$inputs), c("x", "day"))
})

test_that("clusters of a stream go on", {
  X <- clusters()
  fit <- dp_gmm(X[1:100, ])
  expect_length(predict(fit, X, type = "distance"), nrow(fit$components))
  later <- update(fit, X[101:240, ])
  expect_identical(length(later$cluster), 140L)
  expect_identical(sum(later$components$size), 240)
  expect_error(update(fit, X, weights = 1), "^weights are for canopy_mixture")
  expect_error(update(fit, X, phase = 1), "^phase is for ddp_mixture")
  expect_error(predict(fit, X, ahead = 1), "^ahead is for type = \"density\" of ddp_mixture")
})

test_that("clusters have lives over phases", {
  X <- clusters()
  X$t <- rep(c("b", "a", "c"), each = 80)
  fit <- ddp_mixture(~ a + b, phase = factor(t, levels = c("b", "a", "c")), data = X,
                     n_sweeps = 9, burn_in = 3, seed = 1)
  expect_identical(fit$phases, c("b", "a", "c"))
  lines <- summary(fit)$lifelines
  expect_identical(names(lines), c("b", "a", "c"))
  expect_identical(unname(colSums(lines)), c(80, 80, 80))
  expect_equal(as.vector(table(fit$cluster)), as.vector(rowSums(lines)))
  later <- update(fit, X[1:60, ], phase = rep(c("d", "e"), each = 30))
  expect_identical(later$phases, c("b", "a", "c", "d", "e"))
  expect_identical(later$n_phases, 5L)
  expect_identical(update(fit, X[1:9, ])$phases, c("b", "a", "c", "4"))
  expect_error(update(fit, X[1:9, ], phase = rep("a", 9)),
               "^phase must come after those that are learned; got \"a\"")
  expect_error(update(later, X[1:2, ], phase = c("f", "e")), "got \"e\", which is one of them")
  expect_false(identical(predict(fit, X, type = "density"),
                         predict(fit, X, type = "density", ahead = 3)))
  walk <- ddp_mixture(X[1:2], rep(1:3, each = 80), n_sweeps = 9, burn_in = 3, seed = 1,
                      family = list("known_variance", variance = 1),
                      transition = list("random_walk", variance = 0.1))
  expect_equal(sort(walk$components$b), c(15, 30, 45), tolerance = 0.05)
})

test_that("a canopy has a likelihood, and counts", {
  X <- clusters()
  fit <- canopy_mixture(X, 3, seed = 1)
  expect_equal(attr(logLik(fit), "df"), 14)
  expect_lt(BIC(fit), BIC(canopy_mixture(X, 1, seed = 1)))
  expect_equal(sum(predict(fit, X, type = "density")), c(logLik(fit)), ignore_attr = TRUE)
  expect_error(logLik(update(fit, X)), "update\\(\\) has gone beyond")
  expect_s3_class(fit$covariance, "data.frame")
  full <- canopy_mixture(X, 3, family = "full", prior = list(mean_strength = 0.1), seed = 1)
  expect_identical(dimnames(full$covariance[["1"]]), list(c("a", "b"), c("a", "b")))
  weighted <- canopy_mixture(X, 3, weights = rep(2, 240), seed = 1)
  expect_equal(sum(weighted$components$weight), 1)
  points <- as.matrix(data.frame(a = c(15, 30, 45), b = c(15, 30, 45)))
  expect_equal(canopy_mixture(X, 3, init = points, inference = "em", seed = 1)$components$a,
               c(15, 30, 45), tolerance = 0.05)
  counts <- canopy_mixture(word_counts(), 2, family = "poisson", seed = 1)
  expect_null(counts$covariance)
  expect_identical(as.vector(table(counts$cluster)), c(30L, 30L))
})

test_that("mixtures print, summarise and draw", {
  X <- clusters()
  X$c <- X$a^2
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  fits <- list(dp_gmm(X), canopy_mixture(X, 3, seed = 1),
               canopy_mixture(X, 3, family = "spherical", seed = 1),
               canopy_mixture(X, 3, family = "full", seed = 1),
               ddp_mixture(X, rep(1:3, 80), n_sweeps = 5, burn_in = 1, seed = 1))
  for (fit in fits) {
    expect_output(print(fit), "240 rows learned, 3 columns")
    expect_output(print(fit, n = 1), "and [0-9]+ more")
    expect_output(print(summary(fit)), "components:")
    expect_null(plot(fit))
    expect_null(plot(fit, X))
    expect_null(plot(fit, X, columns = c("c", "b")))
    expect_null(plot(fit, X, columns = 3))
    expect_error(plot(fit, X, columns = "d"), "^columns must be one or two of \"a\", \"b\", \"c\"")
  }
})

test_that("phases differ by what they are, not by how they are written", {
  X <- clusters()
  begin <- as.POSIXct("2024-10-27 00:30:00", tz = "UTC")
  attr(begin, "tzone") <- "Europe/Berlin" # where half past two comes twice that night
  sizes <- function(phase) {
    fit <- ddp_mixture(X, phase, n_sweeps = 5, burn_in = 1, seed = 1)
    expect_identical(fit$phases, phase[c(1, 81, 161)])
    expect_identical(fit$phase, phase)
    unname(colSums(fit$lifelines$count))
  }
  each <- rep(80, 3)
  expect_identical(sizes(rep(begin + 3600 * 0:2, each = 80)), each)
  expect_identical(sizes(rep(c(0.3, 0.1 + 0.2, 0.4), each = 80)), each)
  expect_identical(sizes(rep(as.Date("2024-01-01") + c(0, 0.5, 1), each = 80)), each)
  expect_identical(sizes(rep(as.difftime(1:3, units = "mins"), each = 80)), each)
  years <- ddp_mixture(X, rep(c(2001, 2005, 2003), each = 80), n_sweeps = 5, burn_in = 1,
                       seed = 1)
  expect_identical(years$phases, c(2001, 2003, 2005))
  expect_identical(update(years, X[1:9, ])$phases, c(2001, 2003, 2005, 2006))
  named <- ddp_mixture(X, rep(c("2", "3", "4"), each = 80), n_sweeps = 5, burn_in = 1, seed = 1)
  expect_identical(update(named, X[1:9, ])$phases, c("2", "3", "4", "5"))
})

test_that("rows keep clusters that are gone since", {
  set.seed(1)
  of <- function(t) data.frame(a = rnorm(60, if (t < 3) c(-8, 0, 8) else c(0, 8), 0.5), t = t)
  X <- do.call(rbind, lapply(1:8, of))
  fit <- ddp_mixture(~ a, phase = t, data = X, n_sweeps = 9, burn_in = 3, survival = 0.5,
                     prune = 1e-2, seed = 1)
  expect_true(any(!fit$lifelines$id %in% fit$components$cluster))
  expect_false(anyNA(fit$cluster))
  counted <- unclass(table(fit$cluster, fit$phase))
  expect_equal(counted, as.matrix(summary(fit)$lifelines), ignore_attr = TRUE)
})

test_that("weights count rows in the likelihood", {
  X <- clusters()
  w <- rep(1:3, 80)
  weighted <- canopy_mixture(X, 3, weights = w, inference = "em", seed = 1)
  repeated <- canopy_mixture(X[rep(1:240, w), ], 3, inference = "em", seed = 1)
  expect_equal(logLik(weighted), logLik(repeated), tolerance = 1e-3, ignore_attr = TRUE)
  expect_equal(BIC(weighted), BIC(repeated), tolerance = 1e-3)
  expect_identical(nobs(weighted), 240L)
  density <- predict(weighted, X, type = "density")
  expect_equal(c(logLik(weighted)), sum(w * density), ignore_attr = TRUE)
})

test_that("a mixture may have no cluster yet", {
  X <- clusters()
  fit <- dp_gmm(X[1, ], lambda = 20)
  expect_identical(dim(fit$components), c(0L, 4L))
  expect_identical(names(fit$components), c("cluster", "size", "a", "b"))
  expect_output(print(fit), "0 clusters")
  expect_identical(predict(fit, X[1:2, ], type = "prob"),
                   data.frame(row.names = c("1", "2")), ignore_attr = TRUE)
  expect_error(plot(fit), "^x must have components to draw")
  expect_identical(nrow(update(fit, X)$components), 3L)
})
