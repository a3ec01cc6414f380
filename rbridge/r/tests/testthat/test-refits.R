test_that("a formula in update() refits, and rows are learned", {
  native()
  set.seed(1)
  fit <- dynaTree(mpg ~ wt + hp + cyl, mtcars, N = 20, verb = 0)
  expect_identical(getCall(fit)$data, quote(mtcars))
  fewer <- update(fit, . ~ . - cyl)
  expect_identical(colnames(fewer$X), c("wt", "hp"))
  expect_identical(nobs(fewer), 32L)
  expect_identical(update(fit, log(.) ~ ., N = 7)$N, 7L)
  expect_null(update(update(fit, weights = cyl), weights = NULL)$weights)
  expect_identical(update(fit, data = mtcars[1:20, ])$y, mtcars$mpg[1:20])
  expect_identical(update(fit, . ~ wt, evaluate = FALSE)$formula, mpg ~ wt,
                   ignore_formula_env = TRUE)
  options(dyntree.rules = "r")
  expect_identical(update(fit, . ~ wt)$rules, "native")
  expect_identical(getOption("dyntree.rules"), "r")
  more <- update(fit, mtcars[1:3, ]) # which has the response
  expect_identical(more$y, c(mtcars$mpg, mtcars$mpg[1:3]))
  logs <- dynaTree(log(mpg) ~ wt, mtcars, N = 5, verb = 0)
  new <- transform(mtcars[1:3, ], mpg = c(20, NA, 22))
  expect_equal(tail(update(logs, new)$y, 2), log(c(20, 22)))
  matrix_fit <- dynaTree(cars$speed, cars$dist, N = 5, verb = 0)
  expect_error(update(matrix_fit, . ~ .), "has no formula")
  expect_error(update(matrix_fit, cars), "y")
})

test_that("the frame of a fit is found again", {
  native()
  fit <- dynaTree(Ozone ~ log(Wind), airquality, subset = Temp > 70, N = 5, verb = 0)
  frame <- model.frame(fit)
  expect_identical(names(frame), c("Ozone", "log(Wind)"))
  expect_identical(nrow(frame), nobs(fit))
  expect_identical(nrow(model.frame(fit, data = airquality[1:50, ], subset = NULL)),
                   sum(!is.na(airquality$Ozone[1:50])))
})

test_that("answers have the names of the rows, and gaps where na.exclude() leaves them", {
  d <- airquality
  row.names(d) <- paste0("day", seq_len(nrow(d)))
  there <- stats::complete.cases(d[c("Ozone", "Wind", "Solar.R")])
  tree <- function(...) dynaTree(Ozone ~ Wind + Solar.R, d, N = 10, verb = 0, ...)
  for (rules in c("r", "native")) {
    old <- options(dyntree.rules = rules)
    omits <- tree(na.action = na.omit)
    expect_named(fitted(omits), row.names(d)[there])
    excludes <- tree(na.action = na.exclude)
    for (answer in list(fitted(excludes), residuals(excludes),
                        predict(excludes, d, type = "r"))) {
      expect_named(answer, row.names(d))
      expect_identical(is.na(answer[!there & !is.na(d$Ozone)]),
                       !there[!there & !is.na(d$Ozone)], ignore_attr = TRUE)
    }
    expect_identical(rownames(predict(excludes, d, type = "quantile")), row.names(d))
    expect_identical(predict(excludes, d[1:9, ], type = "response", na.action = na.omit),
                     predict(excludes, stats::na.omit(d[1:9, 1:3]), type = "response"))
    expect_equal(residuals(excludes)[["day1"]], d$Ozone[1] - fitted(excludes)[["day1"]])
    fewer <- retire(excludes, 1:2)
    expect_length(fitted(fewer), sum(there) - 2L)
    expect_identical(sort(names(residuals(fewer))), sort(row.names(d)[there][-(1:2)]))
    expect_error(tree(na.action = na.fail), "missing values")
    options(old)
  }
  native()
  expect_error(tree(na.action = na.pass), "y must be finite; got NA")
  expect_identical(tail(names(fitted(update(tree(), d[1:2, ]))), 2), c("day1.1", "day2.1"))
  labels <- dynaTree(Species ~ ., iris, N = 10, verb = 0)
  kinds <- predict(labels, iris[c(3, 90), ], type = "class")
  expect_identical(names(kinds), c("3", "90"))
  expect_identical(levels(kinds), levels(iris$Species))
  expect_identical(rownames(predict(labels, iris[c(3, 90), ], type = "prob")), c("3", "90"))
})

