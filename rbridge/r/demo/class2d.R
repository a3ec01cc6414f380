# Classification on two inputs: the probable class, how sure that is, what the inputs
# tell. options(dynamic.trees = "dynaTree") runs it with the original.
library(getOption("dynamic.trees", "dyntree"), character.only = TRUE)
scale <- getOption("demo.scale", 1)
N <- round(1000 * scale)
set.seed(102)
began <- proc.time()[[3]]

# three rings about a point off the centre; the third input is noise
label <- function(X) {
  radius <- sqrt((X[, 1] - 0.4)^2 + (X[, 2] - 0.6)^2)
  1 + (radius > 0.2) + (radius > 0.45)
}
X <- matrix(runif(3 * 250), ncol = 3)
colnames(X) <- c("east", "north", "noise")
y <- label(X)
side <- seq(0, 1, length.out = 31)
grid <- cbind(as.matrix(expand.grid(side, side)), 0.5)

fit <- dynaTree(X, y, N = N, model = "class", verb = 0)
fit <- predict(fit, grid, yy = label(grid))
chosen <- max.col(fit$p, "first")

old <- par(mfrow = c(2, 2))
image(side, side, matrix(chosen, 31), col = gray(c(0.4, 0.7, 0.95)), xlab = "east",
      ylab = "north", main = "probable class")
points(X, pch = y)
image(side, side, matrix(fit$entropy, 31), col = gray(seq(1, 0.3, length.out = 20)),
      xlab = "east", ylab = "north", main = "entropy")

# sensitivity class by class, relevance split by split
fit <- sens(fit, nns = round(1000 * scale), nME = 30)
fit <- relevance(fit)
matplot(fit$MEgrid, fit$MEmean[[1]], type = "l", col = 1, xlab = "input",
        ylab = "P(class 1)", main = "main effects")
boxplot(fit$relevance, main = "relevance")
par(old)

wrong <- mean(chosen != label(grid))
cat("misclassified:", format(wrong, digits = 3), "\n")
result <- list(p = fit$p, entropy = fit$entropy, yypred = fit$yypred, wrong = wrong,
               effects = fit$MEmean, S = fit$S, T = fit$T, relevance = fit$relevance,
               use = varpropuse(fit), stream = .Random.seed)
deletecloud(fit)
cat("class2d:", proc.time()[[3]] - began, "s\n")
