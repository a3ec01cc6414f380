test_that("models are values: an update leaves the older object as it was", {
  for (one in every_model()) {
    fit <- one$fit
    before <- predict(fit, one$rows)
    plain <- without_state(fit)
    later <- update(fit, one$rows[1:30, ])
    expect_identical(nobs(later), nobs(fit) + 30L)
    expect_identical(predict(fit, one$rows), before)
    expect_identical(without_state(fit), plain)
    twin <- update(fit, one$rows[1:30, ]) # once more from the same point
    expect_identical(predict(twin, one$rows), predict(later, one$rows))
    plain <- without_state(later)
    plain$call <- twin$call
    expect_identical(without_state(twin), plain)
  }
})

test_that("objects that were saved go on to the bit, in another session, too", {
  models <- every_model()
  for (name in names(models)) {
    one <- models[[name]]
    fit <- one$fit
    for (i in 1:3) fit <- update(fit, one$rows[10 * i + 1:10, ])
    file <- tempfile()
    saveRDS(fit, file)
    again <- readRDS(file)
    expect_identical(predict(again, one$rows), predict(fit, one$rows))
    expect_identical(without_state(update(again, one$rows[1:9, ])),
                     without_state(update(fit, one$rows[1:9, ])))
  }
})

test_that("many updates are stored in a new checkpoint", {
  d <- mixed_rows()
  fit <- dyntree_stream(y ~ x, d[1:20, ], window = 15, n_particles = 5, seed = 1)
  first <- fit
  for (i in rep(1:100, 2)) fit <- update(fit, d[i, ])
  expect_lt(length(attr(fit, "state")$since), 200L)
  file <- tempfile()
  saveRDS(fit, file)
  expect_identical(predict(readRDS(file), d), predict(fit, d))
  expect_identical(nobs(first), 20L)
  expect_identical(predict(first, d),
                   predict(dyntree_stream(y ~ x, d[1:20, ], window = 15, n_particles = 5,
                                          seed = 1), d))
})

test_that("seeds come from R's own stream, of any generator", {
  d <- mixed_rows()
  X <- clusters()
  W <- word_counts()
  fits <- list(
    function(...) dyntree_stream(y ~ x, d, n_particles = 10, ...)$seed,
    function(...) dyntree_average(y ~ x, d, n_particles = 10, n_clouds = 2, ...)$seed,
    function(...) ddp_mixture(X, rep(1, 240), n_sweeps = 3, burn_in = 1, ...)$seed,
    function(...) canopy_mixture(X, 3, ...)$seed,
    function(...) hdp_topics(W, ...)$seed)
  kind <- RNGkind()
  on.exit(RNGkind(kind[1], kind[2], kind[3]))
  for (generator in c("Mersenne-Twister", "L'Ecuyer-CMRG")) {
    RNGkind(generator)
    for (fit in fits) {
      set.seed(5)
      one <- fit()
      after <- runif(1)
      set.seed(5)
      expect_identical(fit(), one)
      expect_identical(runif(1), after)
      expect_false(identical(fit(), one))
      set.seed(5)
      state <- .Random.seed
      expect_identical(fit(seed = 1), 1)
      expect_identical(.Random.seed, state)
    }
  }
  set.seed(5)
  state <- .Random.seed
  dp_gmm(X) # draws nothing
  expect_identical(.Random.seed, state)
})

