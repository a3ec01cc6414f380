test_that("fields are those of R's dynaTree", {
  fit <- fitted_tree()
  expect_named(fit, c("m", "N", "X", "y", "model", "params", "nstart", "verb", "lpred",
                      "num", "time", "icept"))
  expect_type(fit$m, "integer")
  expect_identical(names(fit$time), "elapsed")
  X <- fit$X
  colnames(X) <- c("a", "b", "c")
  set.seed(7)
  fit <- dynaTree(X, fit$y, N = 30, model = "linear", icept = "augmented", verb = 0)
  expect_identical(colnames(fit$X), c("", "a", "b", "c"))
  fit <- sens(relevance(fit), nns = 50, nME = 5)
  expect_identical(dimnames(fit$relevance), list(NULL, c("", "a", "b", "c")))
  expect_identical(dimnames(fit$S), list(NULL, c("a", "b", "c")))
  expect_false(any(is.nan(fit$S)))
  expect_null(colnames(retire(fit, 1)$X))
})

test_that("rows keep their names as they do in R's dynaTree", {
  d <- rows()
  rownames(d$X) <- paste0("r", 1:60)
  fit <- dynaTree(d$X, d$y, N = 10, verb = 0)
  expect_identical(rownames(fit$X), rownames(d$X))
  more <- update(fit, d$X[1:2, ], 1:2, verb = 0)
  expect_identical(rownames(more$X), rownames(d$X)[c(1:60, 1:2)])
  expect_identical(rownames(update(more, unname(d$X[1:2, ]), 1:2, verb = 0)$X),
                   c(rownames(more$X), "", ""))
  expect_null(rownames(retire(fit, 1)$X))
  frame <- as.data.frame(d$X)
  expect_identical(rownames(dynaTree(frame, d$y, N = 10, verb = 0)$X), rownames(d$X))
  linear <- dynaTree(d$X, d$y, N = 10, model = "linear", icept = "augmented", verb = 0)
  expect_identical(rownames(linear$X), rownames(d$X))
  expect_null(rownames(fitted_tree()$X))
  expect_null(rownames(update(fitted_tree(), unname(d$X[1:2, ]), 1:2, verb = 0)$X))
})

test_that("a number of particles is truncated as in R's dynaTree", {
  d <- rows()
  for (rules in c("r", "native")) {
    old <- options(dyntree.rules = rules)
    expect_equal(dynaTree(d$X, d$y, N = 100 / 7, verb = 0)$N, 14)
    expect_equal(dynaTrees(d$X, d$y, N = 100 / 7, R = 2, verb = 0, pverb = 0)$N, 28)
    expect_error(dynaTree(d$X, d$y, N = 0.5, verb = 0), "^N must")
    options(old)
  }
})

test_that("methods of S4 may be for fits", {
  where <- new.env()
  methods::setGeneric("depth_of", function(fit) standardGeneric("depth_of"), where = where)
  methods::setMethod("depth_of", "dynaTree", function(fit) treestats(fit)$avgheight,
                     where = where)
  fit <- fitted_tree()
  expect_identical(get("depth_of", where)(fit), treestats(fit)$avgheight)
  expect_true(methods::is(fit, "dynaTree"))
  methods::setClass("Holder", representation(fit = "dynaTree"), where = where)
  expect_s4_class(methods::new("Holder", fit = fit), "Holder")
})

test_that("objects are no objects of R's dynaTree, and the other way round", {
  fit <- fitted_tree()
  expect_s3_class(fit, c("dyntree", "dynaTree"), exact = TRUE)
  for (object in list(fit, copy(fit), update(fit, fit$X[1, , drop = FALSE], 0)))
    expect_identical(object$num, NA_integer_)
  theirs <- structure(list(num = 0L, X = fit$X, y = fit$y), class = "dynaTree")
  X <- fit$X[1:2, ]
  asked <- alist(alc(theirs, X), alcX(theirs), copy(theirs), qEI(theirs, X),
                 qEntropy(theirs, X), rejuvenate(theirs), relevance(theirs),
                 retire(theirs, 1), sens(theirs), treestats(theirs), varpropuse(theirs),
                 varproptotal(theirs), dyntree:::classprobs(theirs, 1, X),
                 dyntree:::entropyX(theirs), dyntree:::ieci(theirs, X),
                 dyntree:::intervals(theirs, 1, 1), dyntree:::sameleaf(theirs, X),
                 deletecloud(theirs), dyntree:::predict.dyntree(theirs, X),
                 dyntree:::update.dyntree(theirs, X, 1:2),
                 dyntree:::coef.dyntree(theirs, X))
  for (call in asked) expect_error(eval(call), "object is one of R's package dynaTree")
  other <- structure(list(), class = "dyntree_trees")
  for (call in asked[1:17])
    expect_error(eval(call, list(theirs = other)),
                 "is for what dynaTree\\(\\) returned; .* dyntree_trees")
  expect_error(relevance(object = other), "summary\\(\\) has the shares of its inputs")
  expect_error(deletecloud(1), "object must be what dynaTree\\(\\) returned; .* numeric")
})

