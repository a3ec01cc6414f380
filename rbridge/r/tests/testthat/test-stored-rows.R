# What R's functions ask of the rows that fits hold, in streams and averages, too.

test_that("a stream has the model frame of the rows in its window", {
  d <- mixed_rows(60)
  row.names(d) <- paste0("r", 1:60)
  fit <- dyntree_stream(log(y + 9) ~ x + g + poly(as.numeric(day), 2), d[1:30, ], window = 25,
                        discard = "age", n_particles = 10, seed = 1)
  for (k in list(31:33, 34, 35:60)) fit <- update(fit, d[k, ])
  whole <- model.frame(log(y + 9) ~ x + g + poly(as.numeric(day), 2), d[36:60, ],
                       na.action = na.pass)
  frame <- model.frame(fit)
  expect_identical(row.names(frame), row.names(d)[36:60])
  expect_equal(frame[c(1:3)], whole[c(1:3)], ignore_attr = TRUE)
  by_row <- fit
  for (k in rep(1:20, 5)) by_row <- update(by_row, d[k, ]) # parts are put together
  expect_identical(unname(model.response(model.frame(by_row))), log(d$y[c(16:20, 1:20)] + 9))
  expect_lt(length(attr(by_row, "frames")), 64)
  expect_identical(nrow(model.frame(unserialize(serialize(by_row, NULL)))), 25L)
})

test_that("rows that have left the window are dropped, however many come at once", {
  set.seed(2)
  d <- data.frame(x = runif(2000))
  d$y <- d$x + rnorm(2000, 0, 0.1)
  fit <- dyntree_stream(y ~ x, d, window = 20, discard = "age", n_particles = 5, seed = 1)
  expect_identical(vapply(attr(fit, "frames"), function(part) length(part$rows), 1L), 20L)
  expect_identical(unname(model.response(model.frame(fit))), d$y[1981:2000])
})

test_that("answers at the stored rows are those of predict()", {
  d <- mixed_rows(80)
  d$o <- seq_len(80) / 9
  d$w <- rep(c(1, 2, 0, 3), 20)
  d$n <- rpois(80, 3)
  late <- transform(d[1:8, ], g = "new", y = 1)
  fits <- list(
    stream = dyntree_stream(y ~ x + g + offset(o), d, window = 30, n_particles = 10, seed = 1),
    weights = dyntree_stream(y ~ x + g, d, weights = w, n_particles = 10, seed = 1),
    average = dyntree_average(y ~ x + g * s, d, weights = w, n_clouds = 2, n_particles = 10,
                              seed = 1),
    memories = dyntree_stream(y ~ x, d, window = "auto", n_particles = 5, seed = 1),
    counts = dyntree_average(n ~ x, d, exposure = o, model = "poisson", n_clouds = 2,
                             n_particles = 10, seed = 1),
    labels = dyntree_stream(k ~ x, d, window = 30, n_particles = 10, seed = 1))
  fits$later <- update(fits$weights, late)
  for (name in names(fits)) {
    fit <- fits[[name]]
    labels <- row.names(model.frame(fit))
    rows <- rbind(d, late)[if (name == "later") which(c(d$w, late$w) > 0) else as.integer(labels), ]
    expect_equal(unname(fitted(fit)), unname(predict(fit, rows)))
    expect_identical(names(fitted(fit)), labels)
    if (name == "labels") {
      expect_error(residuals(fit), "labels have no residuals")
      p <- predict(fit, rows, type = "prob")
      own <- as.matrix(p)[cbind(seq_along(labels), match(rows$k, names(p)))]
      expect_equal(deviance(fit), -2 * sum(log(own)))
      next
    }
    y <- if (name == "counts") rows$n else rows$y
    expect_equal(unname(residuals(fit)), y - unname(predict(fit, rows)))
    if (name == "counts") {
      expect_error(sigma(fit), "spread of counts")
      expect_equal(deviance(fit), sum(poisson()$dev.resids(y, fitted(fit), 1)))
    } else {
      expect_equal(deviance(fit), sum(weights(fit) * residuals(fit)^2))
      expect_gt(sigma(fit), 0)
    }
  }
  expect_identical(unname(weights(fits$average)), d$w[d$w > 0])
  expect_identical(unname(weights(fits$stream)), rep(1, 30))
})

