# Regression on one input: constant and linear leaves, rows that come later, and which
# leaf model the data prefer. options(dynamic.trees = "dynaTree") runs it with the
# original; options(demo.scale = 0.1) makes it shorter.
library(getOption("dynamic.trees", "dyntree"), character.only = TRUE)
scale <- getOption("demo.scale", 1)
N <- round(1000 * scale)
set.seed(101)
began <- proc.time()[[3]]

f <- function(x) x^2 * sin(3 * x) / 3
x <- runif(120, -3, 3)
y <- f(x) + rnorm(120, 0, 0.2)
grid <- seq(-3.5, 3.5, length.out = 101)

constant <- dynaTree(x, y, N = N, verb = 0)
linear <- dynaTree(x, y, N = N, model = "linear", verb = 0)
constant <- predict(constant, grid)
linear <- predict(linear, grid)

old <- par(mfrow = c(1, 3))
plot(constant, xlab = "x", main = "constant leaves")
plot(linear, xlab = "x", main = "linear leaves")

# forty rows more, where there were none
more <- runif(40, 3, 3.5)
linear <- update(linear, more, f(more) + rnorm(40, 0, 0.2), verb = 0)
linear <- predict(linear, grid)
plot(linear, add = FALSE, xlab = "x", main = "forty rows later")

# repeats in other orders, and the Bayes factor of linear leaves
R <- max(3, round(10 * scale))
repeats <- dynaTrees(x, y, N = N, R = R, XX = grid, verb = 0, pverb = 0)
others <- dynaTrees(x, y, N = N, R = R, model = "linear", XX = grid, verb = 0, pverb = 0)
factors <- getBF(others, repeats)
matplot(factors, type = "l", lty = 1, col = 8, xlab = "rows", ylab = "log Bayes factor",
        main = "linear over constant leaves")
par(old)

result <- list(constant = constant[c("mean", "q1", "q2", "lpred")],
               linear = linear[c("mean", "var", "q1", "q2", "lpred", "X")],
               repeats = repeats$mean, factors = factors, trees = treestats(linear),
               stream = .Random.seed)
deletecloud(constant)
deletecloud(linear)
cat("reg1d:", proc.time()[[3]] - began, "s\n")
