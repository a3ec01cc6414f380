test_that("a stream takes a formula and answers with the rows' names", {
  d <- mixed_rows()
  row.names(d) <- paste0("r", seq_len(nrow(d)))
  fit <- dyntree_stream(y ~ x + g + s + l + day, d, window = 50, n_particles = 30, seed = 1)
  expect_s3_class(fit, c("dyntree_stream", "dyntree_trees"), exact = TRUE)
  expect_identical(c(nobs(fit), fit$n_active), c(120L, 50L))
  expect_identical(all.vars(formula(fit)), c("y", "x", "g", "s", "l", "day"))
  new <- d[5:7, c("day", "l", "s", "g", "x")]
  found <- predict(fit, new)
  expect_identical(names(found), c("r5", "r6", "r7"))
  quantiles <- predict(fit, new, type = "quantile", probs = c(0.1, 0.5, 0.9))
  expect_s3_class(quantiles, "data.frame")
  expect_identical(dimnames(quantiles), list(c("r5", "r6", "r7"), c("10%", "50%", "90%")))
  expect_true(all(quantiles[[1]] < quantiles[[2]]))
  between <- predict(fit, new, interval = "prediction", level = 0.8)
  expect_identical(between$fit, unname(found))
  expect_equal(between$lwr, quantiles[["10%"]], tolerance = 1e-12) # 0.5 - 0.4 is not 0.1
  expect_identical(row.names(between), row.names(new))
  expect_true(all(predict(fit, new, type = "sd") > 0))
  expect_identical(unname(predict(fit, new[1, ])), unname(found[1]))
  expect_error(predict(fit, new, interval = "prediction", level = 2), "^level must be a number")
  expect_error(predict(fit, new, type = "quantile", probs = 0), "^probs must be numbers")
  expect_error(predict(fit, new, type = "sd", interval = "prediction"), "^interval must be")
  expect_identical(attributes(logLik(fit))$df, NA_real_)
})

test_that("rows without a response are left out, and other gaps are taken", {
  d <- mixed_rows()
  d$y[2] <- NA
  fit <- dyntree_stream(y ~ x, d, n_particles = 20, seed = 1)
  expect_identical(nobs(fit), 119L)
  d$y[2:4] <- NA
  expect_identical(nobs(update(fit, d[1:5, ])), 121L)
  expect_identical(without_state(update(fit, d[2:4, ])), without_state(fit))
  expect_identical(nobs(dyntree_stream(y ~ x, d, na.action = na.omit, seed = 1,
                                       n_particles = 5)), 117L)
})

test_that("labels keep R's order of levels, and new ones come", {
  d <- mixed_rows()
  fit <- dyntree_stream(k ~ x + g, d, n_particles = 30, seed = 1)
  expect_identical(fit$model, "class")
  p <- predict(fit, d[1:3, ], type = "prob")
  expect_identical(names(p), c("low", "high"))
  expect_equal(rowSums(p), c("1" = 1, "2" = 1, "3" = 1))
  label <- predict(fit, d[1:3, ])
  expect_identical(levels(label), c("low", "high"))
  expect_identical(predict(fit, d[1:3, ], type = "response"), label)
  expect_error(predict(fit, d, type = "sd"), "^type must be one of \"class\", \"prob\"")
  more <- d[1:9, ]
  more$k <- "middle"
  later <- update(fit, more)
  expect_identical(names(predict(later, d[1:3, ], type = "prob")), c("low", "high", "middle"))
  expect_identical(names(predict(fit, d[1:3, ], type = "prob")), c("low", "high"))
  d$t <- d$y > 1
  expect_identical(levels(predict(dyntree_average(t ~ x, d, n_clouds = 2, n_particles = 10),
                                  d[1, ])), c("FALSE", "TRUE"))
  numbers <- dyntree_stream(I(l + 1) ~ x, d, model = "class", n_particles = 10)
  expect_identical(levels(predict(numbers, d[1, ])), c("1", "2"))
})

test_that("numbers are labels where they are whole, and where the fit had some", {
  d <- mixed_rows()
  d$code <- as.integer(d$k)
  expect_error(dyntree_stream(y ~ x, d, model = "class"),
               "^the response must hold labels, as whole .* got 1.887.* in row 1. Give model = \"linear\"")
  expect_error(dyntree_average(y ~ x, d, classes = c("low", "high")), "must hold labels, as whole")
  expect_error(dyntree_stream(day ~ x, d, model = "class"), "got an object of class Date")
  text <- dyntree_stream(k ~ x, d, n_particles = 5, seed = 1)
  for (wrong in list(d$code, d$l, d$day))
    expect_error(update(text, transform(d, k = wrong)), "^the response must (hold labels as|be numeric)")
  truths <- dyntree_stream(l ~ x, d, n_particles = 5, seed = 1)
  expect_error(update(truths, transform(d, l = 1)), "of class logical; got one of type double")
  numbers <- dyntree_stream(code ~ x, d, model = "class", n_particles = 5, seed = 1)
  expect_error(update(numbers, transform(d, code = l)), "of class numeric; got one of type logical")
  expect_identical(update(numbers, transform(d, code = factor(code)))$log_evidence,
                   update(numbers, d)$log_evidence)
  expect_identical(update(truths, transform(d, l = paste(l)))$log_evidence,
                   update(truths, d)$log_evidence)
  expect_error(dyntree_stream(y ~ x, transform(d, y = NA)), "^data must have at least one row")
})

