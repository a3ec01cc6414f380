# One piece of work by CRAN dynaTree: Rscript peer.R <work> <data folder> <run it: 0 or 1>
args <- commandArgs(trailingOnly = TRUE)
suppressMessages(library(dynaTree))
learned <- as.matrix(read.csv(file.path(args[2], "learned.csv"), header = FALSE))
new <- as.matrix(read.csv(file.path(args[2], "new.csv"), header = FALSE))
q <- ncol(new)
model <- if (grepl("linear", args[1])) "linear" else "constant"
set.seed(1)
fit <- dynaTree(learned[, 1:q], learned[, q + 1], N = 1000, model = model, verb = 0)
if (args[3] == "1") fit <- predict(fit, new, quants = TRUE, verb = 0)