test_that("quantiles are those of any probabilities", {
  for (rules in c("r", "native")) {
    old <- options(dyntree.rules = rules)
    fit <- dynaTree(mpg ~ wt + hp, mtcars, N = 20, model = "linear", verb = 0)
    whole <- predict(fit, mtcars)
    answer <- predict(fit, mtcars[c("hp", "cyl", "wt")], type = "quantile",
                    probs = c(0.05, 0.5, 0.95))
    expect_equal(unname(answer[, c(1, 3)]), unname(cbind(whole$q1, whole$q2)))
    expect_equal(unname(answer[, 2]), whole$mean)
    expect_identical(colnames(answer), c("5%", "50%", "95%"))
    expect_error(predict(fit, mtcars, type = "quantile", probs = 1), "between 0 and 1")
    options(old)
  }
  native()
  d <- events()
  fit <- dynaTree(k ~ a, d, N = 20, model = "negbin", exposure = hours, verb = 0)
  answer <- predict(fit, d, type = "quantile", probs = c(0.05, 0.95))
  expect_identical(unname(answer), unname(with(predict(fit, d), cbind(q1, q2))))
})

test_that("summaries say what was fitted and how well", {
  fit <- dynaTree(mpg ~ wt + hp, mtcars, N = 20, icept = "augmented", model = "linear",
                  verb = 0)
  answer <- summary(retire(fit, 1:2))
  expect_length(answer$residuals, 30L)
  shown <- capture.output(print(answer))
  expect_match(shown[1:2], "^Call:$|^dynaTree\\(formula = mpg ~ wt \\+ hp, data = mtcars")
  text <- paste(shown, collapse = "\n")
  for (part in c("Residuals at the active rows:\n +Min +1Q +Median +3Q +Max", "\nwt +[01]",
                 "avgheight avgleaves", "linear leaves, 20 particles, 30 active rows, 2 retired",
                 "Log evidence: -[0-9.]+$"))
    expect_match(text, part)
  labels <- dynaTree(Species ~ ., iris, model = "class", N = 10, verb = 0)
  expect_output(print(summary(labels)), "Share of labels misclassified at the active rows: 0")
  several <- dynaTrees(cars$speed, cars$dist, N = 5, R = 2, verb = 0, pverb = 0)
  expect_output(print(summary(several)), "in 2 repeats.*Log evidence: -[0-9.]+ -[0-9.]+")
})

test_that("fits are tidied, glanced at and augmented as broom has it", {
  native()
  fit <- dynaTree(mpg ~ wt + hp, mtcars, N = 20, verb = 0)
  generic <- function(name) {
    if (nzchar(system.file(package = "generics"))) return(getExportedValue("generics", name))
    utils::getFromNamespace(paste0(name, ".dyntree"), "dyntree")
  }
  answer <- generic("tidy")(fit)
  expect_identical(answer$term, c("wt", "hp"))
  expect_identical(answer$use, unname(summary(fit)$inputs["use", ]))
  glanced <- generic("glance")(fit)
  expect_identical(dim(glanced), c(1L, 9L))
  expect_equal(glanced$logLik, as.numeric(logLik(fit)))
  rows <- generic("augment")(fit)
  expect_identical(row.names(rows), row.names(mtcars))
  expect_equal(rows$mpg, rows$.fitted + rows$.resid)
  expect_true(all(rows$.lower < rows$.fitted, rows$.fitted < rows$.upper))
  new <- generic("augment")(fit, newdata = mtcars[1:2, c("hp", "wt")])
  expect_identical(names(new), c("hp", "wt", ".fitted", ".lower", ".upper"))
  expect_identical(generic("augment")(fit, data = mtcars)$.resid, rows$.resid)
  matrix_fit <- dynaTree(cbind(a = cars$speed), cars$dist, N = 5, verb = 0)
  expect_identical(names(generic("augment")(matrix_fit)),
                   c("a", ".fitted", ".lower", ".upper", ".resid"))
  labels <- dynaTree(Species ~ ., iris, N = 10, verb = 0)
  expect_true(all(generic("augment")(labels)$.prob > 1 / 3))
})
