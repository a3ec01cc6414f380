# Friedman's function of five inputs among ten: root mean squared errors of constant and
# linear leaves and of least squares. options(dynamic.trees = "dynaTree") runs it with
# the original.
library(getOption("dynamic.trees", "dyntree"), character.only = TRUE)
scale <- getOption("demo.scale", 1)
N <- round(1000 * scale)
n <- max(60, round(200 * scale))
rounds <- max(2, round(5 * scale))
set.seed(104)
began <- proc.time()[[3]]

truth <- function(X)
  10 * sin(pi * X[, 1] * X[, 2]) + 20 * (X[, 3] - 0.5)^2 + 10 * X[, 4] + 5 * X[, 5]
rmse <- function(mean, y) sqrt(mean((mean - y)^2))

errors <- matrix(NA, rounds, 3, dimnames = list(NULL, c("constant", "linear", "lm")))
density <- matrix(NA, rounds, 2)
for (r in seq_len(rounds)) {
  X <- matrix(runif(10 * n), ncol = 10)
  XX <- matrix(runif(2000), ncol = 10)
  y <- truth(X) + rnorm(n)
  yy <- truth(XX)
  for (model in c("constant", "linear")) {
    basis <- if (model == "linear") list(icept = "augmented", minp = 25)
    fit <- do.call(dynaTree, c(list(X[, 1:5], y, N = N, model = model, verb = 0), basis))
    fit <- predict(fit, XX[, 1:5], yy = yy, quants = FALSE)
    errors[r, model] <- rmse(fit$mean, yy)
    density[r, match(model, c("constant", "linear"))] <- mean(log(fit$yypred))
    deletecloud(fit)
  }
  flat <- lm(y ~ ., data.frame(X, y))
  errors[r, "lm"] <- rmse(predict(flat, data.frame(XX)), yy)
}
boxplot(errors, ylab = "rmse", main = "Friedman's function")
print(colMeans(errors))
result <- list(errors = errors, density = density, stream = .Random.seed)
cat("fried:", proc.time()[[3]] - began, "s\n")
