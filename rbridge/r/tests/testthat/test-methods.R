test_that("predictions have intervals as those of lm()", {
  native()
  d <- events()
  d$y <- d$a + d$b
  d$a[3] <- NA
  fits <- list(plain = dynaTree(y ~ a, d, N = 20, verb = 0),
               offset = dynaTree(y ~ a + offset(b), d, N = 20, verb = 0),
               excludes = dynaTree(y ~ a, d, na.action = na.exclude, N = 20, verb = 0),
               counts = dynaTree(k ~ a, d, exposure = hours, model = "negbin", N = 20, verb = 0))
  for (fit in fits) for (level in c(0.5, 0.9)) {
    answer <- predict(fit, d[1:9, ], interval = "prediction", level = level)
    expect_identical(dimnames(answer), dimnames(predict(lm(y ~ b, d), d[1:9, ], interval = "p")))
    expect_identical(answer[, "fit"], predict(fit, d[1:9, ], type = "response"))
    limits <- predict(fit, d[1:9, ], type = "quantile", probs = 0.5 + c(-0.5, 0.5) * level)
    expect_identical(unname(answer[, -1]), unname(limits))
    expect_identical(dim(predict(fit, d[0, ], interval = "prediction")), c(0L, 3L))
    active <- predict(fit, interval = "prediction", level = level)
    expect_identical(active[, "fit"], fitted(fit))
  }
  fit <- fits$plain
  expect_identical(predict(fit, d, interval = "none"), predict(fit, d))
  expect_error(predict(fit, d, interval = "prediction", level = 95), "level must be .* got 95")
  expect_error(predict(fit, d, interval = "prediction", type = "quantile"), "Leave one of them")
  labels <- dynaTree(factor(k > 4) ~ a, d, N = 5, verb = 0)
  expect_error(predict(labels, d, interval = "prediction"), "labels have probabilities")
})

test_that("what fitted() and residuals() do not know is refused", {
  fit <- fitted_tree()
  expect_error(residuals(fit, type = "pearson"), "unused argument \\(type\\)")
  expect_error(fitted(fit, rows()$X), "unused argument \\(...\\)")
  expect_error(fitted(fit, rows()$X, at = 1), "unused argument \\(..., at\\)")
})

test_that("what has no meaning for a class of fits is an error, and not NULL", {
  fits <- lapply(every_model(), `[[`, "fit")
  fits$tree <- fitted_tree()
  fits$labels <- fitted_tree(model = "prior")
  refused <- function(ask, name)
    expect_error(ask(fits[[name]]), paste0("\\(\\) is not for fits of class ",
                                           class(fits[[name]])[1]))
  for (name in names(fits)) for (ask in list(df.residual, vcov)) refused(ask, name)
  for (name in c("dp_gmm", "ddp", "topics")) refused(logLik, name)
  for (name in setdiff(names(fits), "canopy")) for (ask in list(AIC, BIC)) refused(ask, name)
  expect_error(AIC(fits$tree, fits$labels, k = 3), "AIC.* no number of parameters. Compare logLik")
  refused(formula, "topics")
  expect_error(formula(fits$dp_gmm), "fitted to rows and has no formula")
  expect_identical(formula(dp_gmm(~ a + b, data = clusters())), ~ a + b, ignore_attr = TRUE)
  for (name in c("dp_gmm", "ddp", "canopy", "topics"))
    for (ask in list(deviance, sigma, fitted, residuals, weights, model.frame))
      refused(ask, name)
  refused(sigma, "memories") # of labels
  refused(sigma, "labels")
  refused(deviance, "labels")
  for (name in c("dp_gmm", "ddp", "canopy"))
    expect_error(coef(fits[[name]]), "they have no coefficients; see summary")
})

test_that("sensitivities are what they are under native rules", {
  d <- rows()
  labels <- 1 + (d$y > 1)
  for (rules in c("r", "native")) {
    old <- options(dyntree.rules = rules)
    set.seed(2)
    for (fit in list(dynaTree(d$X, d$y, N = 20, verb = 0),
                     dynaTree(d$X, labels, N = 20, model = "class", verb = 0))) {
      set.seed(4)
      fit <- sens(fit, nns = 40, nME = 5)
      S <- unlist(fit$S)
      T <- unlist(fit$T)
      outside <- function(x) sum(!is.na(x) & (x < 0 | x > 1))
      if (rules == "r") expect_identical(c(outside(S), outside(T)), c(0L, 0L))
      else expect_gt(outside(S) + outside(T), 0L)
      counted <- if (rules == "r") c(sum(is.na(S)), sum(is.na(T))) else c(outside(S), outside(T))
      expect_identical(unname(summary(fit)$sensitivities["outside", ]), counted)
      expect_output(print(summary(fit)), paste0("Sensitivities outside \\[0, 1\\]",
        if (rules == "r") ", which are NA", ": ", counted[1], " of ", length(S), " S, ",
        counted[2], " of ", length(T), " T"))
    }
    options(old)
  }
  expect_null(summary(fitted_tree())$sensitivities)
})

