test_that("formulas and factors pass", {
  d <- data.frame(y = rows()$y, a = rows()$X[, 1],
                  soil = factor(ifelse(rows()$X[, 2] > 0.5, "clay", "sand")))
  set.seed(1)
  by_formula <- dynaTree(y ~ a + soil, data = d, N = 30, verb = 0)
  X <- cbind(a = d$a, soilsand = as.numeric(d$soil == "sand"))
  set.seed(1)
  by_matrix <- dynaTree(X, d$y, N = 30, verb = 0)
  expect_identical(by_formula$lpred, by_matrix$lpred)
  expect_identical(colnames(by_formula$X), c("a", "soilsand"))
  expect_identical(predict(by_formula, d[1:3, ])$mean, predict(by_matrix, X[1:3, ])$mean)
  expect_identical(nrow(update(by_formula, d[1:3, ], d$y[1:3])$X), 63L)
  classes <- dynaTree(soil ~ a, data = d, model = "class", N = 30, verb = 0)
  expect_identical(classes$y, as.numeric(d$soil))
  classes <- update(classes, d[1:2, ], d$soil[1:2])
  expect_error(update(classes, d[1, ], "loam"), "y must hold labels of the fit")
  subset <- dynaTree(y ~ a, data = d, subset = a > 0.5, N = 30, verb = 0)
  expect_identical(nrow(subset$X), sum(d$a > 0.5))
})

soils <- function(n = 60) {
  d <- rows(n)
  data.frame(y = d$y, a = d$X[, 1], b = d$X[, 2],
             soil = factor(rep(c("clay", "loam", "sand"), length.out = n)))
}

test_that("what a formula or a call asks for is done or refused", {
  d <- soils()
  tree <- function(formula, ...) dynaTree(formula, d, N = 10, verb = 0, ...)
  expect_error(tree(y ~ a + offset(b)), "no offset; options\\(dyntree.rules = \"native\"\\) has")
  expect_error(tree(y ~ offset(log(b)) + a, model = "linear"), "R's rules have no offset")
  expect_error(tree(y ~ a, offset = b), "R's rules have no offset")
  expect_error(tree(y ~ a, weights = b), "R's rules have no weights")
  expect_identical(dynaTree(formula = y ~ a, data = d, N = 5, verb = 0)$y, d$y)
  expect_error(dynaTree(X = y ~ a, data = d), "formula must come first, or as formula")
  expect_error(dynaTrees(y ~ a, d$y), "got a formula, which only dynaTree\\(\\) takes")
  fit <- tree(y ~ a + soil)
  expect_error(predict(fit, d[1:2, ], df = 3), "unused argument \\(df\\)")
  expect_identical(predict(fit, newdata = d[1:2, ])$mean, predict(fit, d[1:2, ])$mean)
  expect_error(predict(fit, d[1:2, ], newdata = d), "XX or newdata, not both")
  expect_error(coef(fit, d[1:2, ], type = "all"), "unused argument \\(type\\)")
  expect_error(update(fit, d[1:2, ], 1:2, weights = 1:2), "R's rules have no weights")
  expect_identical(nrow(update(fit, d[1, ], 1)$X), 61L) # which it has not learned before
})

test_that("without an intercept a factor has a column a level", {
  d <- soils()
  fit <- dynaTree(y ~ soil - 1, d, N = 10, verb = 0)
  expect_identical(colnames(fit$X), c("soilclay", "soilloam", "soilsand"))
  expect_length(predict(fit, d[1:5, ])$mean, 5L)
  linear <- function(formula, ...)
    dynaTree(formula, d, N = 10, model = "linear", verb = 0, ...)
  expect_warning(linear(y ~ 0 + a + b), "leaves out the intercept.*icept = \"none\"")
  expect_silent(linear(y ~ 0 + a + b, icept = "none"))
  expect_silent(dynaTree(y ~ a - 1, d, N = 10, verb = 0))
})

