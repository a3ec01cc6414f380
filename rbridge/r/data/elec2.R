# The prices of R's package dynaTree where it is installed, else a stream in their likeness.
elec2 <- if (nzchar(system.file(package = "dynaTree"))) local({
  found <- new.env()
  utils::data("elec2", package = "dynaTree", envir = found)
  message("elec2: prices of R's package dynaTree")
  found$elec2
}) else local({
  # Prices that follow a day of 48 half hours, and a rule that turns now and then; the
  # random numbers of the session are left as they were.
  message("elec2: a made stream, as R's package dynaTree, which has the prices, is not ",
          "installed")
  old <- .GlobalEnv$.Random.seed
  on.exit(if (is.null(old)) rm(".Random.seed", envir = .GlobalEnv) else
    assign(".Random.seed", old, envir = .GlobalEnv))
  set.seed(1, "Mersenne-Twister", "Inversion", "Rejection")
  n <- 27552L
  day <- sin(2 * pi * seq_len(n) / 48)
  walk <- as.numeric(stats::filter(stats::rnorm(n), 0.9, "recursive"))
  x <- cbind(x1 = 6500 + 1500 * day + 150 * walk,
             x2 = 2000 + 500 * day + 300 * stats::rnorm(n),
             x3 = 4800 + 600 * day + 120 * walk, x4 = 400 * stats::rnorm(n))
  rule <- ifelse(seq_len(n) %/% 1000 %% 2 == 0, 1, -1) * (x[, "x2"] - 2000) + x[, "x4"]
  made <- data.frame(round(x), y = 1L + (rule > 0))
  made[1:4] <- lapply(made[1:4], as.integer)
  made
})
