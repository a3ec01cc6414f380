# What a user of lm() does with fits: cross-validation by update(), augment() after the data
# have changed, lapply() over formulas, another session, and a cluster of sessions. Each
# question is asked of lm(), too, and the form of its answer is compared.

library(dyntree)
options(dyntree.rules = "native", digits = 4, width = 80)
quiet <- function(...) dynaTree(..., N = 200, verb = 0)

# The form of an answer: its class and type, and the names of what it holds.
form <- function(x) list(class = setdiff(class(x), "lm"), dim = dim(x), names = names(x),
                         dimnames = dimnames(x),
                         parts = if (is.list(x) && !is.data.frame(x)) lapply(x, form))
same_form <- list()
ask <- function(name, question) {
  same <- identical(form(question(trees)), form(question(line)))
  same_form[[name]] <<- same
}

cars <- transform(mtcars, cyl = factor(cyl))
set.seed(1)
line <- lm(mpg ~ wt + hp + cyl, data = cars)
trees <- dynaTree(mpg ~ wt + hp + cyl, data = cars, model = "linear", N = 200, verb = 0)
new <- cars[c(30, 3, 12), ]

cat("# answers in the form of those of lm()\n")
ask("predict", function(fit) predict(fit, new, type = "response"))
ask("confidence", function(fit) predict(fit, new, interval = "confidence", level = 0.9))
ask("prediction", function(fit) predict(fit, new, interval = "prediction"))
ask("se.fit", function(fit) predict(fit, new, se.fit = TRUE)[c("fit", "se.fit")])
ask("fitted", fitted)
ask("residuals", residuals)
ask("model.frame", model.frame)
ask("formula", formula)
ask("nobs", nobs)
ask("coef", function(fit) coef(fit)[names(coef(fit)) != "(Intercept)"])
ask("sigma", sigma)
ask("deviance", deviance)
ask("case.names", case.names)
ask("terms", function(fit) attr(terms(fit), "term.labels"))
ask("refit", function(fit) formula(update(fit, . ~ . - hp)))
print(unlist(same_form))

cat("\n# cross-validation as caret does it, by update() of a fit that stays as it was\n")
set.seed(2)
start <- quiet(mpg ~ wt + hp, data = cars[1:12, ])
before <- predict(start, cars, type = "response")
folds <- split(13:32, rep(1:4, 5))
errors <- vapply(folds, FUN.VALUE = c(trees = 1, lm = 1), function(rows) {
  learned <- setdiff(13:32, rows)
  trees <- update(start, cars[learned, ], verb = 0)
  line <- update(lm(mpg ~ wt + hp, data = cars[1:12, ]), data = cars[c(1:12, learned), ])
  stopifnot(nobs(trees) == nobs(line))
  error <- function(fit) mean((predict(fit, cars[rows, ], type = "response") - cars$mpg[rows])^2)
  c(trees = error(trees), lm = error(line))
})
stopifnot(nobs(start) == 12L, identical(predict(start, cars, type = "response"), before))
print(sqrt(rowMeans(errors)))

cat("\n# augment() once the data are sorted, and once they are gone\n")
air <- airquality
set.seed(3)
ozone <- quiet(Ozone ~ Wind + Temp, data = air)
whole <- generics::augment(ozone)
air <- air[order(air$Temp), ]
stopifnot(identical(generics::augment(ozone), whole))
rm(air)
stopifnot(identical(generics::augment(ozone), whole),
          all.equal(whole$.resid, whole$Ozone - whole$.fitted))
print(head(whole, 3))

cat("\n# lapply() over formulas\n")
formulas <- list(weight = mpg ~ wt, both = mpg ~ wt + hp, all = mpg ~ .)
set.seed(4)
fits <- lapply(formulas, quiet, data = mtcars)
lines <- lapply(formulas, lm, data = mtcars)
stopifnot(identical(lapply(fits, formula), lapply(lines, formula)),
          identical(lapply(fits, function(fit) names(fitted(fit))),
                    lapply(lines, function(fit) names(fitted(fit)))))
print(vapply(fits, function(fit) c(logLik = c(logLik(fit)), sigma = sigma(fit)), numeric(2)))
print(do.call(anova, c(unname(fits[1]), fits[-1], repeats = 3))[c("logBF", "coverage")])

cat("\n# saveRDS() into another session\n")
file <- tempfile(fileext = ".rds")
script <- tempfile(fileext = ".R")
saveRDS(list(ozone = ozone, line = lm(Ozone ~ Wind + Temp, airquality)), file)
writeLines(c(
  "library(dyntree)",
  "fits <- readRDS(commandArgs(TRUE)[1])",
  "later <- data.frame(Ozone = c(20, 90), Wind = c(15, 5), Temp = c(60, 92))",
  "set.seed(5)",
  "more <- update(fits$ozone, later, verb = 0)",
  "answers <- lapply(fits, function(fit) predict(fit, later, interval = 'prediction'))",
  "saveRDS(list(answers, nobs(fits$ozone), nobs(more), model.frame(more),",
  "             generics::augment(fits$ozone)), commandArgs(TRUE)[1])"), script)
stopifnot(system2(file.path(R.home("bin"), "Rscript"), c(script, file)) == 0)
there <- readRDS(file)
later <- data.frame(Ozone = c(20, 90), Wind = c(15, 5), Temp = c(60, 92))
stopifnot(identical(there[[1]]$ozone, predict(ozone, later, interval = "prediction")),
          identical(dimnames(there[[1]]$ozone), dimnames(there[[1]]$line)),
          all.equal(there[[5]], whole, check.attributes = FALSE))
print(there[[1]]$ozone)
print(c(before = there[[2]], after = there[[3]], frame = nrow(there[[4]])))

cat("\n# a cluster of sessions, as parallel::makePSOCKcluster() starts them\n")
cluster <- parallel::makePSOCKcluster(2)
invisible(parallel::clusterEvalQ(cluster, library(dyntree)))
parallel::clusterExport(cluster, c("start", "cars"))
apart <- parallel::parLapply(cluster, folds, function(rows) {
  set.seed(6)
  fit <- update(start, cars[setdiff(13:32, rows), ], verb = 0)
  predict(fit, cars[rows, ], type = "response")
})
parallel::stopCluster(cluster)
here <- lapply(folds, function(rows) {
  set.seed(6)
  fit <- update(start, cars[setdiff(13:32, rows), ], verb = 0)
  predict(fit, cars[rows, ], type = "response")
})
stopifnot(identical(apart, here))
print(apart[[1]])