test_that("new rows are read as those of the fit were", {
  d <- soils()
  fit <- dynaTree(y ~ a + soil, d, N = 30, verb = 0)
  asked <- data.frame(a = c(0.2, 0.4, 0.6), soil = c("clay", "loam", "sand"))
  answer <- predict(fit, asked)
  old <- options(contrasts = c("contr.sum", "contr.poly"))
  on.exit(options(old))
  expect_identical(predict(fit, asked)$XX, answer$XX)
  options(old)
  asked$a <- factor(asked$a)
  expect_error(predict(fit, asked), "'a' was fitted with type \"numeric\".*\"factor\"")
  asked <- data.frame(a = c("low", "high", "low"), soil = asked$soil)
  expect_error(update(fit, asked, 1:3), "'a' was fitted with type \"numeric\"")
  contrasts(d$soil) <- contr.sum(3)
  fit <- dynaTree(y ~ soil, d, N = 30, verb = 0)
  expect_identical(unname(predict(fit, asked)$XX), unname(fit$X[1:3, ]))
})

test_that("the codes of a factor are classes and no numbers", {
  d <- soils()
  for (model in c("constant", "linear")) {
    expect_error(dynaTree(soil ~ a, d, model = model, verb = 0), "y is a factor")
    expect_error(dynaTree(d$a, d$soil, model = model, verb = 0), "y is a factor")
    expect_error(dynaTrees(d$a, d$soil, model = model), "y is a factor")
    fit <- dynaTree(d$a, d$y, N = 10, model = model, verb = 0)
    expect_error(update(fit, 0.5, factor(9)), "y is a factor")
  }
  fit <- dynaTree(d$a, d$soil, N = 10, model = "class", verb = 0)
  few <- factor(c("loam", "sand")) # of codes 1, 2
  expect_identical(predict(fit, c(0.1, 0.2), yy = few)$yypred,
                   predict(fit, c(0.1, 0.2), yy = c(2, 3))$yypred)
  expect_identical(update(fit, c(0.1, 0.2), few)$y[61:62], c(2, 3))
  several <- function(yy) {
    set.seed(3)
    dynaTrees(d$a, d$soil, N = 10, R = 2, model = "class", XX = c(0.1, 0.2), yy = yy,
              verb = 0, pverb = 0)$yypred
  }
  expect_identical(several(few), several(c(2, 3)))
})

test_that("the response among the inputs is dropped with a warning, as by lm()", {
  d <- data.frame(x = runif(30), z = runif(30))
  d$y <- d$x + rnorm(30, 0, 0.1)
  by_environment <- function(face) {
    x <- d$x
    y <- d$y
    face(y ~ y + x)
  }
  said <- "the response appeared on the right-hand side and was dropped"
  suppressWarnings(expect_warning(lm(y ~ y + x, d), said))
  for (rules in c("r", "native")) {
    old <- options(dyntree.rules = rules)
    faces <- list(function(...) dynaTree(..., N = 5, verb = 0),
                  function(...) dyntree_stream(..., n_particles = 5, seed = 1),
                  function(...) dyntree_average(..., n_particles = 5, n_clouds = 2, seed = 1))
    for (face in faces) {
      expect_warning(fit <- face(y ~ y * x + z, d), paste0(said, ": y, y:x$"))
      expect_equal(formula(fit), y ~ x + z, ignore_attr = TRUE)
      expect_length(predict(fit, d[1:4, c("x", "z")], type = "response"), 4L)
      expect_identical(names(model.frame(fit)), c("y", "x", "z"))
      expect_warning(fit <- by_environment(face), said)
      expect_identical(variable.names(fit), "x")
      expect_error(expect_warning(face(y ~ y, d), said), "formula must have an input; got y ~ 1")
      expect_silent(face(log(y + 9) ~ y + x, d)) # which lm() fits, too
    }
    options(old)
  }
})

test_that("a formula behind the data says that it comes first", {
  d <- data.frame(x = 1:30, y = (1:30)^2)
  faces <- list(dynaTree = dynaTree, dyntree_stream = dyntree_stream,
                dyntree_average = dyntree_average, dp_gmm = dp_gmm)
  for (rules in c("r", "native")) {
    old <- options(dyntree.rules = rules)
    for (name in names(faces))
      expect_error(faces[[name]](d, y ~ x),
                   paste0("the formula must come first, ", name, "(formula, data); got it as"),
                   fixed = TRUE)
    expect_error(dynaTrees(d, y ~ x), "a formula, which only dynaTree() takes", fixed = TRUE)
    options(old)
  }
})