test_that("what is not understood is refused, by name and in R's words", {
  d <- mixed_rows()
  X <- clusters()
  W <- word_counts()
  asked <- alist(
    dyntree_stream(y ~ x, d, foo = 1), dyntree_average(y ~ x, d, foo = 1),
    dp_gmm(X, foo = 1), ddp_mixture(X, rep(1, 240), foo = 1), canopy_mixture(X, foo = 1),
    hdp_topics(W, foo = 1))
  for (one in asked) expect_error(eval(one), "unused argument \\(foo\\)")
  for (one in every_model()) {
    expect_error(predict(one$fit, one$rows, foo = 1), "unused argument \\(foo\\)")
    expect_error(update(one$fit, one$rows, foo = 1), "unused argument \\(foo\\)")
    expect_error(summary(one$fit, foo = 1), "unused argument \\(foo\\)")
    expect_error(predict(one$fit, one$rows, type = "x"), "^type must be one of \"")
    expect_error(predict(one$fit, NULL), "^newdata must be a .*; got NULL")
    expect_error(predict(structure(unclass(one$fit), state = NULL, class = class(one$fit)),
                         one$rows), "object must be what .* returned")
  }
  cases <- list(
    quote(dyntree_stream(y ~ x, d, window = NA)), "^window must have no missing value; got NA",
    quote(dyntree_stream(y ~ x, d, window = 1.5)), "^window must be a whole number >= 2.*1.5",
    quote(dyntree_stream(y ~ x, d, window = NULL)), "^window must be .*; got NULL",
    quote(dyntree_stream(y ~ x, d, drift = "yes")), "^drift must be TRUE or FALSE; got \"yes\"",
    quote(dyntree_stream(y ~ x, d, model = "spline")), "^model must be one of .*\"spline\"",
    quote(dyntree_stream(y ~ x, d, model = c("a", "b"))), "^model must be one of .*c\\(\"a\", \"b\"",
    quote(dyntree_stream(y ~ x, d, window = "auto", forget = 0.5)), "^forget is an option of one",
    quote(dyntree_stream(y ~ x, d, seed = "a")), "^seed must be a whole number >= 0",
    quote(dyntree_stream(y ~ x, d, prior = mean)), "^prior must be .*class function",
    quote(dyntree_stream(~x, d)), "^formula must have a response",
    quote(dyntree_stream(y ~ 1, d)), "^formula must have an input",
    quote(dyntree_stream(k ~ x, d, model = "linear")), "^the response must be numeric for model",
    quote(dyntree_stream(as.character(x + 0.5) ~ x, d)), "got the text .* as.numeric\\(\\), or give model",
    quote(dyntree_average(as.character(x + 0.5) ~ x, d)), "got the text .*, which reads as a number",
    quote(dynaTree(as.character(x + 0.5) ~ x, d)), "got the text .*, which reads as a number",
    quote(dyntree_stream(k ~ x + offset(x), d)), "^formula must have no offset",
    quote(dyntree_stream(y ~ x, d, weights = -x)), "^weights must be finite and >= 0",
    quote(dyntree_stream(y ~ x, d, exposure = x)), "^exposure is for counts",
    quote(dyntree_average(y ~ x, d, stream = NA)), "^stream must be TRUE or FALSE; got NA",
    quote(dyntree_average(y ~ x, d, stream = TRUE, n_clouds = 3)), "^n_clouds is for stream = FALSE",
    quote(dyntree_average(y ~ x, d, discount = 0.5)), "^discount is for stream = TRUE",
    quote(dyntree_average(y ~ x, d, stream = TRUE, members = 3)), "^members must be a list",
    quote(dyntree_average(y ~ x, d, stream = TRUE, members = list(list(window = 9), "a"))),
    "^members\\[\\[2\\]\\] must be a named list of options, each once; got \"a\"",
    quote(dyntree_average(y ~ x, d, stream = TRUE, members = list(list(window = 9, window = 8)))),
    "^members\\[\\[1\\]\\] must be a named list of options, each once; got a list",
    quote(dyntree_average(y ~ x, d, stream = TRUE, members = list(list(window = 1)))),
    "^members\\[\\[1\\]\\]\\$window must be a whole number >= 2; got 1",
    quote(dyntree_average(y ~ x, d, stream = TRUE, members = list(list(), list(prior = "a")))),
    "^members\\[\\[2\\]\\]\\$prior must be \"adaptive\" or a number",
    quote(dyntree_average(y ~ x, d, stream = TRUE, members = list(list(size = 5)))),
    "^members must have options among .*; got \"size\" in member 1",
    quote(dyntree_average(y ~ x, d, stream = TRUE, members = c("a", "b"))),
    "^members must be a list of named lists of options, or one of \"light\"",
    quote(dyntree_stream(y ~ x + g, d, categories = list(g = "u", g = "v"))),
    "^categories must be a named list with the levels of columns, each once",
    quote(dyntree_stream(y ~ x + g, d, categories = list(q = "u"))),
    "has \"x\", \"g\". Give data as a data frame with that column\\.$",
    quote(dyntree_stream(y ~ x, d, window = numeric(0))), "^window must have a value; got numeric\\(0",
    quote(dyntree_stream(y ~ x, d, drift = X)), "^drift must be .*; got a data frame",
    quote(canopy_mixture(X, 3, init = X[1:3, ])), "^init must be .*; got a data frame",
    quote(plot(dp_gmm(X), columns = list(1))), "^columns must be one or two of .*; got a list",
    quote(predict(dp_gmm(X), X, type = X)), "^type must be one of .*; got a data frame",
    quote(predict(dp_gmm(X), as.list(X))), "^newdata must be a data frame .*; got a list",
    quote(dp_gmm(d)), "^column \"g\" of x must be numeric.* got a factor",
    quote(dp_gmm(d["s"])), "^column \"s\" of x .* got text",
    quote(dp_gmm(mean)), "^x must be a data frame or a matrix; got an object of class function",
    quote(dp_gmm(X, lambda = -1)), "^lambda must be > 0; got -1",
    quote(dp_gmm(y ~ x, d)), "^x must be a formula without a response",
    quote(dp_gmm(X, d)), "^data must be NULL where x is no formula",
    quote(dp_gmm(cbind(X, a = 1))), "^x must have columns of different names; got \"a\" twice",
    quote(dp_gmm(data.frame(a = 1i))), "^column \"a\" of x must be numeric.*type complex",
    quote(dp_gmm(X[1, ])), "^x must have at least 2 rows for lambda = \"auto\"; got 1",
    quote(dp_gmm(replace(X, 2, c(NA, X$b[-1])))), "^x must be finite; got NA in row 1",
    quote(ddp_mixture(X[0, ], numeric())), "^x must have at least one row; got none\\.$",
    quote(dp_gmm(~ a + offset(b), data = X)), "^x must be a formula without offset\\(\\); got ~a",
    quote(ddp_mixture(X, 1:3)), "^phase must have a label for each of the 240 rows",
    quote(ddp_mixture(X, c(NA, rep(1, 239)))), "^phase .* got NA in row 1",
    quote(ddp_mixture(replace(X, 2, c(X$b[1:4], NA, X$b[-(1:5)])), rep(2:1, 120))),
    "^x must be finite; got NA in row 5, column \"b\"\\. Drop or impute",
    quote(ddp_mixture(X, rep(1, 240), family = "t")), "^family must be one of \"gaussian\"",
    quote(ddp_mixture(X, rep(1, 240), family = list("gaussian", df = -1))), "^family\\$df must be > 0",
    quote(ddp_mixture(X, rep(1, 240), family = list("gaussian", d = 1))), "^family must hold .*got \"d\"",
    quote(canopy_mixture(X, 1000)), "^n_components must be at most .* 240; got 1000",
    quote(canopy_mixture(X, 3, weights = 1:3)), "^weights must be numbers, one for each of the 240",
    quote(canopy_mixture(X, 3, options = list(polish = -1))), "^options\\$polish must be",
    quote(hdp_topics("text")), "^x must be a matrix of counts",
    quote(hdp_topics(W - 1)), "^x: row \"d1\", word \"w11\" is -1",
    quote(hdp_topics(cbind(W, w1 = 1))), "^x must have columns of different names",
    quote(hdp_topics(replace(W, 1, NA))), "^x must have no missing value; got NA in row \"d1\"")
  for (k in seq(1, length(cases), 2)) {
    message <- tryCatch(eval(cases[[k]]), error = conditionMessage)
    expect_match(message, cases[[k + 1]], perl = TRUE)
    expect_no_match(message, no_python, perl = TRUE)
  }
})

