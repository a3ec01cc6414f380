test_that("an error of Python's is R's, with our message and the call", {
  fit <- fitted_tree()
  error <- tryCatch(predict(fit, 1:7), error = identity)
  expect_s3_class(error, "simpleError")
  expect_match(conditionMessage(error), "XX must have 3 column\\(s\\).*got 1")
  expect_identical(as.character(conditionCall(error)[[1]]), "predict.dyntree")
  expect_error(retire(fit, 1, lambda = 2), "^lambda must be in \\(0, 1\\]; got 2")
  expect_error(predict(fit, fit$X, quants = NA), "^quants must be TRUE or FALSE; got NA")
  expect_error(predict(fit, fit$X, ei = NULL), "^ei must be TRUE or FALSE; got NULL")
  expect_error(retire(fit, 1, lambda = NULL), "^lambda must be")
  expect_error(sens(fit, class = 1), "class")
  expect_error(dynaTree(letters, 1:26, verb = 0), "X must hold numbers; got 26 texts")
  expect_error(dynaTree(fit$X, fit$y, model = "spline"), "model must be one of")
  expect_error(dynaTree(fit$X), "argument \"y\" is missing")
  expect_error(dynaTree(fit$X, fit$y, foo = 1), "unused argument \\(foo\\)")
  expect_error(rejuvenate(fit, odr = 1:3), "odr must hold each of 1..60 once")
  expect_error(getBF(fit, 1), "obj2 must be what dynaTree")
  X <- fit$X
  X[2, 2] <- NA
  expect_error(dynaTree(X, fit$y, verb = 0), "X")
  expect_identical(treestats(fit), treestats(fitted_tree()))
})

test_that("a warning of Python's is R's", {
  labels <- 1 + (rows()$y > 1)
  fit <- dynaTree(rows()$X, labels, N = 10, model = "class", verb = 0)
  expect_warning(predict(fit, rows()$X, ei = TRUE), "ei is not relevant")
})

test_that("progress is printed as R's output", {
  d <- rows()
  shown <- capture.output(dynaTree(d$X, d$y, N = 10, verb = 20))
  expect_match(shown[1:3], "^t=(20|40|60), np=")
})

test_that("an interrupt leaves R, Python and the object as they were", {
  skip_on_os("windows")
  fit <- fitted_tree(N = 1000)
  before <- treestats(fit)
  state <- .Random.seed
  n <- 20000
  X <- matrix(runif(3 * n), ncol = 3)
  set.seed(1)
  stream <- .Random.seed
  system(sprintf("(sleep 0.5; kill -INT %d) &", Sys.getpid()))
  got <- tryCatch({
    update(fit, X, X[, 1], verb = 0)
    "done"
  }, interrupt = function(i) "interrupted")
  expect_identical(got, "interrupted")
  expect_identical(.Random.seed, stream)
  expect_identical(treestats(fit), before)
  expect_identical(nrow(update(fit, X[1:3, ], 1:3, verb = 0)$X), 63L)
})

test_that("rows with missing values are refused, not dropped", {
  d <- data.frame(y = rows()$y, a = rows()$X[, 1], b = rows()$X[, 2])
  fit <- dynaTree(y ~ a + b, data = d, N = 30, verb = 0)
  d$a[2] <- NA
  expect_error(predict(fit, d[1:3, ]), "XX must be finite; got NA in row 2, column \"a\"")
  expect_error(update(fit, d[1:3, ], d$y[1:3]), "X must be finite")
})

test_that("columns in another order than those of the fit give a warning", {
  X <- rows()$X
  colnames(X) <- c("a", "b", "c")
  fit <- dynaTree(X, rows()$y, N = 30, verb = 0)
  expect_warning(predict(fit, X[1:3, 3:1]), "c, b, a are taken for a, b, c")
  expect_silent(predict(fit, X[1:3, ]))
  expect_silent(predict(fit, unname(X[1:3, ])))
  colnames(X) <- c("d", "e", "f")
  expect_silent(predict(fit, X[1:3, ]))
})
