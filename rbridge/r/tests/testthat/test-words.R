# Every function with every argument given what it may not be, under both rules: what is
# said is in R's words and names the argument, and the object is as it was.

unfit <- list(
  missing = NA, nothing = NULL, negative = -1, half = 0.5, many = 1:7, infinite = Inf,
  text = "loam", texts = c("a", NA), factor = factor(c("a", "b")), list = list(1, "a"),
  flag = TRUE, none = numeric(0), complex = 1i, fun = sum,
  frame = data.frame(a = "u", b = 1), date = as.Date("2026-01-01"),
  matrix = matrix(NA_real_, 2, 2), huge = 1e300)

words_of_python <- paste0(
  "\\b(nan|None|True|False|ndarray|DataFrame|dtype|int|ints|float|floats|str|bool|dict|",
  "tuple|array|np|NoneType|numpy|pandas|Series|float64|int64|object_|TypeError|",
  "ValueError|(got|of|have) shape|argument '\\w+'|positional|keyword|n_particles|min_leaf|",
  "tree_prior)\\b|(?<!in )\\[\\d|'\\w+'|\\b\\w+='|",
  "\\d\\.0\\b|<NA>|Turn text|lambda_|\\bcls\\b|sample_weight|rules=")

# What a call says, NULL if it finds nothing wrong.
said <- function(call, env) {
  heard <- NULL
  tryCatch(
    withCallingHandlers(utils::capture.output(eval(call, env)), warning = function(w) {
      heard <<- c(heard, conditionMessage(w))
      invokeRestart("muffleWarning")
    }),
    error = function(e) heard <<- c(heard, conditionMessage(e)))
  heard
}

# Calls that are right, of each function; each argument is then made wrong.
calls <- alist(
  dynaTree = dynaTree(X = X, y = y, N = 5, model = "constant", nu0s20 = c(0, 0),
                      ab = c(0.9, 2), minp = 3, sb = NULL, nstart = 5, icept = "implicit",
                      rprop = "luvar", verb = 0),
  dynaTrees = dynaTrees(X = X, y = y, N = 5, R = 2, sub = 30, model = "constant",
                        nu0s20 = c(0, 0), ab = c(0.9, 2), minp = 3, sb = NULL,
                        nstart = 5, icept = "implicit", rprop = "luvar", XX = NULL,
                        yy = NULL, varstats = FALSE, lhs = NULL, plotit = FALSE,
                        rorder = TRUE, verb = 0, pverb = 0),
  predict = predict(fit, XX = X[1:3, ], yy = 1:3, quants = TRUE, ei = FALSE,
                    verb = 0, exposure = NULL, type = "response",
                    offset = NULL, na.action = NULL),
  quantile = predict(fit, XX = X[1:3, ], type = "quantile", probs = 0.5),
  update = update(copy(fit), X = X[1:2, ], y = 1:2, verb = 0, exposure = NULL,
                  weights = NULL, offset = NULL),
  coef = coef(linear, XX = X[1:3, ], verb = 0),
  alc = alc(fit, XX = X[1:3, ], rect = NULL, categ = NULL, approx = FALSE,
            Xref = NULL, probs = NULL, verb = 0),
  alcX = alcX(copy(fit), rect = NULL, categ = NULL, approx = FALSE, verb = 0),
  qEI = qEI(fit, XX = X[1:3, ], q = 0, alpha = 2, verb = 0),
  qEntropy = qEntropy(fit, XX = X[1:3, ], q = 0, verb = 0),
  sens = sens(fit, class = NULL, nns = 10, nME = 5, span = 0.3, method = "lhs",
              lhs = NULL, categ = NULL, verb = 0),
  relevance = relevance(fit, rect = NULL, categ = NULL, approx = FALSE, verb = 0),
  retire = retire(copy(fit), indices = 1:2, lambda = 0.9, verb = 0),
  rejuvenate = rejuvenate(copy(fit), odr = 60:1, verb = 0),
  intervals = dyntree:::intervals(fit, index = 1, var = 1),
  ieci = dyntree:::ieci(fit, XX = X[1:3, ], Xref = NULL, probs = NULL, verb = 0),
  sameleaf = dyntree:::sameleaf(fit, X = X[1:3, ]),
  classprobs = dyntree:::classprobs(labelled, class = 1, XX = X[1:3, ],
                                    output = "p", verb = 0),
  entropyX = dyntree:::entropyX(copy(labelled), verb = 0),
  alcalc = alcalc(predict(fit, X[1:3, ]), method = "alm", prec = 1),
  getBF = getBF(obj1 = fit, obj2 = fit),
  plot = plot(predict(fit, X[1:3, ]), proj = 1, add = FALSE, ptype = "each")
)

