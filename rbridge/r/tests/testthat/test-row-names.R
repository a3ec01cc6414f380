# Messages call rows by the names that users know, not by their numbers among what was sent.

test_that("rows and columns are called by their names, also after NA, subset and weights", {
  native()
  set.seed(2)
  d <- airquality
  row.names(d) <- paste0("day", seq_len(nrow(d)))
  d$w <- rep(c(1, 0), length.out = nrow(d))
  d$k <- rpois(nrow(d), 3)
  bad <- function(column, value = Inf, row = 120) {
    d[[column]][row] <- value
    d
  }
  fit <- dynaTree(Ozone ~ Temp + Wind, d, N = 5, verb = 0)
  weighted <- dynaTree(Ozone ~ Temp + Wind, d, weights = w + 1, N = 5, verb = 0)
  counts <- dynaTree(k ~ Temp, d, model = "poisson", exposure = w + 1, N = 5, verb = 0)
  stream <- dyntree_stream(Ozone ~ Temp + Wind, d, n_particles = 10, seed = 1)
  by_frame <- dynaTree(d[c("Temp", "Wind")], d$Temp, N = 5, verb = 0)
  some <- 100:150
  columns <- c("Temp", "Wind")
  said <- alist(
    "X .*, column \"Wind\"" = dynaTree(Ozone ~ Temp + Wind, bad("Wind"), N = 5, verb = 0),
    "X .*, column \"Wind\"" = dynaTree(Ozone ~ Temp + Wind, bad("Wind"), weights = w + 1,
      N = 5, verb = 0),
    "X .*, column \"Temp\"" = dynaTree(Ozone ~ Temp + Wind, bad("Temp"), subset = Month > 6,
      N = 5, verb = 0),
    "y .*Inf" = dynaTree(Ozone ~ Temp + Wind, bad("Ozone"), N = 5, verb = 0),
    "weights .*-1" = dynaTree(Ozone ~ Temp + Wind, bad("w", -1), weights = w, N = 5, verb = 0),
    "weights .*Inf" = dynaTree(Ozone ~ Temp + Wind, bad("w"), weights = w, N = 5, verb = 0),
    "exposure .*" = dynaTree(k ~ Temp, bad("w"), model = "poisson", exposure = w + 1, N = 5,
      verb = 0),
    "y .*must be counts.*" = dynaTree(k ~ Temp, bad("k", 0.5), model = "poisson", N = 5,
      verb = 0),
    "X .*, column \"Wind\"" = update(fit, bad("Wind")[some, ], verb = 0),
    "y .*" = update(fit, bad("Ozone")[some, ], verb = 0),
    "XX .*, column \"Temp\"" = predict(fit, bad("Temp")[some, ]),
    "XX .*, column \"Temp\"" = predict(fit, bad("Temp")[some, ], type = "response"),
    "XX .*, column \"Temp\"" = alc(fit, bad("Temp")[some, ]),
    "XX .*, column \"Temp\"" = qEI(fit, bad("Temp")[some, ]),
    "X .*, column \"Temp\"" = dynaTree(bad("Temp")[some, columns], d$Temp[some], N = 5),
    "X .*, column \"Temp\"" = dynaTree(as.matrix(bad("Temp")[some, columns]), d$Temp[some],
      N = 5),
    "X .*, column \"Wind\"" = update(by_frame, bad("Wind")[some, columns], d$Temp[some]),
    "XX .*, column \"Wind\"" = predict(by_frame, bad("Wind")[some, columns]),
    "weights .*" = update(weighted, bad("w", -3)[some, ], verb = 0),
    "exposure .*" = update(counts, bad("w", -1)[some, ], verb = 0),
    "data .*, column \"Wind\"" = dyntree_stream(Ozone ~ Temp + Wind, bad("Wind"), seed = 1),
    "the response .*" = dyntree_stream(Ozone ~ Temp, bad("Ozone"), seed = 1),
    "weights .*" = dyntree_stream(Ozone ~ Temp, bad("w", -1), weights = w, seed = 1),
    "newdata .*, column \"Wind\"" = update(stream, bad("Wind")[some, ]),
    "newdata .*, column \"Wind\"" = predict(stream, bad("Wind")[some, ]),
    "x .*, column \"Wind\"" = dp_gmm(bad("Wind")[c("Temp", "Wind")], lambda = 10))
  for (i in seq_along(said)) {
    message <- tryCatch({
      utils::capture.output(eval(said[[i]]))
      "nothing"
    }, error = conditionMessage)
    label <- paste(deparse(said[[i]]), collapse = "")
    expect_match(message, paste0("^", sub(",", " in row \"day120\",", names(said)[i])), label = label)
    expect_match(message, "in row \"day120\"", label = label)
    expect_no_match(message, "[\001-\010]", label = label)
  }
})