test_that("levels that no row had are learned, refused or missing", {
  d <- mixed_rows()
  more <- d[1:9, ]
  more$g <- "w"
  fit <- dyntree_stream(y ~ x + g, d, n_particles = 20, seed = 1)
  expect_error(predict(fit, more), "^column \"g\" of newdata .* \"u\", \"v\"; got \"w\" in row 1")
  later <- update(fit, more)
  expect_length(predict(later, more), 9L)
  expect_error(predict(fit, more), "got \"w\"")
  strict <- dyntree_stream(y ~ x + g, d, n_particles = 20, seed = 1, new_levels = "error")
  expect_error(update(strict, more), "^column \"g\" of newdata .* got \"w\"")
  gaps <- dyntree_stream(y ~ x + g, d, n_particles = 20, seed = 1, new_levels = "missing")
  expect_warning(found <- predict(gaps, more), "newdata has levels in column \"g\"")
  more$g <- NA
  expect_identical(predict(gaps, more), found)
  more$g <- 1
  expect_error(predict(fit, more), "^column \"g\" of newdata must be a factor or character")
  more$x <- NULL
  expect_error(predict(fit, more), "^newdata must have the variables of the fit.* lacks \"x\"")
})

test_that("terms of a formula come as they are in other models", {
  d <- mixed_rows()[-4, ]
  fit <- dyntree_stream(log(y + 9) ~ poly(x, 2) + g:l + I(x > 0.5), d, n_particles = 20, seed = 1)
  expect_length(predict(fit, d[1:3, ]), 3L)
  expect_identical(unname(predict(fit, d)[7]), unname(predict(fit, d[7, ])))
  one <- d[7, ]
  one$g <- as.character(one$g)
  expect_identical(predict(fit, one), predict(fit, d)[7])
  one$g <- "w"
  expect_error(update(fit, one), "^column \"g\" of newdata must hold levels .* got \"w\"")
  expect_identical(nobs(update(fit, d[1:9, ])), 128L)
  dots <- dyntree_stream(y ~ . - k, d, n_particles = 5, seed = 1)
  expect_length(predict(dots, d), 119L)
  expect_warning(dyntree_stream(y ~ x - 1, d, model = "linear", n_particles = 5),
                 "leaves out the intercept")
})

test_that("weights and exposures are found where the fit found them", {
  d <- mixed_rows()
  d$w <- rep(1:2, 60)
  fit <- dyntree_stream(y ~ x, d, weights = w, n_particles = 20, seed = 1)
  by_hand <- dyntree_stream(y ~ x, d, weights = rep(1:2, 60), n_particles = 20, seed = 1)
  expect_identical(predict(fit, d), predict(by_hand, d))
  expect_identical(predict(update(fit, d), d), predict(update(fit, d, weights = d$w), d))
  expect_error(update(fit, d[names(d) != "w"]), "^weights must be given, or be in newdata")
  d$hours <- runif(120, 1, 4)
  d$n <- rpois(120, 3 * d$hours)
  counts <- dyntree_stream(n ~ g, d, model = "poisson", exposure = hours, n_particles = 20,
                           seed = 1)
  offsets <- dyntree_stream(n ~ g + offset(log(hours)), d, model = "poisson",
                            n_particles = 20, seed = 1)
  expect_equal(predict(counts, d), predict(offsets, d))
  twice <- predict(counts, d[1, ], exposure = 2 * d$hours[1])
  expect_equal(twice, 2 * predict(counts, d[1, ]))
  expect_identical(nobs(update(offsets, d[1:3, ])), 123L)
})

test_that("tables of other packages, and variables from elsewhere", {
  d <- mixed_rows()
  fit <- dyntree_stream(y ~ x + g, d, n_particles = 20, seed = 1)
  tibble <- structure(d, class = c("tbl_df", "tbl", "data.frame"))
  expect_identical(predict(dyntree_stream(y ~ x + g, tibble, n_particles = 20, seed = 1), tibble),
                   predict(fit, d))
  y <- d$y
  x <- d$x
  two <- 2
  own <- dyntree_stream(y ~ I(two * x), n_particles = 20, seed = 1)
  expect_length(predict(own, d[1:3, ]), 3L)
  expect_error(predict(own, d[1:3, "g", drop = FALSE]), "^newdata must have .* lacks \"x\"")
})

test_that("an offset is taken off responses and added to predictions", {
  d <- mixed_rows()
  d$o <- seq_len(120)
  d$z <- d$y + d$o
  fit <- dyntree_stream(z ~ x + offset(o), d, n_particles = 20, seed = 1)
  plain <- dyntree_stream(I(z - o) ~ x, d, n_particles = 20, seed = 1)
  expect_identical(predict(fit, d), predict(plain, d) + d$o)
  expect_identical(predict(fit, d, type = "quantile")[["5%"]],
                   predict(plain, d, type = "quantile")[["5%"]] + d$o)
  expect_identical(predict(fit, d, type = "sd"), predict(plain, d, type = "sd"))
  expect_identical(update(fit, d)$log_evidence, update(plain, d)$log_evidence)
})

