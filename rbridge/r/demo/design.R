# Sequential design on one input: each new response is asked where a criterion is
# highest. options(dynamic.trees = "dynaTree") runs it with the original.
library(getOption("dynamic.trees", "dyntree"), character.only = TRUE)
scale <- getOption("demo.scale", 1)
N <- round(1000 * scale)
steps <- max(8, round(40 * scale))
set.seed(103)
began <- proc.time()[[3]]

f1d <- function(x, sd = 0.1) {
  n <- length(x)
  sin(10 * pi * x^2) * (x < 0.6) + 2 * x + if (sd > 0) rnorm(n, 0, sd) else 0
}
grid <- seq(0, 1, length.out = 101)
first <- seq(0.02, 0.98, length.out = 15)
start <- f1d(first)

result <- list()
for (method in c("alm", "alc", "ei")) {
  fit <- dynaTree(first, start, N = N, model = "linear", verb = 0)
  track <- numeric()
  for (i in seq_len(steps)) {
    candidates <- runif(60)
    fit <- predict(fit, candidates, quants = FALSE, ei = method == "ei")
    if (method == "alc") fit <- alc(fit, candidates)
    worth <- alcalc(fit, method, prec = 2)
    best <- which.max(worth)
    track[i] <- worth[best]
    fit <- update(fit, candidates[best], f1d(candidates[best]), verb = 0)
  }
  fit <- predict(fit, grid, ei = method == "ei")
  if (method == "alc") fit <- alc(fit, grid)
  plotprogress(fit, tail(fit$X, 1)[1], tail(fit$y, 1), method, track, f1d, 2)
  error <- sqrt(mean((fit$mean - f1d(grid, sd = 0))^2))
  cat(method, ": rmse", format(error, digits = 3), "\n")
  result[[method]] <- list(X = fit$X, y = fit$y, mean = fit$mean, track = track,
                           error = error)
  deletecloud(fit)
}
result$stream <- .Random.seed
cat("design:", proc.time()[[3]] - began, "s\n")
