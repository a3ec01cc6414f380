# The variables of a fit stay with it, whatever becomes of its data.

generic <- function(name) {
  if (nzchar(system.file(package = "generics"))) return(getExportedValue("generics", name))
  utils::getFromNamespace(paste0(name, ".dyntree"), "dyntree")
}

rows_of_all_kinds <- function(n = 40) {
  set.seed(8)
  d <- data.frame(x = runif(n), s = sample(c("a", "b"), n, TRUE), hours = runif(n, 1, 3),
                  g = factor(sample(c("u", "v"), n, TRUE), c("v", "u")), o = rnorm(n),
                  day = as.Date("2024-01-01") + seq_len(n), w = rep(c(1, 2, 0, 3), n / 4),
                  row.names = paste0("r", seq_len(n)))
  d$y <- d$x + d$o
  d$k <- rpois(n, 4 * d$hours)
  d$x[5] <- d$y[7] <- NA
  d
}

frames_of <- function(d) list(
  plain = dynaTree(log(y + 10) ~ x + s * g + day, d, N = 10, verb = 0),
  beside = dynaTree(y ~ x + offset(o), d, weights = w, offset = o / 2, N = 10, verb = 0),
  counts = dynaTree(k ~ x + offset(log(hours)), d, exposure = hours, model = "poisson", N = 10,
                    verb = 0),
  labels = dynaTree(g ~ x + s, d, N = 10, verb = 0),
  excludes = dynaTree(y ~ x + day, d, subset = o > -1, na.action = na.exclude, N = 10, verb = 0),
  pieces = dynaTree(y ~ poly(hours, 2) + s, d, N = 10, verb = 0))

# Without the warning of rows that na.exclude() left out.
augmented <- function(fit) suppressWarnings(generic("augment")(fit))

test_that("the frame of a fit is that of lm(), and stays when its data change or go", {
  native()
  d <- original <- rows_of_all_kinds()
  fits <- frames_of(d)
  frames <- lapply(fits, model.frame)
  answers <- lapply(fits, augmented)
  by_lm <- lm(log(y + 10) ~ x + s * g + day, d)
  ours <- dynaTree(log(y + 10) ~ x + s * g + day, d, na.action = na.omit, N = 10, verb = 0)
  expect_identical(model.frame(ours), model.frame(by_lm))
  expect_identical(row.names(frames$plain), row.names(d)[!is.na(d$y)])
  for (name in names(fits)) {
    fit <- fits[[name]]
    m <- frames[[name]]
    expect_identical(nrow(m), nrow(fit$X))
    if (fit$model != "class") expect_equal(unname(model.response(m)), fit$y)
    if (fit$model != "class") expect_identical(answers[[name]]$.fitted, predict(fit)$mean)
    expect_identical(row.names(answers[[name]]), row.names(m))
  }
  d <- d[order(d$x), ]
  expect_identical(lapply(fits, model.frame), frames)
  expect_identical(lapply(fits, augmented), answers)
  rm(d)
  expect_identical(lapply(fits, model.frame), frames)
  expect_identical(lapply(fits, augmented), answers)
  again <- unserialize(serialize(fits, NULL))
  for (name in names(fits))
    expect_equal(augmented(again[[name]]), answers[[name]], ignore_attr = TRUE)
  expect_identical(nrow(model.frame(fits$plain, data = original[1:9, ])), 8L)
})

test_that("the frame goes with the rows that are learned and retired", {
  native()
  d <- rows_of_all_kinds()
  fits <- frames_of(d)
  for (name in names(fits)) {
    fit <- fits[[name]]
    for (k in 1:3) fit <- retire(update(fit, d[k:(k + 6), ], verb = 0), c(2, 9))
    for (k in rep(which(d$w > 0), 3)) fit <- update(fit, d[k, ], verb = 0) # more than its parts
    fit <- retire(fit, 1:4)
    m <- model.frame(fit)
    expect_identical(nrow(m), nrow(fit$X), label = name)
    expect_identical(names(m), names(model.frame(fits[[name]])))
    expect_lt(length(attr(fit, "frames")), 66L)
    if (fit$model != "class") expect_equal(unname(model.response(m)), fit$y, label = name)
    else expect_identical(as.numeric(factor(model.response(m), c("v", "u"))), fit$y)
    X <- model.matrix(delete.response(terms(m)), m, contrasts.arg = attr(fit, "contrasts"))
    if (name == "beside") {
      expect_equal(m[["(weights)"]], fit$weights)
      expect_equal(m[["(offset)"]], m[["offset(o)"]] / 2)
    }
    if (name == "counts") expect_equal(m[["(exposure)"]]^2, fit$exposure)
    expect_equal(unname(X[, -1]), drop(unname(fit$X)), ignore_attr = TRUE, label = name)
    expect_equal(generic("augment")(fit)$.fitted, fitted(fit), ignore_attr = TRUE)
  }
  fit <- update(fits$beside, as.matrix(d[1:3, "x", drop = FALSE]), 1:3, weights = 1, offset = 0,
                verb = 0)
  expect_error(model.frame(fit), "learned as a matrix, without the variables .* Give data =")
  expect_named(generic("augment")(fit), c("x", ".fitted", ".lower", ".upper", ".resid"))
  expect_error(model.frame(dynaTree(d$hours, d$k, N = 5, verb = 0)), "has no formula")
})

test_that("a row that was learned twice has one name in all answers", {
  native()
  d <- rows_of_all_kinds()[c("x", "o", "y")]
  d$x[5] <- d$y[7] <- 0
  X <- as.matrix(d[c("x", "o")])
  by_formula <- update(dynaTree(y ~ x, d, N = 10, verb = 0), d[1:3, ], verb = 0)
  by_matrix <- update(dynaTree(X, d$y, N = 10, verb = 0), X[1:3, ], d$y[1:3], verb = 0)
  stream <- update(dyntree_stream(y ~ x, d, n_particles = 10, seed = 1), d[1:3, ])
  names <- c(row.names(d), "r1.1", "r2.1", "r3.1")
  for (fit in list(by_formula, by_matrix, stream)) {
    expect_named(fitted(fit), names)
    expect_named(residuals(fit), names)
    expect_identical(case.names(fit), names)
  }
  for (fit in list(by_formula, stream)) expect_identical(row.names(model.frame(fit)), names)
  for (fit in list(by_formula, by_matrix)) {
    expect_identical(row.names(generic("augment")(fit)), names)
    expect_identical(rownames(predict(fit, interval = "confidence")), names)
    expect_setequal(names(fitted(retire(fit, 1L))), c(row.names(d), "r2.1", "r3.1"))
  }
})
