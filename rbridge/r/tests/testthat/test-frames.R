mixed <- function(n = 40) {
  set.seed(2)
  data.frame(soil = factor(rep(c("clay", "loam"), length.out = n), c("clay", "loam", "silt")),
             size = factor(rep(c("low", "mid", "high", "high"), length.out = n),
                           c("low", "mid", "high"), ordered = TRUE),
             text = rep(c("p", "q", NA, "r"), length.out = n),
             wet = rep(c(TRUE, FALSE), length.out = n), day = as.Date("2026-01-01") + seq_len(n),
             time = as.POSIXct("2026-01-01", tz = "UTC") + seq_len(n),
             z = c(NA, runif(n - 1)))
}

test_that("a frame of any columns is coded as a formula codes it, also later", {
  native()
  d <- mixed()
  y <- sin(seq_len(40)) + d$wet
  set.seed(1)
  fit <- dynaTree(d, y, N = 20, verb = 0)
  set.seed(1)
  by_formula <- dynaTree(y ~ ., data.frame(y, d), N = 20, verb = 0)
  expect_identical(fit$X, by_formula$X)
  expect_identical(colnames(fit$X), c("soilloam", "soilsilt", "size.L", "size.Q", "textq", "textr",
                                      "wetTRUE", "day", "time", "z"))
  expect_identical(sum(is.na(fit$X[, "textq"])), 10L)
  expect_identical(fit$X[1:2, "day"], c(day = 20455, day = 20456), ignore_attr = TRUE)
  some <- d[5:2, rev(names(d))] # by name, of columns in another order
  some$more <- 1
  expect_identical(predict(fit, some)$XX[, "z"], d$z[5:2])
  expect_identical(predict(fit, some)$mean, predict(fit, d[5:2, ])$mean)
  expect_identical(update(copy(fit), some, 1:4)$X[41:44, ], fit$X[5:2, ])
  expect_identical(unname(predict(fit, unname(fit$X[2:5, ]))$mean),
                   predict(fit, d[2:5, ])$mean)
  expect_error(formula(fit), "has no formula")
  file <- tempfile()
  saveRDS(fit, file)
  expect_identical(predict(readRDS(file), d)$mean, predict(fit, d)$mean)
  several <- dynaTrees(d, y, N = 5, R = 2, XX = some, verb = 0, pverb = 0)
  expect_identical(colnames(several$XX), colnames(fit$X))
})

test_that("what a frame of the fit cannot be is refused", {
  native()
  d <- mixed()
  fit <- dynaTree(d, seq_len(40) / 9, N = 5, verb = 0)
  before <- predict(fit, d)$mean
  expect_error(predict(fit, transform(d, soil = "mud")), 
               "column \"soil\" of XX must hold levels .*, \"clay\", .* got \"mud\" in row 1[.] Leave")
  expect_error(update(fit, transform(d, text = "s"), 1:40), 
               "column \"text\" of X must hold levels .* got \"s\" in row 1[.]")
  expect_error(predict(fit, d[c("soil", "z")]), "the columns of the fit; it has no size")
  expect_error(predict(fit, transform(d, z = "a")), "'z' was fitted with type \"numeric\"")
  d$list <- as.list(1:40)
  expect_error(dynaTree(d, 1:40), "X must hold numbers.*column list is a list")
  expect_error(dynaTree(data.frame(a = 1:9, b = "u"), 1:9), "two levels or more; b has 1")
  expect_identical(predict(fit, mixed())$mean, before)
  options(dyntree.rules = "r")
  expect_error(dynaTree(mixed(), 1:40), "column \"soil\" is a factor.*dyntree.rules = \"native\"")
})

test_that("a new level is named with its row and with what helps, under both rules", {
  d <- mixed()
  d$y <- seq_len(40) / 9
  helps <- c(native = "give NA, or fit with a factor", r = "or fit with rows that have it")
  for (rules in names(helps)) {
    old <- options(dyntree.rules = rules)
    linear <- dynaTree(y ~ factor(soil) + text + z, d, model = "linear", N = 5, verb = 0)
    new <- data.frame(soil = c("loam", "mud"), text = "u", z = 1, row.names = c("a", "b"))
    for (ask in list(predict, coef, function(fit, X) update(fit, X, 1:2), alc, qEI))
      expect_error(ask(linear, new),
                   paste0("column \"factor[(]soil[)]\".*got \"mud\" in row \"b\"[.] .*",
                          helps[[rules]]))
    options(old)
  }
})

test_that("levels that are declared and do not occur are known under native rules", {
  native()
  d <- mixed()
  d$y <- seq_len(40) / 9
  silt <- transform(d[1:20, ], soil = factor("silt", levels(d$soil)), y = 50)
  first <- d[d$soil == "clay", ] # one level of three
  for (one in list(dynaTree(y ~ soil, d, N = 20, verb = 0), dynaTree(d["soil"], d$y, N = 20, verb = 0),
                   dynaTree(first["soil"], first$y, N = 20, verb = 0))) {
    expect_identical(colnames(one$X), c("soilloam", "soilsilt"))
    clay <- transform(silt, soil = factor("clay", levels(d$soil)))
    expect_identical(predict(one, silt)$mean, predict(one, clay)$mean) # until it is learned
    after <- update(one, silt, silt$y, verb = 0)
    expect_lt(max(abs(predict(after, silt)$mean - 50)), 5)
    expect_error(predict(one, transform(silt, soil = "mud")), "got \"mud\" in row 1[.]")
  }
  seen <- transform(d, soil = droplevels(soil))
  fits <- lapply(list(d, seen), function(rows) {
    set.seed(4)
    dynaTree(y ~ soil + z, rows, model = "constant", N = 20, verb = 0)
  })
  expect_identical(fits[[1]]$lpred, fits[[2]]$lpred) # no split is on a level without rows
  labels <- dynaTree(soil ~ z, d, subset = !is.na(z), model = "class", N = 5, verb = 0)
  expect_identical(colnames(predict(labels, d[2:3, ], type = "prob")),
                   c("clay", "loam", "silt"))
  options(dyntree.rules = "r")
  expect_identical(colnames(dynaTree(y ~ soil, d, N = 5, verb = 0)$X), "soilloam")
})
