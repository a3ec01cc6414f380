# Will the price of electricity rise? A stream whose rules change: a tree frozen early, a
# window without forgetting and one that forgets and is rejuvenated. The table is that of
# options(elec2 = "elec2.csv.gz") where it is set, else that of R's package dynaTree where
# it is installed, else a stream that is made here; options(dynamic.trees = "dynaTree")
# runs the script with the original.
library(getOption("dynamic.trees", "dyntree"), character.only = TRUE)
scale <- getOption("demo.scale", 1)
N <- round(500 * scale)
window <- max(30, round(125 * scale))
n <- max(120, round(4000 * scale))

table <- getOption("elec2")
if (is.null(table)) {
  data(elec2, package = "dyntree") # says which of the two it is
} else {
  if (!file.exists(table))
    stop("options(elec2 = ) must be the path of elec2.csv.gz; there is no ", table)
  elec2 <- read.csv(gzfile(table))
}
data <- elec2[seq_len(window + n), ]
set.seed(106)
began <- proc.time()[[3]]

X <- as.matrix(data[, 1:4]) / 1000
y <- data$y
start <- seq_len(window)
later <- window + seq_len(n)

fit <- dynaTree(X[start, ], y[start], N = N, model = "class", verb = 0)
trees <- list(frozen = fit, window = copy(fit), drift = copy(fit))
right <- list()
for (name in names(trees)) {
  fit <- trees[[name]]
  hits <- numeric(n)
  for (i in seq_len(n)) {
    t <- later[i]
    fit <- predict(fit, X[t, , drop = FALSE])
    hits[i] <- which.max(fit$p) == y[t]
    if (name == "frozen") next
    fit <- retire(fit, 1, lambda = if (name == "drift") 0.9 else 1)
    if (name == "drift" && i %% 250 == 0) fit <- rejuvenate(fit, verb = 0)
    fit <- update(fit, X[t, , drop = FALSE], y[t], verb = 0)
  }
  right[[name]] <- hits
  trees[[name]] <- fit
}
accuracy <- vapply(right, mean, 0)
print(accuracy)
matplot(sapply(right, function(hits) cumsum(hits) / seq_along(hits)), type = "l",
        xlab = "half hours", ylab = "share right so far", main = "electricity")
legend("bottomright", names(right), lty = 1:3, col = 1:3)
result <- list(right = right, lpred = lapply(trees, function(fit) fit$lpred),
               trees = lapply(trees, treestats), stream = .Random.seed)
for (fit in trees) deletecloud(fit)
cat("elec2:", proc.time()[[3]] - began, "s\n")