test_that("rows without names are counted as they were given", {
  native()
  X <- matrix(runif(40), 20)
  X[9, 2] <- Inf
  w <- c(0, 0, rep(1, 18))
  expect_error(dynaTree(X, 1:20, N = 5), "in row 9, column 2\\.")
  expect_error(dynaTree(X, 1:20, weights = w, N = 5), "in row 9, column 2\\.")
  expect_error(dynaTree(X[, 1], c(1:11, Inf, 13:20), weights = w, N = 5), "y .* in row 12\\.")
  d <- airquality
  d$Wind[149] <- Inf
  expect_error(dynaTree(Ozone ~ Wind, d, N = 5), "in row 149, column \"Wind\"")
  d$Wind[148] <- NA
  options(dyntree.rules = "r")
  expect_error(dynaTree(Ozone ~ Wind, d, N = 5), "in row 149, column \"Wind\"")
  expect_error(dynaTree(X[-9, ], 1:19, nu0s20 = c(1, NaN), N = 5), "at element 2|finite")
})

test_that("documents, phases and leaves call rows and words by their names", {
  X <- word_counts(12)
  bad <- function(value) {
    X[4, 3] <- value
    X
  }
  topics <- hdp_topics(X, seed = 1)
  for (value in c(-1, 0.5, Inf)) for (said in list(
    quote(hdp_topics(bad(value), seed = 1)), quote(update(topics, bad(value))),
    quote(predict(topics, bad(value))), quote(predict(topics, as.data.frame(bad(value)))),
    quote(predict(topics, Matrix::Matrix(bad(value), sparse = TRUE)))))
    expect_error(eval(said), "row \"d4\", word \"w3\" is", label = deparse(said))
  for (said in list(quote(hdp_topics(bad(NA), seed = 1)), quote(predict(topics, bad(NA)))))
    expect_error(eval(said), "got NA in row \"d4\"", label = deparse(said))
  X[4, ] <- 0
  expect_error(hdp_topics(X, seed = 1), "^row \"d4\" of x has no words")
  expect_error(update(topics, unname(X)), "^row 4 of newdata has no words")
  d <- data.frame(a = rnorm(60), b = rnorm(60), p = rep(1:3, each = 20),
                  row.names = paste0("r", 1:60))
  gap <- replace(d$p, 41, NA)
  small <- function(...) ddp_mixture(..., n_sweeps = 9, burn_in = 3, seed = 1)
  over_time <- small(d[1:2], d$p)
  expect_error(small(d[1:2], gap), "got NA in row \"r41\"")
  expect_error(update(over_time, d[50:60, 1:2], phase = c(4, NA, rep(4, 9))),
               "got NA in row \"r51\"")
  d$a[44] <- Inf
  expect_error(small(d[1:2], d$p), "in row \"r44\", column \"a\"") # the fourth of its phase
  expect_error(update(over_time, d[41:60, 1:2], phase = rep(4:5, 10)), "in row \"r44\"")
  native()
  tree <- dynaTree(b ~ a, d[-44, ], N = 5, verb = 0)
  expect_error(dyntree:::sameleaf(tree, d[40:50, ]), "in row \"r44\", column \"a\"")
})