test_that("averages are of clouds or of memories", {
  d <- mixed_rows()
  table <- dyntree_average(y ~ x + g, d, model = "linear", n_clouds = 3, n_particles = 10,
                           seed = 1)
  expect_identical(table$n_clouds, 3L)
  stream <- dyntree_average(y ~ x + g, d, stream = TRUE, n_particles = 10, seed = 1,
                            members = list(list(window = 20, forget = 0.5), list(window = 60)))
  expect_equal(stream$members$window, c(20, 60))
  expect_equal(sum(stream$members$weight), 1, tolerance = 1e-3) # four digits each
  auto <- dyntree_stream(y ~ x + g, d, window = "auto", n_particles = 10, seed = 1)
  same <- dyntree_average(y ~ x + g, d, stream = TRUE, n_particles = 10, seed = 1)
  expect_identical(predict(auto, d), predict(same, d))
})

test_that("trees print, summarise and draw", {
  d <- mixed_rows()
  fit <- dyntree_stream(y ~ x + g, d, window = 40, drift = TRUE, n_particles = 20, seed = 1)
  expect_output(print(fit), "linear leaves, 20 particles, window 40, forget 0.95")
  expect_output(print(fit), "120 rows learned, 40 active")
  facts <- summary(fit)
  expect_identical(row.names(facts$inputs), c("x", "g"))
  expect_equal(sum(facts$inputs$share), 1)
  expect_output(print(facts), "log evidence.*share of what is predicted")
  auto <- dyntree_stream(y ~ x, d, window = "auto", n_particles = 10, seed = 1)
  expect_output(print(auto), "members averaged.*window")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_null(plot(fit))
  expect_null(plot(auto, "members"))
  expect_error(plot(fit, "members"), "^which must be \"inputs\" for one cloud")
})

test_that("classes may be named by numbers, truth values, text or a factor", {
  d <- mixed_rows()
  d$n <- ifelse(d$y > 1, 2, 1)
  probabilities <- function(formula, classes)
    predict(dyntree_stream(formula, d, model = "class", classes = classes, n_particles = 20,
                           seed = 1), d[1:3, ], type = "prob")
  as_text <- probabilities(n ~ x, c("1", "2", "3"))
  expect_equal(unname(rowSums(as_text)), rep(1, 3))
  for (classes in list(1:3, c(1, 2, 3), factor(1:3)))
    expect_identical(probabilities(n ~ x, classes), as_text)
  expect_identical(probabilities(l ~ x, c(TRUE, FALSE)), probabilities(l ~ x, c("TRUE", "FALSE")))
  expect_error(probabilities(n ~ x, list(1, 2)),
               "^classes must be a vector of labels; got a list")
  fit <- function(levels)
    dyntree_stream(y ~ x + n, d, categories = list(n = levels), n_particles = 20, seed = 1)
  expect_identical(predict(fit(1:2), d), predict(fit(c(1, 2)), d))
  logical <- dyntree_stream(y ~ x + l, d, categories = list(l = c(FALSE, TRUE)),
                            n_particles = 20, seed = 1)
  expect_length(predict(logical, d), 120L)
})

test_that("interactions of names that are no R names keep their levels", {
  d <- mixed_rows()[-4, ]
  d$`my g` <- factor(rep(c("a", "b", "c"), length.out = nrow(d)))
  d$y <- d$y + 3 * (d$`my g` == "b") * d$x
  fit <- dyntree_stream(y ~ x * `my g`, d, n_particles = 20, seed = 1)
  all <- predict(fit, d[1:6, ])
  each <- vapply(1:6, function(k) predict(fit, d[k, ]), 0)
  expect_identical(unname(each), unname(all))
  one <- d[1:3, ]
  one$`my g` <- c("A", "b", "c") # sorts before those of the fit
  expect_error(predict(fit, one), "^column \"my g\" of newdata must hold levels .* got \"A\"")
})

test_that("rows of one level are read beside an interaction of other inputs", {
  d <- mixed_rows()[-4, ]
  d$f <- factor(d$s)
  fit <- dyntree_stream(y ~ x * g + s + f, d, n_particles = 20, seed = 1)
  each <- vapply(1:6, function(k) predict(fit, d[k, ]), 0)
  expect_identical(unname(each), unname(predict(fit, d[1:6, ])))
  expect_identical(nobs(update(fit, d[1, ])), 120L)
  one <- d[d$s == "p", ]
  expect_length(predict(dyntree_stream(y ~ x * g + s, one, n_particles = 20, seed = 1), one),
                nrow(one))
})

test_that("a wrong probability is shown, not only counted", {
  old <- options(dyntree.rules = "native")
  on.exit(options(old))
  fit <- dynaTree(y ~ x, mixed_rows(), N = 20, verb = 0)
  expect_error(predict(fit, mixed_rows(), type = "quantile", probs = c(0.1, 95)), "got 95")
})
