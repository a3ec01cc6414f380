# Levels and labels that a factor declares count as such before a row has them.

sites <- function(n = 60, seed = 5) {
  set.seed(seed)
  d <- data.frame(x = runif(n), g = factor(sample(c("u", "v"), n, TRUE), c("w", "v", "u")))
  d$y <- d$x + 2 * (d$g == "v") + rnorm(n, 0, 0.1)
  d$k <- factor(ifelse(d$y > 1.5, "high", "low"), c("low", "mid", "high"))
  d
}

faces <- list(
  stream = function(f, d) dyntree_stream(f, d, window = 40, n_particles = 10, seed = 1),
  memories = function(f, d) dyntree_stream(f, d, window = "auto", n_particles = 5, seed = 1),
  average = function(f, d) dyntree_average(f, d, n_clouds = 2, n_particles = 10, seed = 1),
  tree = function(f, d) dynaTree(f, d, N = 20, verb = 0))

test_that("a declared level is predicted and learned without a word", {
  native()
  d <- sites()
  new <- data.frame(x = 0.5, g = factor("w"), y = 7, k = "mid")
  for (face in faces) {
    expect_silent(fit <- face(y ~ x + g, d))
    expect_silent(before <- predict(fit, new, type = "response"))
    expect_true(is.finite(before))
    expect_silent(update(fit, new))
    expect_error(predict(fit, transform(new, g = "z")), "z")
  }
})

test_that("a declared label has a probability and is learned", {
  native()
  d <- sites()
  new <- data.frame(x = 0.5, g = "u", k = "mid")
  for (face in faces) {
    fit <- face(k ~ x + g, d)
    prob <- predict(fit, new, type = "prob")
    expect_identical(colnames(prob), c("low", "mid", "high"))
    expect_true(prob[1, "mid"] > 0 && prob[1, "mid"] < 0.1)
    utils::capture.output(more <- update(fit, new[rep(1, 30), ]))
    expect_gt(predict(more, new, type = "prob")[1, "mid"], prob[1, "mid"])
  }
})

test_that("a stream of single rows declares what a table does", {
  d <- sites()
  whole <- faces$stream(y ~ x + g, d)
  parts <- faces$stream(y ~ x + g, d[1, ])
  for (row in 2:60) parts <- update(parts, d[row, ])
  new <- data.frame(x = 0.5, g = c("u", "v", "w"))
  expect_identical(predict(parts, new), predict(whole, new))
})

test_that("levels of later rows are known once a row has them", {
  d <- sites()
  fit <- faces$stream(y ~ x + g, d)
  late <- update(fit, transform(d[1:3, ], g = factor("a", c("a", "b"))))
  expect_silent(predict(late, data.frame(x = 0.5, g = "a")))
  expect_error(predict(late, data.frame(x = 0.5, g = "b")), "\"b\" in row 1")
})

test_that("R's rules learn the labels that rows have", {
  d <- sites()
  set.seed(1)
  fit <- dynaTree(as.matrix(d["x"]), as.numeric(droplevels(d$k)), N = 20, model = "class",
                  verb = 0)
  expect_identical(sort(unique(fit$y)), c(1, 2))
})

test_that("responses 0 and 1 give one warning where nobody named the model", {
  set.seed(6)
  d <- data.frame(x = runif(40), y = rep(c(0, 1), 20))
  faces$matrix <- function(f, d) dynaTree(matrix(d$x), d$y, N = 10, verb = 0)
  faces$repeats <- function(f, d) dynaTrees(matrix(d$x), d$y, N = 10, R = 2, verb = 0, pverb = 0)
  faces$of_stream <- function(f, d)
    dyntree_average(f, d, stream = TRUE, n_particles = 5, seed = 1)
  heard <- function(code) {
    texts <- character()
    withCallingHandlers(code, warning = function(w) {
      texts <<- c(texts, conditionMessage(w))
      invokeRestart("muffleWarning")
    })
    texts
  }
  native()
  for (name in names(faces)) {
    texts <- heard(fit <- faces[[name]](y ~ x, d))
    expect_length(texts, 1L)
    expect_match(texts, "responses are 0 and 1 alone", fixed = TRUE)
    expect_match(texts, "make them a factor, or use model = \"class\"; if", fixed = TRUE)
    expect_match(texts, paste0("model = \"", fit$model, "\" says so"), fixed = TRUE)
    expect_silent(faces[[name]](y ~ x, transform(d, y = y + x)))
    expect_silent(faces[[name]](y ~ x, d[1:19, ]))
  }
  expect_silent(dynaTree(y ~ x, d, model = "constant", N = 10, verb = 0))
  expect_silent(dynaTree(matrix(d$x), d$y + 1, model = "class", N = 10, verb = 0))
  expect_error(dynaTree(y ~ x, d, model = "class", N = 10, verb = 0), ", or give a factor")
  expect_silent(dyntree_stream(y ~ x, d, model = "linear", n_particles = 5, seed = 1))
  expect_silent(dyntree_stream(y ~ x, d, classes = 0:1, n_particles = 5, seed = 1))
  expect_silent(dyntree_stream(factor(y) ~ x, d, n_particles = 5, seed = 1))
  expect_silent(anova(dynaTree(y ~ x, d, model = "linear", N = 5, verb = 0), repeats = 2))
})

test_that("CRAN's rules take 0 and 1 for numbers without a word", {
  d <- data.frame(x = 1:40 / 40, y = rep(c(0, 1), 20))
  expect_silent(dynaTree(matrix(d$x), d$y, N = 10, verb = 0))
  expect_silent(dynaTree(y ~ x, d, N = 10, verb = 0))
  expect_silent(dynaTrees(matrix(d$x), d$y, N = 10, R = 2, verb = 0, pverb = 0))
})
