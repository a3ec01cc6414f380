counted <- function(d = events(), ...) {
  set.seed(7)
  dynaTree(d[c("a", "b")], d$k, N = 50, ..., exposure = d$hours, verb = 0)
}

test_that("counts are learned and predicted with their exposures", {
  old <- options(dyntree.rules = "native")
  on.exit(options(old))
  d <- events()
  for (model in c("poisson", "negbin")) {
    fit <- counted(d, model = model)
    expect_identical(fit$model, model)
    expect_identical(fit$exposure, d$hours)
    expect_length(fit$lpred, 80L)
    expect_identical(plain(counted(d, model = model)), plain(fit))
    new <- cbind(a = c(0.2, 0.8), b = 0.5)
    one <- predict(fit, new)
    expect_true(all(abs(one$mean - c(2, 8)) < c(0.7, 2)))
    three <- predict(fit, new, yy = c(5, 25), exposure = c(3, 3))
    expect_equal(three$mean, 3 * one$mean, tolerance = 1e-12)
    expect_equal(three$vmean, 9 * one$vmean, tolerance = 1e-12)
    expect_true(all(three$q1 == round(three$q1), three$q1 < three$mean,
                    three$mean < three$q2))
    expect_true(all(three$yypred > 0.01, three$yypred < 0.3))
    expect_identical(three$XXexposure, c(3, 3))
    expect_null(predict(three, new, quants = FALSE)$q1)
    expect_identical(dim(relevance(fit)$relevance), c(50L, 2L))
    expect_output(print(summary(fit)), paste(model, "leaves"))
  }
})

test_that("counts go on, retire and outlive a file", {
  old <- options(dyntree.rules = "native")
  on.exit(options(old))
  d <- events()
  fit <- counted(d[1:60, ], model = "negbin")
  file <- tempfile()
  saveRDS(fit, file)
  go_on <- function(fit) {
    set.seed(11)
    fit <- update(fit, d[61:80, c("a", "b")], d$k[61:80], exposure = d$hours[61:80],
                  verb = 0)
    fit <- retire(rejuvenate(retire(fit, c(1, 5)), verb = 0), 3)
    plain(predict(fit, d[1:5, c("a", "b")], exposure = 2))
  }
  again <- go_on(readRDS(file))
  fit <- go_on(fit)
  expect_identical(again, fit)
  expect_length(fit$exposure, 77L)
  key <- function(a, k, hours) sort(paste(a, k, hours))
  known <- key(d$a, d$k, d$hours)
  expect_true(all(key(fit$X[, 1], fit$y, fit$exposure) %in% known))
})

test_that("formulas name exposures, or their logarithms", {
  old <- options(dyntree.rules = "native")
  on.exit(options(old))
  d <- events()
  by_matrix <- counted(d, model = "negbin")
  set.seed(7)
  named <- dynaTree(k ~ a + b, d, N = 50, model = "negbin", exposure = hours, verb = 0)
  expect_identical(named$lpred, by_matrix$lpred)
  set.seed(7)
  by_offset <- dynaTree(k ~ a + b + offset(log(hours)), d, N = 50, model = "negbin",
                        verb = 0)
  expect_equal(by_offset$lpred, by_matrix$lpred, tolerance = 1e-8)
  expect_identical(colnames(by_offset$X), c("a", "b"))
  answer <- predict(by_matrix, d[1:4, c("a", "b")], exposure = d$hours[1:4])$mean
  expect_identical(predict(named, d[1:4, ])$mean, answer)
  expect_equal(predict(by_offset, d[1:4, ])$mean, answer, tolerance = 1e-8)
  expect_identical(predict(named, d[1:4, ], exposure = 1)$mean,
                   predict(by_matrix, d[1:4, c("a", "b")])$mean)
  expect_error(predict(by_offset, d[1:4, c("a", "b")]), "hours")
  expect_error(predict(named, d[1:4, c("a", "b")]), "hours")
  some <- dynaTree(k ~ a, d, subset = a > 0.5, N = 10, model = "poisson",
                   exposure = hours, verb = 0)
  expect_identical(some$exposure, d$hours[d$a > 0.5])
  more <- update(named, d[1:3, ], d$k[1:3], verb = 0)
  expect_identical(more$exposure, c(d$hours, d$hours[1:3]))
})

test_that("exposures of a stream may be a column, and no value is missing", {
  d <- events()
  fit <- dyntree_stream(k ~ a, d, model = "poisson", exposure = cbind(hours), n_particles = 5, seed = 1)
  expect_identical(predict(fit, d[1:3, ], exposure = cbind(1:3)), predict(fit, d[1:3, ], exposure = 1:3))
  for (missing in list(NA, transform(d[1:3, ], hours = NA)$hours))
    expect_error(predict(fit, d[1:3, ], exposure = missing), "finite and > 0; got NA in row 1")
  expect_error(predict(fit, d[1:3, ], exposure = list(1, 2, 3)), "rows of newdata; got a list")
  expect_identical(update(fit, transform(d[1:3, ], hours = NA)), fit)
})

test_that("what are no counts or exposures is refused", {
  d <- events()
  X <- d[c("a", "b")]
  expect_error(dynaTree(X, d$k, model = "negbin"), "one of native rules")
  expect_error(dynaTree(X, d$k, exposure = d$hours), "exposure is for counts")
  old <- options(dyntree.rules = "native")
  on.exit(options(old))
  expect_error(dynaTree(X, d$k, exposure = d$hours), "got it with model = \"constant\"")
  fit <- counted(d, model = "negbin")
  expect_error(dynaTree(X, d$k + 0.5, model = "negbin"), "y must be counts 0, 1, 2")
  expect_error(dynaTree(X, d$k, model = "negbin", exposure = 0 * d$hours),
               "exposure must be finite and > 0; got 0 in row 1")
  expect_error(dynaTree(X, d$k, model = "negbin", exposure = 1:3), "one value a row")
  expect_error(dynaTree(X, factor(d$k), model = "negbin"), "y is a factor")
  expect_error(update(fit, X[1:2, ], c(1, 2.5), exposure = 1), "y must be counts")
  expect_error(update(fit, X[1:2, ], 1:2, exposure = c(1, -1)), "got -1 in row 2")
  expect_error(predict(fit, X[1:2, ], exposure = "2"), "exposure must hold numbers; got \"2\"")
  expect_error(predict(fit, X[1:2, ], ei = TRUE), "ei is for real responses")
  for (ask in list(coef, alc, qEI, qEntropy))
    expect_error(ask(fit, X[1:2, ]), "is not for counts; got model = \"negbin\"")
  expect_error(sens(fit), "sens is not for counts")
  expect_error(dynaTree(k ~ a + offset(b), d, model = "prior", verb = 0), "offset is for")
  expect_error(dynaTrees(X, d$k, model = "negbin"), "model must be one of")
  real <- dynaTree(X, d$a, N = 10, verb = 0)
  expect_error(predict(real, X[1:2, ], exposure = 1), "exposure is for counts")
  expect_error(update(real, X[1:2, ], 1:2, exposure = 1), "exposure is for counts")
})

test_that("plots of counts are of rates", {
  old <- options(dyntree.rules = "native")
  on.exit(options(old))
  fit <- predict(counted(model = "negbin"), cbind(1:9 / 10, 0.5), exposure = 100)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off(), add = TRUE)
  plot(fit)
  expect_gt(graphics::par("usr")[4], 8)
  expect_lt(graphics::par("usr")[4], 20)
})