test_that("a refused call leaves object and stream as they were", {
  for (one in every_model()) {
    fit <- one$fit
    before <- predict(fit, one$rows)
    set.seed(1)
    state <- .Random.seed
    bad <- one$rows[1:9, ]
    if (is.data.frame(bad)) bad <- bad[-1] else bad[2] <- -1
    expect_error(update(fit, bad), "newdata")
    expect_error(predict(fit, bad), "newdata")
    expect_identical(.Random.seed, state)
    expect_identical(predict(fit, one$rows), before)
  }
})

test_that("an update whose warning is an error has not happened", {
  d <- mixed_rows()
  fit <- dyntree_stream(y ~ x + g, d, n_particles = 20, seed = 1, new_levels = "missing")
  before <- predict(fit, d)
  more <- d[1:9, ]
  more$g <- "w"
  old <- options(warn = 2)
  on.exit(options(old))
  expect_error(update(fit, more), "count as missing")
  expect_identical(predict(fit, d), before)
})

test_that("an interrupt leaves R and the object as they were", {
  skip_on_os("windows")
  d <- mixed_rows(20000)
  fit <- dyntree_stream(y ~ x + g, d[1:200, ], seed = 1)
  before <- predict(fit, d[1:50, ])
  system(sprintf("(sleep 0.5; kill -INT %d) &", Sys.getpid()))
  got <- tryCatch({
    update(fit, d)
    "done"
  }, interrupt = function(i) "interrupted")
  expect_identical(got, "interrupted")
  expect_identical(predict(fit, d[1:50, ]), before)
  expect_identical(nobs(update(fit, d[1:50, ])), 250L)
})