test_that("fits of dynaTree() have weights, a deviance and a spread", {
  native()
  set.seed(9)
  d <- data.frame(x = runif(400), w = rep(1:2, 200))
  d$y <- 3 + rnorm(400, 0, 1.5 / sqrt(d$w))
  fit <- dynaTree(y ~ x, d, weights = w, ab = c(1e-9, 2), N = 10, verb = 0)
  line <- lm(y ~ 1, d, weights = w)
  expect_identical(weights(fit), as.numeric(d$w))
  expect_equal(deviance(fit), deviance(line), tolerance = 1e-3)
  expect_equal(sigma(fit), sigma(line), tolerance = 0.02)
  n <- rpois(400, 3)
  counts <- dynaTree(n ~ x, d, model = "poisson", ab = c(1e-9, 2), N = 10, verb = 0)
  expect_equal(deviance(counts), deviance(glm(n ~ 1, poisson)), tolerance = 1e-3)
  k <- factor(d$y > 3)
  labels <- dynaTree(k ~ x, d, ab = c(1e-9, 2), N = 10, verb = 0)
  expect_equal(deviance(labels), deviance(glm(k ~ 1, binomial)), tolerance = 1e-2)
  expect_identical(unname(weights(labels)), rep(1, 400))
  excluded <- dynaTree(Ozone ~ Temp, airquality, na.action = na.exclude, N = 10, verb = 0)
  expect_identical(is.na(unname(weights(excluded))), is.na(airquality$Ozone))
  expect_error(deviance(dynaTree(n ~ x, d, model = "negbin", N = 5, verb = 0)),
               "dispersion differs from leaf to leaf")
})

test_that("answers of streams and averages have gaps where na.exclude() leaves them", {
  d <- transform(airquality, high = Ozone > 30)
  there <- stats::complete.cases(d[c("Ozone", "Solar.R")])
  for (action in list(na.exclude, "na.exclude")) for (fit in list(
    dyntree_stream(Ozone ~ Solar.R, d, n_particles = 10, seed = 1, na.action = action),
    dyntree_average(Ozone ~ Solar.R, d, n_particles = 10, n_clouds = 2, seed = 1,
                    na.action = action),
    dyntree_stream(high ~ Solar.R, d, n_particles = 10, seed = 1, na.action = action))) {
    expect_identical(is.na(fitted(fit)), stats::setNames(!there, row.names(d)))
    expect_identical(is.na(weights(fit)), !there)
    if (fit$model != "class") {
      expect_identical(is.na(residuals(fit)), is.na(fitted(fit)))
      expect_equal(residuals(fit)[there], d$Ozone[there] - fitted(fit)[there])
    }
    expect_length(fitted(update(fit, d[1:2, ])), sum(there) + 2L)
  }
  few <- dyntree_stream(Ozone ~ Solar.R, d, n_particles = 10, seed = 1, window = 50,
                        na.action = na.exclude)
  expect_length(fitted(few), 50L) # the others have left the window
  light <- dyntree_stream(Ozone ~ Temp, d, weights = Month - 5, n_particles = 10, seed = 1,
                          na.action = na.exclude)
  expect_identical(is.na(weights(light)), is.na(d$Ozone) | d$Month == 5)
})

test_that("predict() without rows is of those that trees hold, as of lm()", {
  native()
  d <- transform(rbind(events(), events()), o = a / 9, high = factor(k > 4))
  d$a[3] <- d$k[5] <- NA
  small <- function(...) dyntree_stream(..., data = d, n_particles = 10, seed = 1, window = 100)
  fits <- list(small(log(b + 1) ~ a + offset(o)), small(k ~ a + offset(log(hours)), model = "poisson"),
               small(high ~ a))
  for (fit in fits) {
    values <- fitted(fit)
    expect_identical(predict(fit), values)
    expect_length(values, 100L)
  }
  at_rows <- function(fit, ...) predict(fit, d[names(fitted(fit)), ], ...)
  for (type in c("sd", "quantile"))
    expect_equal(predict(fits[[2]], type = type), at_rows(fits[[2]], type = type),
                 ignore_attr = "row.names") # whole numbers, or texts
  expect_equal(predict(fits[[3]], type = "prob"), at_rows(fits[[3]], type = "prob"),
                 ignore_attr = "row.names") # whole numbers, or texts
  both <- predict(fits[[1]], interval = "confidence", se.fit = TRUE)
  expect_identical(both$fit$fit, unname(predict(fits[[1]])))
  counts <- dyntree_stream(k ~ a, d, exposure = hours, model = "poisson", n_particles = 10, seed = 1)
  expect_identical(predict(counts), fitted(counts))
  excludes <- dyntree_stream(b ~ a, d, n_particles = 10, seed = 1, na.action = na.exclude)
  ends <- predict(excludes, interval = "prediction")
  expect_identical(row.names(ends), row.names(d))
  expect_identical(which(is.na(ends$lwr)), 3L)
  expect_equal(ends$fit, unname(fitted(excludes)))
  for (fit in list(counts, dynaTree(k ~ a, d, model = "poisson", exposure = hours, N = 5, verb = 0)))
    expect_error(predict(fit, exposure = 2), "exposure is for new rows; got it without them")
  expect_error(predict(dynaTree(b ~ a, d, N = 5, verb = 0), offset = 2), "offset is for new rows")
  expect_error(predict(excludes, exposure = 2), "exposure is for counts")
})
