# Fits that are values: what a call changes is in what it returns.

# How often Python copies a cloud or makes one again while R runs some code.
copies_in <- function(code) {
  reticulate::py_run_string("
import rbridge.guest as guest
copied = []
def counting(function):
    return lambda *given, **named: copied.append(1) or function(*given, **named)
before = guest.rmirror.copy, guest.checkpoint.loads
guest.rmirror.copy, guest.checkpoint.loads = map(counting, before)
")
  on.exit(reticulate::py_run_string("guest.rmirror.copy, guest.checkpoint.loads = before"))
  force(code)
  reticulate::py_eval("len(copied)")
}

values <- function() {
  d <- events(60)
  d$y <- d$a + d$b
  d$kind <- factor(ifelse(d$b > 0.5, "u", "v"))
  row.names(d) <- paste0("r", seq_len(60))
  set.seed(2)
  fits <- list(
    plain = dynaTree(y ~ a + b, d[1:40, ], N = 20, verb = 0),
    linear = dynaTree(y ~ a + b, d[1:40, ], N = 20, model = "linear", icept = "augmented",
                      verb = 0),
    labels = dynaTree(kind ~ a, d[1:40, ], model = "class", N = 20, verb = 0))
  if (getOption("dyntree.rules", "r") == "native")
    fits <- c(fits, list(
      matrix = dynaTree(as.matrix(d[1:40, c("a", "b")]), d$y[1:40], N = 20, verb = 0),
      counts = dynaTree(k ~ a, d[1:40, ], exposure = hours, model = "negbin", N = 20, verb = 0),
      beside = dynaTree(y ~ a + offset(b), d[1:40, ], weights = hours, N = 20, verb = 0)))
  list(fits = fits, d = d)
}

more <- function(fit, d, at = 41:60) {
  if (is.null(attr(fit, "formula"))) update(fit, as.matrix(d[at, c("a", "b")]), d$y[at], verb = 0)
  else update(fit, d[at, ], verb = 0)
}

verbs <- list(
  update = more,
  retire = function(fit, d) retire(fit, c(1, 7, 9)),
  rejuvenate = function(fit, d) rejuvenate(fit, verb = 0),
  alcX = function(fit, d) if (fit$model %in% c("constant", "linear")) alcX(fit) else fit,
  entropyX = function(fit, d) if (fit$model == "class") dyntree:::entropyX(fit) else fit,
  copy = function(fit, d) more(copy(fit), d),
  deletecloud = function(fit, d) deletecloud(copy(fit)))

apart <- function(fit) { # without what is identical in one session alone
  fit <- plain(fit)
  attr(fit, "terms") <- attr(fit, "formula") <- attr(fit, "frames") <- NULL
  fit
}

# All that can be asked of a fit, and what it is after more rows.
asked_of <- function(fit, d) {
  set.seed(5)
  later <- more(retire(fit, 3), d, 50:55)
  criterion <- if (fit$model %in% c("constant", "linear")) 
    alcX(fit, matrix(c(0, 2), ncol(dyntree:::active_rows(fit)), 2, byrow = TRUE))$alcX
  list(apart(fit), apart(predict(fit)), nobs(fit), treestats(fit), fitted(fit), apart(later),
       apart(predict(later)), criterion)
}

test_that("no verb changes the fit that it is given", {
  native() # whose end puts the option back
  for (rules in c("native", "r")) {
    options(dyntree.rules = rules)
    all <- values()
    for (name in names(all$fits)) for (verb in names(verbs)) {
      fit <- all$fits[[name]]
      label <- paste(rules, name, verb)
      set.seed(3)
      first <- verbs[[verb]](fit, all$d)
      answers <- asked_of(fit, all$d)
      set.seed(3)
      again <- verbs[[verb]](fit, all$d)
      expect_identical(asked_of(fit, all$d), answers, label = label)
      set.seed(3)
      fresh <- verbs[[verb]](unserialize(serialize(fit, NULL)), all$d)
      if (is.null(first)) next # of deletecloud()
      expect_identical(asked_of(again, all$d), asked_of(first, all$d), label = label)
      expect_identical(asked_of(fresh, all$d), asked_of(first, all$d), label = label)
    }
  }
})

test_that("cross-validation by update() learns no rows of other folds", {
  native()
  set.seed(1)
  fit <- dynaTree(mpg ~ wt + hp, mtcars[1:22, ], N = 20, verb = 0)
  at_first <- fitted(fit)
  learned <- lapply(23:32, function(k) update(fit, mtcars[k, ], verb = 0))
  expect_identical(vapply(learned, nobs, 1L), rep(23L, 10))
  expect_identical(vapply(learned, function(one) nrow(predict(one)$XX), 1L), rep(23L, 10))
  expect_identical(fitted(fit), at_first)
  expect_identical(nobs(fit), 22L)
})

test_that("a loop that has one fit copies no cloud, and one that has more copies one each", {
  native()
  all <- values()
  d <- all$d
  for (name in names(all$fits)) {
    fit <- first <- all$fits[[name]]
    all$fits[[name]] <- NULL
    expect_identical(copies_in(for (k in 41:60) {
      fit <- retire(more(fit, d, k), 1)
      predict(fit)
    }), 0L)
    expect_identical(copies_in(predict(first)), 1L) # it is made again
    expect_identical(copies_in(predict(first)), 0L)
    expect_identical(copies_in(several <- lapply(41:45, function(k) more(first, d, k))), 5L)
    expect_identical(copies_in(for (one in several) more(one, d, 46)), 0L)
    twin <- copy(fit)
    expect_identical(copies_in(list(predict(twin), predict(fit))), 0L)
    expect_identical(copies_in(twin <- more(twin, d, 41)), 1L)
    expect_identical(copies_in(twin <- more(twin, d, 42)), 0L)
    expect_identical(copies_in(fit <- more(fit, d, 42)), 0L) # nobody else has its cloud
    twin <- copy(fit)
    rm(twin)
    gc()
    expect_identical(copies_in(fit <- more(fit, d, 43)), 0L)
  }
})

test_that("models of streams are made again once, and copied then", {
  d <- mixed_rows()
  fit <- dyntree_stream(y ~ x + g, d[1:80, ], n_particles = 20, seed = 1)
  before <- predict(fit, d)
  for (k in 1:3) {
    after <- update(fit, d[81:100, ])
    expect_identical(nobs(after), 100L)
    expect_identical(predict(fit, d), before)
    if (k > 1) expect_identical(predict(after, d), later)
    later <- predict(after, d)
  }
  expect_identical(copies_in(for (k in 1:3) after <- update(after, d[81:90, ])), 0L)
})

test_that("a fit whose update failed or warned goes on as it was", {
  native()
  all <- values()
  d <- all$d
  for (fit in list(all$fits$plain, { update(all$fits$linear, d[41, ], verb = 0); all$fits$linear })) {
    answers <- asked_of(fit, d)
    expect_error(update(fit, transform(d[41:42, ], a = Inf), verb = 0), "finite")
    expect_error(retire(fit, 1000), "indices")
    expect_identical(asked_of(fit, d), answers)
  }
  deletecloud(fit)
  expect_error(predict(fit), "is not allocated")
})

test_that("objects of R's rules share a cloud as those of R's dynaTree do", {
  fit <- fitted_tree()
  after <- update(fit, rows(5)$X, rows(5)$y, verb = 0)
  expect_identical(treestats(fit), treestats(after))
})

test_that("a response of numbers as text chooses no model of labels", {
  before <- options(dyntree.rules = "native")
  on.exit(options(before))
  set.seed(2)
  d <- data.frame(x = runif(40), y = format(runif(40), digits = 3))
  small <- function(...) dynaTree(..., N = 5, verb = 0)
  for (fit in list(small, dyntree_stream, dyntree_average)) {
    expect_error(fit(y ~ x, d), "reads as a number. Convert it by as.numeric()",
                 fixed = TRUE)
    expect_silent(fit(y ~ x, transform(d, y = rep(c("007", "12"), 20))))
    expect_silent(fit(y ~ x, d, model = "class"))
    expect_silent(fit(y ~ x, transform(d, y = factor(y))))
  }
})

test_that("columns of text that hold dates or numbers are named once", {
  before <- options(dyntree.rules = "native")
  on.exit(options(before))
  set.seed(4)
  d <- data.frame(x = runif(60), y = runif(60),
                  day = format(as.Date("2024-01-01") + 0:59 %% 12),
                  age = c("?", as.character(1:59 / 4)))
  small <- function(...) dynaTree(..., N = 5, verb = 0)
  frames <- function(formula, d) small(d[all.vars(formula)[-1L]], d$y)
  for (fit in list(small, frames, dyntree_stream, dyntree_average)) {
    expect_warning(fit(y ~ x + day, d),
                   "column \"day\" holds dates .* as text.*\\(as.Date, as.POSIXct\\)")
    expect_warning(fit(y ~ x + age, d),
                   "numbers as text, such as \"0.25\", but also \"\\?\".* name them: ")
    expect_silent(fit(y ~ x + day, transform(d, day = factor(day))))
    expect_silent(fit(y ~ x + day, transform(d, day = as.Date(day))))
    expect_silent(fit(y ~ x + day, transform(d, day = rep(c("u", "v", "w"), 20))))
  }
})
