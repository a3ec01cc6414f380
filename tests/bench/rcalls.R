# Milliseconds of single calls on class trees in R, by each package in turn.
suppressPackageStartupMessages({library(dynaTree); library(dyntree)})
set.seed(1)
x <- matrix(runif(600), ncol = 3)
y <- 1 + (x[, 1] > x[, 2])
more <- matrix(runif(6000), ncol = 3)
labels <- 1 + (more[, 1] > more[, 2])
packages <- c("dynaTree", "dyntree")
n_calls <- 300

# Milliseconds of a call of each kind, the mean over a stream that holds 200 rows.
timed <- function(step, fit) {
  spent <- c(predict = 0, retire = 0, update = 0)
  for (k in seq_len(n_calls)) {
    row <- more[k, , drop = FALSE]
    t0 <- proc.time()[[3]]
    fit <- predict(fit, row, verb = 0)
    t1 <- proc.time()[[3]]
    fit <- step$retire(fit, 1)
    t2 <- proc.time()[[3]]
    fit <- update(fit, row, labels[k], verb = 0)
    spent <- spent + c(t1 - t0, t2 - t1, proc.time()[[3]] - t2)
  }
  1000 * spent / n_calls
}

invisible(dynaTree(x, y, N = 2, verb = 0)) # Python starts
for (n in c(100, 500, 2000)) {
  told <- sapply(packages, function(package) {
    of <- asNamespace(package)
    set.seed(2)
    timed(of, of$dynaTree(x, y, N = n, model = "class", verb = 0))
  })
  for (call in rownames(told))
    cat(sprintf("%5d particles  %-8s dynaTree %6.2f ms, dyntree %6.2f ms, ratio %.2f\n",
                n, call, told[call, 1], told[call, 2], told[call, 2] / told[call, 1]))
}

# One-row updates under native rules, by matrix, by formula and of a stream.
options(dyntree.rules = "native")
rows <- data.frame(more, y = more[, 1] + rnorm(2000, 0, 0.1))
first <- 1:200
per_row <- function(fit, learn) {
  for (k in 201:220) fit <- learn(fit, k) # which lets both languages settle
  t0 <- proc.time()[[3]]
  for (k in 220 + seq_len(n_calls)) fit <- learn(fit, k)
  1000 * (proc.time()[[3]] - t0) / n_calls
}
by_frame <- function(fit, k) update(fit, rows[k, ], verb = 0)
updates <- c(
  matrix = per_row(
    dyntree::dynaTree(more[first, ], rows$y[first], N = 100, verb = 0),
    function(fit, k) update(fit, more[k, , drop = FALSE], rows$y[k], verb = 0)),
  formula = per_row(dyntree::dynaTree(y ~ ., rows[first, ], N = 100, verb = 0), by_frame),
  stream = per_row(dyntree_stream(y ~ ., rows[first, ], model = "constant", window = 200,
                                  n_particles = 100, seed = 1),
                   function(fit, k) update(fit, rows[k, ])))
cat(sprintf("  100 particles  update of one row by %-8s %5.2f ms\n", names(updates), updates),
    sep = "")
