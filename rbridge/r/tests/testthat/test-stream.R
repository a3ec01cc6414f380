test_that("set.seed decides the result, and draws go on after it", {
  first <- fitted_tree()
  after <- runif(2)
  second <- fitted_tree()
  expect_identical(plain(first), plain(second))
  expect_identical(runif(2), after)
  third <- dynaTree(first$X, first$y, N = 30, verb = 0)
  expect_false(identical(third$lpred, first$lpred))
})

test_that("the numbers are those of R's dynaTree", {
  # dynaTree 1.2-17: set.seed(42), then a fit of 30 rows and one uniform
  x <- seq(0, 1, length.out = 30)
  set.seed(42)
  fit <- dynaTree(x, sin(6 * x), N = 20, verb = 0)
  expect_equal(sum(fit$lpred), -18.367771991162247, tolerance = 1e-12)
  expect_equal(predict(fit, 0.25)$mean, 0.91482581177679367, tolerance = 1e-12)
  expect_equal(runif(1), 0.43356674630194902, tolerance = 1e-15)
})

test_that("what draws nothing leaves the stream alone", {
  fit <- fitted_tree()
  before <- .Random.seed
  fit <- retire(alcX(predict(fit, fit$X[1:2, ])), 1)
  treestats(fit)
  relevance(fit)
  expect_identical(.Random.seed, before)
})

test_that("a stream that was never opened is opened", {
  rm(".Random.seed", envir = globalenv())
  fit <- dynaTree(1:20, (1:20)^2, N = 5, verb = 0)
  expect_length(.Random.seed, 626L)
})

test_that("other generators are refused, other sampling stays", {
  old <- RNGkind()
  on.exit(suppressWarnings(do.call(RNGkind, as.list(old))))
  RNGkind("Wichmann-Hill")
  expect_error(dynaTree(1:20, 1:20, verb = 0), "RNGkind\\(\\) is Wichmann-Hill")
  RNGkind("default")
  suppressWarnings(RNGkind(sample.kind = "Rounding"))
  dynaTree(1:20, (1:20)^2, N = 5, verb = 0)
  expect_identical(RNGkind()[3], "Rounding")
})

test_that("under native rules any generator gives a seed, and goes on after it", {
  old <- RNGkind()
  rules <- options(dyntree.rules = "native")
  on.exit({
    options(rules)
    suppressWarnings(do.call(RNGkind, as.list(old)))
  })
  x <- seq(0, 1, length.out = 40)
  for (kind in c("Wichmann-Hill", "Knuth-TAOCP-2002")) {
    RNGkind(kind)
    kinds <- RNGkind()
    fits <- lapply(1:2, function(k) {
      set.seed(5)
      fit <- dynaTree(x, sin(6 * x), N = 20, verb = 0)
      list(plain(update(fit, 0.5, 0.1, verb = 0)), runif(2))
    })
    expect_identical(fits[[1]], fits[[2]])
    expect_identical(RNGkind(), kinds)
    set.seed(5)
    before <- .Random.seed
    fit <- dynaTree(x, sin(6 * x), N = 20, verb = 0)
    expect_false(identical(.Random.seed, before))
    other <- dynaTree(x, sin(6 * x), N = 20, verb = 0)
    expect_false(identical(fit$lpred, other$lpred))
    options(dyntree.rules = "r") # the object's rules are those of its fit
    after <- .Random.seed
    twins <- lapply(1:2, function(k) {
      assign(".Random.seed", after, envir = globalenv())
      read <- tempfile()
      saveRDS(fit, read)
      plain(rejuvenate(readRDS(read), verb = 0))
    })
    expect_identical(twins[[1]], twins[[2]])
    expect_error(dynaTree(x, x, N = 20, verb = 0), "options\\(dyntree.rules = \"native\"")
    options(dyntree.rules = "native")
  }
})

test_that("the generator of parallel workers is one of R's rules", {
  old <- RNGkind()
  on.exit(suppressWarnings(do.call(RNGkind, as.list(old))))
  x <- seq(0, 1, length.out = 30)
  RNGkind("L'Ecuyer-CMRG")
  set.seed(42)
  worker <- parallel::nextRNGStream(.Random.seed)
  for (rules in c("r", "native")) {
    before <- options(dyntree.rules = rules)
    fits <- lapply(1:2, function(k) {
      assign(".Random.seed", worker, envir = globalenv())
      fit <- dynaTree(x, sin(6 * x), N = 20, verb = 0)
      list(plain(rejuvenate(fit, verb = 0)), .Random.seed, runif(2))
    })
    options(before)
    expect_identical(fits[[1]], fits[[2]])
    expect_false(identical(fits[[1]][[2]], worker))
  }
  expect_identical(RNGkind()[1:2], c("L'Ecuyer-CMRG", "Inversion"))
})

test_that("R is left as it was", {
  fit <- fitted_tree()
  fit <- predict(fit, fit$X)
  expect_as_was(try(predict(fit, 1:7), silent = TRUE))
  expect_as_was(predict(fit, fit$X, ei = TRUE))
})

test_that("the prices are there, real or made, and draw no random number", {
  set.seed(3)
  before <- .Random.seed
  expect_message(data(elec2, package = "dyntree", envir = environment()), "^elec2: ")
  expect_identical(.Random.seed, before)
  expect_named(elec2, c("x1", "x2", "x3", "x4", "y"))
  expect_identical(dim(elec2), c(27552L, 5L))
  expect_setequal(elec2$y, 1:2)
  expect_true(all(vapply(elec2[1:4], is.numeric, NA)))
})
