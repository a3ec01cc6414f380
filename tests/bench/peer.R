# One piece of work by CRAN dynaTree; arguments and output are those of work.py
suppressMessages(library(dynaTree))
args <- commandArgs(trailingOnly = TRUE)
work <- args[1]
model <- strsplit(args[2], " ")[[1]]
N <- as.integer(args[3])
window <- as.integer(args[4])
folder <- args[6]

rows <- function(name, columns) {
  file <- file.path(folder, name)
  t(matrix(readBin(file, "double", file.size(file) / 8), columns))
}
learned <- rows("learned.bin", 7)
new <- rows("new.bin", 5)
X <- learned[, 1:5]
y <- learned[, if (model[1] == "class") 7 else 6]

plant <- function(n) {
  set.seed(1)
  given <- list(X[1:n, ], y[1:n], N = N, model = model[1], verb = 0)
  if (length(model) > 1) given$icept <- model[2]
  do.call(dynaTree, given)
}
stream <- function(choose) {
  for (t in (window + 1):nrow(X)) {
    fit <<- choose(fit)
    fit <<- update(fit, X[t, , drop = FALSE], y[t], verb = 0)
  }
  fit
}
spent <- function() {
  peak <- grep("VmHWM", readLines("/proc/self/status"), value = TRUE)
  paste(proc.time()[["user.self"]], proc.time()[["elapsed"]], gsub("[^0-9]", "", peak))
}

if (!startsWith(work, "fit"))
  fit <- plant(if (startsWith(work, "online")) window else nrow(X))
run <- switch(work,
  "fit native" = , "fit r" = function() plant(nrow(X)),
  "predict native" = , "predict r" = function() predict(fit, new, verb = 0),
  "online random" = function() stream(function(fit) retire(fit, sample(window, 1))),
  "online alc" = function() stream(function(fit) {
    fit <- alcX(fit)
    retire(fit, which.min(fit$alcX))
  }),
  "sens" = function() sens(fit, nns = 1000),
  "relevance" = function() relevance(fit),
  "alc" = function() alc(fit, new)
)
before <- spent()
for (k in seq_len(args[5])) answer <- run()
cat(before, spent(), sep = "\n")
writeBin(answer$lpred, file.path(folder, "theirs.bin"))
