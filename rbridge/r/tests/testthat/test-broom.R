# Fits as data frames, for every class.

generic <- function(name) {
  if (nzchar(system.file(package = "generics"))) return(getExportedValue("generics", name))
  function(x, ...) {
    for (class in class(x)) {
      method <- get0(paste0(name, ".", class), asNamespace("dyntree"))
      if (!is.null(method)) return(method(x, ...))
    }
  }
}

test_that("the methods are registered", {
  lines <- readLines(system.file("NAMESPACE", package = "dyntree"))
  for (name in c("tidy", "glance", "augment"))
    for (class in c("dyntree", "dyntree_trees", "dyntree_mixture", "hdp_topics"))
      expect_true(paste0("S3method(generics::", name, ", ", class, ")") %in% lines)
})

test_that("every class of fits is tidied, glanced at and augmented", {
  native()
  tidy <- generic("tidy")
  glance <- generic("glance")
  augment <- generic("augment")
  d <- mixed_rows()
  fits <- every_model()
  fits$tree <- list(fit = dynaTree(y ~ x + g, d, N = 20, verb = 0), rows = d)
  fits$labels <- list(fit = dynaTree(k ~ x + g, d, N = 20, verb = 0), rows = d)
  for (name in names(fits)) {
    one <- fits[[name]]
    expect_s3_class(tidy(one$fit), "data.frame")
    expect_gt(nrow(tidy(one$fit)), 0)
    row <- glance(one$fit)
    expect_identical(nrow(row), 1L)
    expect_true(is.numeric(row$nobs))
    more <- augment(one$fit, one$rows)
    expect_identical(nrow(more), nrow(one$rows))
    added <- switch(name, memories = , labels = c(".fitted", ".prob"),
                    dp_gmm = , ddp = , canopy = c(".cluster", ".density"),
                    topics = c(".topic", ".prob"), c(".fitted", ".lower", ".upper", ".resid"))
    expect_true(all(added %in% names(more)))
    if (!name %in% c("dp_gmm", "ddp", "canopy", "topics")) {
      stored <- augment(one$fit)
      expect_identical(nrow(stored), as.integer(row$active))
      expect_true(all(added %in% names(stored)))
    } else {
      expect_error(augment(one$fit), "data must be given for fits of class")
    }
  }
})

test_that("rows are augmented by what predict() says, and residuals where they have y", {
  augment <- generic("augment")
  d <- transform(mixed_rows(), o = seq_len(120) / 50, n = rpois(120, 3), e = 1:2)
  fit <- dyntree_average(log(y + 9) ~ x + g + offset(o), d, n_clouds = 2, n_particles = 10,
                         seed = 1)
  more <- augment(fit, newdata = d[5:9, ])
  expect_equal(more$.fitted, unname(predict(fit, d[5:9, ])))
  expect_equal(more$.resid, log(d$y[5:9] + 9) - more$.fitted)
  ends <- predict(fit, d[5:9, ], type = "quantile")
  expect_equal(unname(as.matrix(more[c(".lower", ".upper")])), unname(as.matrix(ends)))
  expect_null(augment(fit, d[5:9, names(d) != "y"])$.resid)
  scaled <- dyntree_average(scale(y) ~ x, d, n_clouds = 2, n_particles = 10, seed = 1)
  expect_equal(augment(scaled, d[5:9, ])$.resid,
               c(scale(d$y))[5:9] - augment(scaled, d[5:9, ])$.fitted)
  counts <- dyntree_average(n ~ x, d, exposure = e, model = "poisson", n_clouds = 2,
                            n_particles = 10, seed = 1)
  expect_equal(augment(counts, d[5:9, ])$.fitted, unname(predict(counts, d[5:9, ])))
})

test_that("arguments that are not used are named in a warning", {
  native()
  fits <- every_model()
  fits$tree <- list(fit = fitted_tree(), rows = rows()$X)
  for (one in fits) {
    expect_warning(generic("tidy")(one$fit, conf.int = TRUE), "are not used: conf.int")
    expect_warning(generic("glance")(one$fit, exact = 1), "are not used: exact")
    expect_warning(generic("augment")(one$fit, newdata = one$rows, se_fit = TRUE),
                   "are not used: se_fit")
  }
})

test_that("after na.exclude() the data have the rows that were left out, and nothing else has", {
  augment <- generic("augment")
  d <- transform(airquality, high = Ozone > 30)
  there <- stats::complete.cases(d[c("Ozone", "Solar.R")])
  for (rules in c("r", "native")) {
    old <- options(dyntree.rules = rules)
    fits <- list(
      dynaTree(Ozone ~ Solar.R, d, N = 10, verb = 0, na.action = na.exclude),
      dynaTree(as.factor(high) ~ Solar.R, d, N = 10, verb = 0, model = "class",
               na.action = na.exclude),
      dyntree_stream(Ozone ~ Solar.R, d, n_particles = 10, seed = 1, na.action = na.exclude))
    for (fit in fits) {
      expect_warning(stored <- augment(fit), "na.exclude\\(\\) left out .* give data =")
      expect_identical(row.names(stored), row.names(d)[there])
      more <- suppressWarnings(augment(fit, data = d)) # streams warn of missing inputs
      expect_equal(more$.fitted, unname(suppressWarnings(predict(fit, d, type = "response"))))
      none <- suppressWarnings(augment(fit, data = transform(d[5:6, ], Solar.R = NA_real_)))
      expect_identical(is.na(none$.fitted), rep(inherits(fit, "dyntree"), 2))
    }
    options(old)
  }
})

test_that("no rows are augmented by no answers", {
  native()
  d <- mixed_rows()
  for (f in list(y ~ x + g, k ~ x + g)) {
    set.seed(1)
    fits <- list(dynaTree(f, d, N = 5, verb = 0), dyntree_stream(f, d, n_particles = 5, seed = 1))
    for (fit in fits) {
      one <- generic("augment")(fit, newdata = d[1, ])
      expect_identical(lapply(generic("augment")(fit, newdata = d[0, ]), class), lapply(one, class))
      expect_error(generic("augment")(fit, newdata = d[0, "g", drop = FALSE]), "x")
    }
  }
})

test_that("no question of R's is answered by NULL without a word", {
  native()
  fits <- lapply(every_model(), `[[`, "fit")
  fits$tree <- dynaTree(y ~ x + g, mixed_rows(), N = 10, verb = 0)
  fits$matrix <- fitted_tree()
  questions <- list(
    coef = coef, fitted = fitted, residuals = residuals, weights = weights, sigma = sigma,
    deviance = deviance, df.residual = df.residual, nobs = nobs, logLik = logLik, AIC = AIC,
    BIC = BIC, formula = formula, terms = terms, model.frame = model.frame,
    getCall = getCall, vcov = vcov, confint = confint, anova = anova, summary = summary,
    family = family, model.matrix = model.matrix, case.names = case.names,
    variable.names = variable.names, print = function(x) capture.output(print(x)),
    tidy = generic("tidy"), glance = generic("glance"))
  for (name in names(fits)) for (question in names(questions)) {
    answer <- tryCatch(suppressWarnings(questions[[question]](fits[[name]])),
                       error = conditionMessage)
    expect_false(is.null(answer), label = paste0(question, "(", name, ") is NULL"))
  }
})