test_that("R's own functions know a fit", {
  fit <- dynaTree(dist ~ speed, data = cars, N = 30, verb = 0)
  expect_identical(nobs(fit), 50L)
  expect_equal(as.numeric(logLik(fit)), sum(fit$lpred))
  expect_identical(attr(logLik(fit), "nobs"), 50L)
  expect_equal(formula(fit), dist ~ speed, ignore_attr = TRUE)
  expect_identical(attr(terms(fit), "term.labels"), "speed")
  expect_identical(unname(fitted(fit)), predict(fit, cars)$mean)
  expect_named(fitted(fit), row.names(cars))
  expect_identical(residuals(fit), cars$dist - fitted(fit))
  fit <- retire(fit, 1:5)
  expect_identical(nobs(fit), 50L)
  expect_length(fitted(fit), 45L)
  linear <- dynaTree(dist ~ speed, data = cars, model = "linear", icept = "augmented",
                     N = 30, verb = 0)
  expect_identical(unname(fitted(linear)), predict(linear, cars)$mean)
  matrix_fit <- dynaTree(cars$speed, cars$dist, N = 10, verb = 0)
  expect_error(formula(matrix_fit), "fitted to a matrix and has no formula")
})

test_that("predict gives one part alone where it is asked for", {
  fit <- dynaTree(dist ~ speed, data = cars, N = 30, verb = 0)
  whole <- predict(fit, cars[1:4, ])
  expect_identical(predict(fit, cars[1:4, ], type = "response"),
                   stats::setNames(whole$mean, 1:4))
  answer <- predict(fit, cars[1:4, ], type = "quantile")
  expect_identical(unname(answer), unname(cbind(whole$q1, whole$q2)))
  expect_identical(dimnames(answer), list(as.character(1:4), c("5%", "95%")))
  expect_error(predict(fit, cars, type = "prob"), "type must be one of \"response\"")
  expect_error(predict(fit, cars, quants = FALSE, type = "quantile"), "quants = TRUE")
  labels <- dynaTree(Species ~ ., data = iris, model = "class", N = 30, verb = 0)
  rows <- iris[c(1, 60, 140), ]
  p <- predict(labels, rows, type = "prob")
  expect_identical(colnames(p), levels(iris$Species))
  expect_equal(rowSums(p), c("1" = 1, "60" = 1, "140" = 1))
  kinds <- predict(labels, rows, type = "class")
  expect_identical(levels(kinds), levels(iris$Species))
  expect_identical(as.integer(kinds), max.col(p, "first"))
  expect_identical(predict(labels, rows, type = "response"), kinds)
  expect_gt(mean(fitted(labels) == iris$Species), 0.8)
  expect_error(residuals(labels), "labels have no residuals")
  expect_error(predict(labels, rows, type = "quantile"), "type must be one of \"class\"")
})

test_that("labels make a classification under native rules", {
  rules <- options(dyntree.rules = "native")
  on.exit(options(rules))
  d <- droplevels(iris[iris$Species != "setosa", ])
  d$text <- as.character(d$Species)
  d$late <- d$Species == "virginica"
  answer <- lapply(list(Species ~ ., text ~ . - Species, late ~ . - Species - text),
    function(f) {
      f <- update(f, . ~ Petal.Length + Petal.Width)
      set.seed(1)
      fit <- dynaTree(f, data = d, N = 30, verb = 0)
      expect_identical(fit$model, "class")
      predict(fit, d[c(1, 99), ], type = "prob")
    })
  expect_identical(lapply(answer, colnames), list(
    c("versicolor", "virginica"), c("versicolor", "virginica"), c("FALSE", "TRUE")))
  expect_identical(unname(answer[[1]]), unname(answer[[3]]))
  options(dyntree.rules = "r")
  expect_error(dynaTree(Species ~ Petal.Width, data = d, verb = 0), "y is a factor")
})
