# Intervals and standard errors, in the forms of predict() for lm().

test_that("the mean has an interval within that of a new response", {
  native()
  d <- mixed_rows()
  line <- lm(y ~ x + g, d)
  new <- d[c(3, 1, 9), ]
  fits <- list(
    tree = dynaTree(y ~ x + g, d, N = 20, verb = 0),
    counts = dynaTree(round(exp(y)) ~ x + g, d, N = 20, model = "poisson", verb = 0),
    stream = dyntree_stream(y ~ x + g, d, n_particles = 20, seed = 1),
    memories = dyntree_stream(y ~ x + g, d, window = "auto", n_particles = 5, seed = 1),
    average = dyntree_average(y ~ x + g, d, n_clouds = 2, n_particles = 10, seed = 1))
  for (fit in fits) {
    mean <- predict(fit, new, interval = "confidence", level = 0.9)
    response <- predict(fit, new, interval = "prediction", level = 0.9)
    expect_identical(dimnames(as.matrix(mean)),
                     dimnames(predict(line, new, interval = "confidence")))
    expect_identical(mean[, "fit"], response[, "fit"])
    expect_true(all(mean[, "lwr"] < mean[, "fit"] & mean[, "fit"] < mean[, "upr"]))
    expect_true(all(response[, "lwr"] < mean[, "lwr"] & mean[, "upr"] < response[, "upr"]))
    wide <- predict(fit, new, interval = "confidence", level = 0.99)
    expect_true(all(wide[, "lwr"] < mean[, "lwr"]))
    both <- predict(fit, new, se.fit = TRUE)
    theirs <- predict(line, new, se.fit = TRUE)
    expect_identical(names(both), names(theirs)[1:2])
    expect_identical(lapply(both, names), lapply(theirs[1:2], names))
    expect_identical(both$fit, predict(fit, new, type = "response"))
    expect_true(all(both$se.fit > 0))
    joint <- predict(fit, new, interval = "confidence", level = 0.9, se.fit = TRUE)
    expect_identical(joint, list(fit = mean, se.fit = both$se.fit))
    expect_length(predict(fit, new[0, ], se.fit = TRUE)$se.fit, 0)
  }
})

test_that("the mean of one leaf has the standard error of a sample", {
  set.seed(8)
  d <- data.frame(x = runif(400), y = rnorm(400, 5, 2))
  for (rules in c("r", "native")) {
    old <- options(dyntree.rules = rules)
    fit <- dynaTree(y ~ x, d, N = 5, ab = c(1e-9, 2), verb = 0)
    answer <- predict(fit, d[1:2, ], interval = "confidence", se.fit = TRUE)
    options(old)
    expect_equal(answer$se.fit[[1]], sd(d$y) / 20, tolerance = 0.02)
    expect_equal(answer$fit[1, ], predict(lm(y ~ 1, d), interval = "confidence")[1, ],
                 tolerance = 0.02)
  }
})

test_that("an offset moves the interval of the mean, and na.exclude() leaves gaps", {
  native()
  d <- transform(mtcars, load = hp / -50)
  set.seed(1)
  fit <- dynaTree(qsec ~ wt + offset(load), d, N = 20, verb = 0, na.action = na.exclude)
  new <- transform(d[c(1, 1, 2), ], load = c(0, 7, 0))
  new$wt[3] <- NA
  answer <- predict(fit, new, interval = "confidence", se.fit = TRUE)
  expect_equal(answer$fit[2, ], answer$fit[1, ] + 7)
  expect_identical(is.na(unname(answer$se.fit)), c(FALSE, FALSE, TRUE))
  expect_identical(rownames(answer$fit), names(answer$se.fit))
})

test_that("what has no interval says so", {
  native()
  d <- mixed_rows()
  for (fit in list(dynaTree(k ~ x, d, N = 10, verb = 0),
                   dyntree_stream(k ~ x, d, n_particles = 10, seed = 1))) {
    expect_error(predict(fit, d, interval = "confidence"), "interval")
    expect_error(predict(fit, d, se.fit = TRUE), "se.fit")
  }
  fit <- dyntree_stream(y ~ x, d, n_particles = 10, seed = 1)
  expect_error(predict(fit, d, se.fit = NA), "se.fit must be TRUE or FALSE; got NA")
  expect_error(predict(fit, d, se.fit = TRUE, type = "sd"), "se.fit must be FALSE with type")
  expect_error(predict(dynaTree(y ~ x, d, N = 5, verb = 0), d, se.fit = TRUE,
                       type = "quantile"), "se.fit = TRUE is for type = \"response\"")
})

test_that("probabilities that would have no effect are refused", {
  native()
  d <- mixed_rows()
  new <- d[1:3, ]
  fits <- list(
    tree = dynaTree(y ~ x, d, N = 10, verb = 0),
    matrix = dynaTree(matrix(d$y), d$y, N = 10, verb = 0),
    counts = dynaTree(round(exp(y)) ~ x, d, N = 10, model = "poisson", verb = 0),
    labels = dynaTree(k ~ x, d, N = 10, verb = 0),
    stream = dyntree_stream(y ~ x, d, n_particles = 10, seed = 1),
    memories = dyntree_stream(k ~ x, d, window = "auto", n_particles = 5, seed = 1),
    average = dyntree_average(y ~ x, d, n_clouds = 2, n_particles = 10, seed = 1))
  for (name in names(fits)) {
    fit <- fits[[name]]
    if (name == "matrix") new <- matrix(1:3)
    expect_error(predict(fit, new, probs = 0.5), "^probs is for type = \"quantile\"; got it with")
    expect_error(predict(fit, probs = 0.5), "^probs is for type = \"quantile\"; got it with")
    expect_error(predict(fit, new, level = 0.5), "^level is for interval = .*without an interval")
    new <- d[1:3, ]
    type <- if (identical(fit$model, "class")) "prob" else "response"
    if (name == "matrix") next
    expect_error(predict(fit, new, type = type, probs = 0.5), paste0("type = \"", type, "\""))
    expect_error(predict(fit, new, type = type, level = 0.5), "without an interval")
    if (type == "prob") next
    expect_error(predict(fit, new, type = "quantile", level = 0.5), "without an interval")
    expect_error(predict(fit, new, se.fit = TRUE, probs = 0.5), "with type = \"response\"")
    expect_error(predict(fit, new, interval = "prediction", probs = 0.5),
                 "with interval = \"prediction\". Give level in its place")
    expect_silent(predict(fit, new[0, ], type = "quantile", probs = 0.5))
  }
})

test_that("what draws a fit passes a level beside interval = \"none\", as lm() takes it", {
  native()
  d <- mixed_rows()
  for (fit in list(dynaTree(y ~ x, d, N = 10, verb = 0),
                   dyntree_average(y ~ x, d, n_clouds = 2, n_particles = 10, seed = 1)))
    expect_identical(predict(fit, newdata = d[1:3, ], type = "response", se.fit = FALSE,
                             level = 0.95, interval = "none"),
                     predict(fit, d[1:3, ], type = "response"))
})

test_that("CRAN's predict() takes what it ignores, and no more", {
  fit <- fitted_tree()
  expect_identical(predict(fit, rows()$X, probs = 0.5)$q1, predict(fit, rows()$X)$q1)
  expect_identical(predict(fit, rows()$X, level = 0.5)$q1, predict(fit, rows()$X)$q1)
  expect_error(predict(fit, rows()$X, type = "response", probs = 0.5), "probs is for type")
})