test_that("options are no dates, 64-bit integers, complex numbers or arrays, and texts are valid", {
  for (bad in list(Sys.Date(), Sys.time(), as.difftime(50, units = "mins"),
                   structure(1, class = "integer64"), 1i, as.raw(1), matrix(1, 2, 2)))
    expect_error(dyntree_stream(dist ~ speed, cars, window = bad),
                 paste0("^window must be a number.*; got an object of class ", class(bad)[1L]))
  expect_error(dyntree_stream(dist ~ speed, cars, seed = Sys.Date()), "^seed must be a number")
  d <- data.frame(y = 1:2, s = c("caf\xe9", "b"))
  expect_error(dyntree_stream(y ~ s, d), "^texts from R must be valid UTF-8 .*caf.*iconv\\(\\)")
  X <- cars
  X$dist <- array(X$dist)
  expect_error(dp_gmm(X), "^column \"dist\" of x .*; got an array of type double")
})

test_that("odd values within lists of options are refused by name", {
  d <- mixed_rows()
  for (odd in list(1i, as.raw(1), Sys.Date(), structure(1, class = "integer64"), quote(x), mean)) {
    said <- function(name) paste0("^", name, " must be a number.*object of class ",
                                  if (is.complex(odd) || is.raw(odd)) typeof(odd) else class(odd))
    expect_error(dyntree_average(y ~ x, d, stream = TRUE, members = list(list(forget = odd))),
                 said("members\\[\\[1\\]\\]\\$forget"))
    expect_error(dyntree_stream(y ~ x, d, categories = list(s = odd)), said("categories\\$s"))
    expect_error(ddp_mixture(d["y"], 1:120, transition = list("walk", odd)),
                 said("transition\\[\\[2\\]\\]"))
  }
  expect_error(canopy_mixture(d["y"], 2, init = matrix(1i)), "^init must be .* of class complex")
})

test_that("calls have the name of their function, also by lapply(), and choices may be cut short", {
  X <- clusters()
  fits <- c(lapply(list(y ~ x), dyntree_stream, mixed_rows(), n_particles = 10, seed = 1),
            lapply(list(y ~ x), dyntree_average, mixed_rows(), n_particles = 10, n_clouds = 2),
            lapply(list(X), dp_gmm), lapply(list(X), canopy_mixture, 3),
            lapply(list(X), ddp_mixture, rep(1:3, each = 80), n_sweeps = 9, burn_in = 3),
            lapply(list(word_counts()), hdp_topics))
  for (fit in fits) expect_true(as.character(getCall(fit)[[1]]) %in% class(fit))
  d <- mixed_rows()[1:5, ]
  expect_identical(predict(fits[[1]], d, interval = "pred"),
                   predict(fits[[1]], d, interval = "prediction"))
  expect_identical(predict(fits[[1]], d, type = "q"), predict(fits[[1]], d, type = "quantile"))
  expect_error(predict(fits[[1]], d, type = "odds"), "type must be one of \"response\"")
})