test_that("objects share a cloud, and a copy has its own", {
  fit <- fitted_tree()
  twin <- copy(fit)
  more <- update(fit, rows(5)$X, rows(5)$y, verb = 0)
  expect_identical(nrow(fit$X), 60L)
  expect_identical(treestats(fit), treestats(more))
  expect_false(identical(treestats(fit), treestats(twin)))
  later <- update(fit, rows(2)$X, rows(2)$y, verb = 0) # of what `more` has learned too
  expect_identical(lengths(later[c("y", "lpred")]), c(y = 67L, lpred = 67L))
  expect_identical(later$lpred[1:65], more$lpred)
  expect_length(update(copy(fit), rows(2)$X, rows(2)$y, verb = 0)$lpred, 69L)
  deletecloud(fit)
  expect_error(predict(more, fit$X), "is not allocated")
  expect_length(predict(twin, fit$X)$mean, 60L)
})

test_that("an object that was saved goes on to the bit", {
  for (model in c("constant", "linear", "class")) {
    d <- rows()
    y <- if (model == "class") 1 + (d$y > 1) else d$y
    icept <- if (model == "linear") "augmented" else "implicit"
    fit <- dynaTree(d$X, y, N = 30, model = model, icept = icept, verb = 0)
    for (i in rep(1:40, 2)) # beyond what is stored since a checkpoint
      fit <- update(retire(fit, 1, lambda = 0.9), d$X[i, , drop = FALSE], y[i])
    fit <- retire(rejuvenate(fit, verb = 0), 5)
    file <- tempfile()
    saveRDS(fit, file)
    state <- .Random.seed
    go_on <- function(fit) {
      assign(".Random.seed", state, envir = globalenv())
      fit <- update(fit, d$X[41:50, ], y[41:50], verb = 0)
      fit <- if (model == "class") predict(fit, d$X) else alcX(predict(fit, d$X))
      list(plain(fit), treestats(fit), runif(1))
    }
    again <- readRDS(file)
    expect_identical(go_on(again), go_on(fit))
  }
})

test_that("native rules are an option away", {
  old <- options(dyntree.rules = "native")
  on.exit(options(old))
  first <- fitted_tree(model = "linear")
  after <- runif(1)
  expect_identical(plain(fitted_tree(model = "linear")), plain(first))
  expect_identical(runif(1), after)
  expect_identical(first$rules, "native")
  first <- retire(first, 1:5)
  first <- sens(relevance(predict(first, first$X, ei = TRUE)), nns = 50, nME = 5)
  expect_lt(mean((first$mean - first$y)^2), var(first$y) / 4)
  file <- tempfile()
  saveRDS(first, file)
  expect_identical(predict(readRDS(file), rows(9)$X)$mean, predict(first, rows(9)$X)$mean)
  set.seed(4)
  data <- rows()
  repeats <- dynaTrees(data$X, data$y, N = 30, R = 3, XX = data$X[1:4, ], verb = 0, pverb = 0)
  expect_identical(repeats$rules, "native")
  expect_identical(dim(repeats$lpred), c(60L, 3L))
  expect_true(all(repeats$lpred != 0)) # of the first rows too
  set.seed(4)
  one <- predict(dynaTree(data$X, data$y, N = 30, verb = 0), data$X[1:4, ])
  set.seed(4)
  in_order <- dynaTrees(data$X, data$y, N = 30, R = 2, XX = data$X[1:4, ], verb = 0,
                        pverb = 0, rorder = 60:1)
  expect_identical(in_order$lpred[, 1], one$lpred)
  expect_identical(in_order$mean[, 1], one$mean)
  expect_error(dynaTrees(data$X, data$y, nu0s20 = c(1, 1)), "nu0s20 belongs to R's rules")
  options(dyntree.rules = "mine")
  expect_error(fitted_tree(), "must be \"r\" or \"native\"; got \"mine\"")
})

test_that("objects print, summarise and draw", {
  fit <- fitted_tree()
  expect_output(print(fit), "Dynamic tree, constant leaves.*60 active rows, 3 inputs")
  expect_output(print(summary(fit)), "x1.*Average tree.*Log evidence")
  expect_error(plot(fit), "call predict first")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  fit <- predict(fit, fit$X)
  expect_null(plot(fit, proj = 2, ptype = "mean", xlab = "b"))
  expect_error(plot(fit, proj = 4), "proj must be one input, 1 to 3")
  x <- rows()$X[, 1]
  one <- predict(dynaTree(x, sin(5 * x), N = 20, verb = 0), x)
  plotprogress(one, 0.5, 0.6, "alm", c(0.2, 0.1), function(x, sd) sin(5 * x), 1)
  expect_error(plot(predict(dynaTree(x, 1 + (x > 0.5), model = "class", N = 5, verb = 0), x)),
               "plot is for regression")
})

test_that("repeats come without a cloud", {
  d <- rows()
  fit <- dynaTrees(d$X, d$y, N = 10, R = 3, XX = d$X[1:4, ], verb = 0, pverb = 0)
  expect_identical(dim(fit$mean), c(4L, 3L))
  expect_identical(fit$N, 30L)
  expect_error(treestats(fit), "object has no cloud of trees")
  expect_identical(dim(getBF(fit, fit)), c(60L, 3L))
})