native_calls <- alist(
  dynaTree = dynaTree(X = X, y = y, N = 5, weights = y^2, offset = y, verb = 0),
  counts = dynaTree(X = X, y = k, N = 5, model = "poisson", exposure = 1, offset = y,
                    weights = 1, verb = 0),
  update = update(copy(counted), X = X[1:2, ], y = 1:2, exposure = 1, weights = 1,
                  offset = 1, verb = 0),
  predict = predict(counted, XX = X[1:2, ], yy = 1:2, quants = TRUE, exposure = 1,
                    offset = 1, type = "quantile", probs = 0.5),
  shifted = predict(shifted, XX = X[1:2, ], yy = 1:2, ei = FALSE, offset = 1),
  more = update(copy(shifted), X = X[1:2, ], y = 1:2, offset = 1, weights = 1:2, verb = 0)
)

test_that("what an argument may not be is said in R's words", {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  d <- rows()
  env <- new.env()
  env$X <- d$X
  env$y <- d$y
  env$k <- rep(0:3, 15)
  for (rules in c("r", "native")) {
    old <- options(dyntree.rules = rules)
    on.exit(options(old), add = TRUE)
    set.seed(7)
    env$fit <- dynaTree(d$X, d$y, N = 5, verb = 0)
    env$labelled <- dynaTree(d$X, 1 + (d$y > 1), N = 5, model = "class", verb = 0)
    env$linear <- dynaTree(d$X, d$y, N = 5, model = "linear", verb = 0)
    before <- predict(env$fit, d$X)$mean
    bad <- character()
    if (rules == "native") {
      calls <- c(calls, native_calls)
      env$counted <- dynaTree(d$X, env$k, N = 5, model = "poisson", weights = 1, verb = 0)
      env$shifted <- dynaTree(d$X, d$y, N = 5, weights = 1:60, offset = d$X[, 1], verb = 0)
    }
    for (k in seq_along(calls)) {
      name <- names(calls)[k]
      call <- calls[[k]]
      expect_null(said(call, env))
      for (argument in setdiff(names(call), "")) for (kind in names(unfit)) {
        wrong <- call
        wrong[argument] <- list(unfit[[kind]])
        heard <- said(wrong, env)
        named <- paste0("\\b(", paste(setdiff(names(call), ""), collapse = "|"), ")\\b")
        odd <- grepl(words_of_python, heard, perl = TRUE) | !grepl(named, heard)
        if (any(odd)) bad <- c(bad, paste0(rules, ": ", name, "(", argument, " = <", kind,
                                           ">): ", heard[odd]))
      }
    }
    expect_identical(bad, character())
    expect_identical(predict(env$fit, d$X)$mean, before)
  }
})

test_that("messages call columns by their names, and offer what helps", {
  native()
  d <- data.frame(`my x` = rows()$X[, 1], y = rows()$y, check.names = FALSE)
  fit <- dynaTree(y ~ `my x`, d, N = 5, verb = 0)
  expect_error(predict(fit, data.frame(`my x` = Inf, check.names = FALSE)), "column \"my x\"\\.")
  by_frame <- dynaTree(d["my x"], d$y, N = 5, verb = 0)
  for (x in list("a", as.Date("2026-01-01")))
    expect_error(predict(by_frame, data.frame(`my x` = x, check.names = FALSE)),
                 "column \"my x\" is .*, which options\\(dyntree.rules")
  expect_error(predict(by_frame, data.frame(`my x` = 1i, check.names = FALSE)),
               "column \"my x\" is complex numbers. Make numbers of it first.", fixed = TRUE)
})

# R's own functions read formulas and frames, and say it in their words.
test_that("errors of formulas and frames have no word of Python's", {
  calls <- alist(
    fit = dynaTree(formula = y ~ a + b, data = d, subset = NULL, na.action = NULL,
                   weights = NULL, offset = NULL, exposure = NULL, N = 5, verb = 0),
    predict = predict(fit, newdata = d[1:3, ], type = "response", yy = NULL, offset = NULL),
    update = update(copy(fit), X = d[1:3, ], y = 1:3, weights = NULL),
    refit = update(fit, . ~ . - a, data = d, N = 5))
  of_python_alone <- sub("|array|", "|", fixed = TRUE, # R has arrays and quotes, too
                         sub("|'\\w+'", "", words_of_python, fixed = TRUE))
  env <- new.env()
  env$d <- data.frame(y = rows()$y, a = rows()$X[, 1], b = rep(c("u", "v"), 30))
  for (rules in c("r", "native")) {
    old <- options(dyntree.rules = rules)
    env$fit <- dynaTree(y ~ a + b, env$d, N = 5, verb = 0)
    before <- predict(env$fit, env$d)$mean
    bad <- character()
    for (name in names(calls)) {
      expect_null(said(calls[[name]], env))
      for (argument in setdiff(names(calls[[name]]), "")) for (kind in names(unfit)) {
        wrong <- calls[[name]]
        wrong[argument] <- list(unfit[[kind]])
        heard <- grep(of_python_alone, said(wrong, env),
                      perl = TRUE, value = TRUE)
        if (length(heard))
          bad <- c(bad, paste0(name, "(", argument, " = <", kind, ">): ", heard))
      }
    }
    expect_identical(bad, character())
    expect_identical(predict(env$fit, env$d)$mean, before)
    options(old)
  }
})
