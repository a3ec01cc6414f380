rows <- function(n = 60, m = 3, seed = 1) {
  set.seed(seed)
  X <- matrix(runif(n * m), ncol = m)
  list(X = X, y = sin(5 * X[, 1]) + X[, 2] + rnorm(n, 0, 0.1))
}

fitted_tree <- function(..., N = 30) {
  d <- rows()
  set.seed(7)
  dynaTree(d$X, d$y, N = N, ..., verb = 0)
}

# All that two objects must share, to the bit.
plain <- function(object) {
  attr(object, "cloud") <- NULL
  object$time <- object$num <- NULL
  object
}

expect_as_was <- function(code) {
  state <- function() list(options(), getwd(), get0(".Random.seed", globalenv()),
                           search(), Sys.getenv())
  before <- state()
  force(code)
  expect_identical(state(), before)
}

events <- function(n = 80) {
  set.seed(3)
  d <- data.frame(a = runif(n), b = runif(n), hours = runif(n, 0.5, 4))
  d$k <- rpois(n, d$hours * ifelse(d$a > 0.5, 8, 2))
  d
}

native <- function(env = parent.frame()) {
  old <- options(dyntree.rules = "native")
  do.call(on.exit, list(bquote(options(.(old))), add = TRUE), envir = env)
}
