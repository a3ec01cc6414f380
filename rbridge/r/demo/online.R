# A long stream in bounded memory: a row retires for each that comes, by chance, by age or
# by what it still tells (ALC); all against a tree that keeps everything.
# options(dynamic.trees = "dynaTree") runs it with the original.
library(getOption("dynamic.trees", "dyntree"), character.only = TRUE)
scale <- getOption("demo.scale", 1)
N <- round(1000 * scale)
window <- max(40, round(100 * scale))
n <- max(80, round(600 * scale))
set.seed(105)
began <- proc.time()[[3]]

f <- function(X) sin(8 * X[, 1]) + 2 * X[, 2]^2
X <- matrix(runif(2 * (window + n)), ncol = 2)
y <- f(X) + rnorm(window + n, 0, 0.15)
XX <- matrix(runif(400), ncol = 2)
start <- seq_len(window)

choose <- list(
  random = function(fit) sample.int(nrow(fit$X), 1),
  age = function(fit) 1,
  alc = function(fit) which.min(alcX(fit)$alcX)
)
errors <- list()
whole <- dynaTree(X, y, N = N, verb = 0)
whole <- predict(whole, XX)
errors$whole <- sqrt(mean((whole$mean - f(XX))^2))
deletecloud(whole)
results <- list()
for (rule in names(choose)) {
  fit <- dynaTree(X[start, ], y[start], N = N, verb = 0)
  for (t in window + seq_len(n)) {
    fit <- retire(fit, choose[[rule]](fit), lambda = if (rule == "age") 0.9 else 1)
    fit <- update(fit, X[t, , drop = FALSE], y[t], verb = 0)
    if (t %% 100 == 0) fit <- rejuvenate(fit, verb = 0)
  }
  fit <- predict(fit, XX)
  errors[[rule]] <- sqrt(mean((fit$mean - f(XX))^2))
  results[[rule]] <- list(X = fit$X, mean = fit$mean, lpred = fit$lpred)
  plot(fit$X, main = paste("active rows:", rule), xlab = "x1", ylab = "x2")
  deletecloud(fit)
}
print(unlist(errors))
result <- list(errors = errors, results = results, stream = .Random.seed)
cat("online:", proc.time()[[3]] - began, "s\n")
