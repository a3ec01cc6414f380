test_that("inputs may have gaps under native rules", {
  native()
  set.seed(1)
  fit <- dynaTree(Ozone ~ Solar.R + Wind + Temp, data = airquality, N = 50, verb = 0)
  there <- !is.na(airquality$Ozone)
  expect_identical(nobs(fit), sum(there))
  expect_true(anyNA(fit$X))
  answer <- predict(fit, airquality, type = "response")
  expect_length(answer, nrow(airquality))
  expect_true(all(is.finite(answer)))
  expect_gt(cor(answer[there], airquality$Ozone[there]), 0.7)
  fit <- update(fit, airquality[1:3, ], c(40, 36, 12), verb = 0)
  expect_identical(nobs(fit), sum(there) + 3L)
  read <- tempfile()
  saveRDS(fit, read)
  expect_identical(predict(readRDS(read), airquality, type = "response"),
                   predict(fit, airquality, type = "response"))
  again <- update(readRDS(read), airquality[5, ], 20, verb = 0)
  expect_true(all(is.finite(predict(again, airquality, type = "response"))))
  for (answer in list(relevance(fit)$relevance, alc(fit, airquality[1:9, 2:4])$alc,
                    sens(fit, nns = 20, nME = 5, verb = 0)$MEmean))
    expect_true(all(is.finite(unlist(answer))))
})

test_that("gaps are left out or refused where they can be no inputs", {
  d <- airquality
  fit <- dynaTree(Ozone ~ Solar.R + Wind, data = d, N = 10, verb = 0)
  expect_identical(nobs(fit), sum(stats::complete.cases(d[, c("Ozone", "Solar.R", "Wind")])))
  expect_error(predict(fit, d), "XX must be finite; got NA in row 5")
  native()
  d$Wind[3] <- Inf
  expect_error(dynaTree(Ozone ~ Wind, data = d, N = 10, verb = 0),
               "X must be finite; got Inf in row 3.*missing values as NA")
  expect_error(dynaTree(as.matrix(d[, 2:4]), d$Ozone, N = 10, verb = 0), "must be finite")
  whole <- dynaTree(Ozone ~ Wind, data = airquality, N = 10, verb = 0,
                    na.action = stats::na.omit)
  expect_identical(nobs(whole), sum(!is.na(airquality$Ozone)))
})

test_that("columns of dates, times, logicals and text pass by a formula", {
  native()
  d <- data.frame(day = as.Date("2026-01-01") + 0:59, y = sin(0:59 / 10))
  d$time <- as.POSIXct(d$day, tz = "UTC")
  d$odd <- rep(c(TRUE, FALSE), 30)
  d$text <- rep(c("a", "b", NA), 20)
  fit <- dynaTree(y ~ ., data = d, N = 50, verb = 0)
  expect_true(all(is.finite(fit$X[, "day"])))
  expect_identical(sum(is.na(fit$X[, "textb"])), 20L)
  expect_true(all(is.finite(predict(fit, d, type = "response"))))
})

test_that("rows may retire with nothing left of them under native rules", {
  native()
  d <- rows()
  fit <- dynaTree(d$X, d$y, N = 30, verb = 0)
  fit <- retire(fit, 1:10, lambda = 0)
  expect_identical(nrow(fit$X), 50L)
  expect_true(all(is.finite(predict(fit, d$X)$mean)))
  expect_error(retire(fit, 1, lambda = -1), "^lambda must be in \\[0, 1\\]; got -1")
})
