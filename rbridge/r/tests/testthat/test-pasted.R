# What messages show of names and values can be pasted into a program of R.

test_that("names with quotes are in backticks, and values have escapes", {
  native()
  d <- data.frame(x = runif(30), g = rep(c("u", "v"), 15), y = 1:30 / 7, p = 1:30 / 3,
                  row.names = paste0("the \"", 1:30, "\""))
  names(d)[c(2, 4)] <- c("my \"site\"", "it`s")
  stream <- dyntree_stream(y ~ ., d, n_particles = 10, seed = 1, new_levels = "error")
  new <- d[1:2, ]
  new[[2]][2] <- "w\"\\"
  message <- tryCatch(predict(stream, new), error = conditionMessage)
  expect_match(message, "column `my \"site\"` of newdata", fixed = TRUE)
  expect_match(message, "got \"w\\\"\\\\\" in row `the \"2\"`", fixed = TRUE)
  expect_identical(names(d)[2], as.character(quote(`my "site"`)))
  message <- tryCatch(predict(stream, d[1]), error = conditionMessage)
  expect_match(message, "it lacks `my \"site\"`, \"it`s\"", fixed = TRUE)
  missing <- dyntree_stream(y ~ ., d, n_particles = 10, seed = 1, new_levels = "missing")
  message <- tryCatch(predict(missing, new), warning = conditionMessage)
  expect_match(message, "column `my \"site\"` that", fixed = TRUE)
  remedy <- regmatches(message, regexpr("categories = list\\(`my \"site\"` = c", message))
  expect_length(remedy, 1)
  expect_match(message, "Make a model with new_levels = \"grow\", or", fixed = TRUE)
})

test_that("values in messages are R's own", {
  d <- data.frame(x = runif(20), y = runif(20))
  wrong <- list(list(1, "a"), c(1, NA), c("a", "b"), list(a = 1))
  for (value in wrong) {
    message <- tryCatch(dyntree_stream(y ~ x, d, tree_prior = value, seed = 1),
                        error = conditionMessage)
    expect_match(message, "^tree_prior must")
  }
  message <- tryCatch(dyntree_stream(y ~ x, d, tree_prior = c(0.95, -2), seed = 1),
                      error = conditionMessage)
  shown <- regmatches(message, regexpr("c\\([^)]*\\)", message))
  expect_identical(eval(parse(text = shown)), c(0.95, -2))
})
