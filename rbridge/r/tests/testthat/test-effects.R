# Average effects of inputs, and curves of partial dependence.

made_rows <- function(n = 300) {
  set.seed(12)
  d <- data.frame(x = runif(n, 0, 4), g = factor(sample(c("u", "v", "w"), n, TRUE)),
                  l = runif(n) > 0.5, day = as.Date("2024-01-01") + sample(n), z = runif(n))
  d$y <- 2 * d$x + 3 * (d$g == "v") - 1.5 * d$l + rnorm(n, 0, 0.1)
  d$k <- factor(ifelse(d$x > 2, "high", "low"), c("low", "high"))
  d$n <- rpois(n, exp(0.5 * d$x) * 3)
  d
}

no_pictures <- function(env = parent.frame()) {
  grDevices::pdf(NULL)
  do.call(on.exit, list(quote(grDevices::dev.off()), add = TRUE), envir = env)
}

test_that("coef() has the average effects of inputs in the names of lm()", {
  native()
  d <- made_rows()
  f <- y ~ x + g + l + day + z
  line <- lm(f, d)
  set.seed(1)
  fits <- list(tree = dynaTree(f, d, model = "linear", N = 100, verb = 0),
               stream = dyntree_stream(f, d, n_particles = 100, seed = 1),
               average = dyntree_average(f, d, n_clouds = 2, n_particles = 50, seed = 1))
  for (fit in fits) {
    effects <- coef(fit)
    expect_identical(names(effects), names(coef(line))[-1])
    expect_equal(unname(effects), unname(coef(line)[-1]), tolerance = 0.12)
  }
})

test_that("effects of labels are of each label, and sum to nothing", {
  native()
  d <- made_rows()
  for (fit in list(dynaTree(k ~ x + g, d, N = 30, verb = 0),
                   dyntree_stream(k ~ x + g, d, n_particles = 30, seed = 1))) {
    effects <- coef(fit)
    expect_identical(dimnames(effects), list(c("x", "gv", "gw"), c("low", "high")))
    expect_equal(unname(rowSums(effects)), c(0, 0, 0))
    expect_gt(effects["x", "high"], 0.2)
  }
})

test_that("effects are of all columns of a matrix, and need two values", {
  set.seed(1)
  d <- rows()
  fit <- dynaTree(d$X, d$y, N = 30, verb = 0)
  expect_identical(names(coef(fit)), c("x1", "x2", "x3"))
  expect_true(all(is.finite(coef(fit))))
  native()
  d <- transform(made_rows(), one = 1)
  fit <- dynaTree(y ~ poly(x, 2) + one, d, N = 30, verb = 0)
  expect_identical(names(coef(fit)), c("poly(x, 2)1", "poly(x, 2)2", "one"))
  expect_true(is.na(coef(fit)[["one"]]))
  counts <- dynaTree(n ~ x + offset(log(z + 1)), d, model = "poisson", N = 30, verb = 0)
  expect_identical(names(coef(counts)), "x")
})

test_that("a curve is what is predicted if all rows have a value", {
  native()
  no_pictures()
  d <- made_rows()
  fits <- list(dynaTree(y ~ x + g, d, N = 30, verb = 0),
               dyntree_stream(y ~ x + g, d, n_particles = 30, seed = 1))
  for (fit in fits) {
    curves <- if (inherits(fit, "dynaTree")) plot(fit) else plot(fit, which = "effects")
    expect_identical(names(curves), c("x", "g"))
    expect_identical(as.character(curves$g$value), c("u", "v", "w"))
    expect_identical(nrow(curves$x), 25L)
    for (k in 1:3) {
      level <- curves$g$value[k]
      expect_equal(curves$g$fit[k], mean(predict(fit, transform(d, g = level),
                                                 type = "response")))
    }
  }
  for (proj in list(2, "g")) expect_identical(names(plot(fits[[1]], proj = proj)), "g")
  for (proj in list(5, 0, -1, NA, "z", list(1), sum, TRUE))
    expect_error(plot(fits[[1]], proj = proj),
                 "^proj must name inputs, \"x\", \"g\", or their places; got ")
  labels <- plot(dynaTree(k ~ x + l, d, N = 30, verb = 0))
  expect_identical(names(labels$l), c("value", "low", "high"))
  expect_identical(graphics::par("mfrow"), c(1L, 1L))
})

test_that("effects of counts are of their rate, and give no warning", {
  native()
  no_pictures()
  d <- made_rows()
  d$h <- d$z + 1
  fits <- list(
    dynaTree(n ~ x + g, d, model = "poisson", exposure = h, N = 10, verb = 0),
    dyntree_stream(n ~ x + g, d, model = "poisson", exposure = h, n_particles = 10, seed = 1),
    dyntree_stream(n ~ x + g + offset(log(h)), d, model = "poisson", n_particles = 10, seed = 1))
  for (fit in fits) {
    expect_silent(effects <- coef(fit))
    rate <- function(level)
      mean(predict(fit, transform(d, g = level, h = 1), type = "response"))
    expect_equal(effects[["gv"]], rate("v") - rate("u"))
    expect_silent(curves <- if (inherits(fit, "dynaTree")) plot(fit) else plot(fit, "effects"))
    expect_equal(curves$g$fit[2], rate("v"))
  }
})

test_that("text has the effects and curves of a factor", {
  native()
  no_pictures()
  d <- made_rows()
  fits <- lapply(list(d, transform(d, g = as.character(g))), function(rows) {
    set.seed(1)
    update(dynaTree(y ~ x * g + l, rows, N = 20, verb = 0), rows[1:9, ], verb = 0)
  })
  expect_identical(coef(fits[[2]]), coef(fits[[1]]))
  expect_identical(plot(fits[[2]]), plot(fits[[1]]))
})
