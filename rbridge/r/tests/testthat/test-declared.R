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
