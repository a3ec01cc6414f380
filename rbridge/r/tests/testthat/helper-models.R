mixed_rows <- function(n = 120, seed = 2) {
  set.seed(seed)
  d <- data.frame(x = runif(n), g = factor(sample(c("u", "v"), n, TRUE)),
                  s = sample(c("p", "q"), n, TRUE), l = runif(n) > 0.5,
                  day = as.Date("2024-01-01") + seq_len(n))
  d$y <- sin(6 * d$x) + (d$g == "u") + rnorm(n, 0, 0.1)
  d$k <- factor(ifelse(d$y > 1, "high", "low"), levels = c("low", "high"))
  d$x[4] <- NA
  d
}

clusters <- function(n = 240, seed = 3) {
  set.seed(seed)
  data.frame(a = rnorm(n), b = rnorm(n)) + 15 * sample(1:3, n, TRUE)
}

word_counts <- function(n = 60, seed = 4) {
  set.seed(seed)
  X <- matrix(rpois(n * 20, 0.2), n)
  X[seq_len(n / 2), 1:10] <- X[seq_len(n / 2), 1:10] + 1
  X[-seq_len(n / 2), 11:20] <- X[-seq_len(n / 2), 11:20] + 1
  dimnames(X) <- list(paste0("d", seq_len(n)), paste0("w", 1:20))
  X
}

# A small fit of each kind, and rows for it.
every_model <- function(seed = 1) {
  d <- mixed_rows()
  X <- clusters()
  list(
    stream = list(fit = dyntree_stream(y ~ x + g + s, d, window = 40, n_particles = 20,
                                       seed = seed), rows = d),
    average = list(fit = dyntree_average(y ~ x + g + l, d, n_clouds = 2, n_particles = 10,
                                         seed = seed), rows = d),
    memories = list(fit = dyntree_stream(k ~ x + day, d, window = "auto", n_particles = 10,
                                         seed = seed), rows = d),
    dp_gmm = list(fit = dp_gmm(X), rows = X),
    ddp = list(fit = ddp_mixture(X, rep(1:3, each = 80), n_sweeps = 9, burn_in = 3,
                                 seed = seed), rows = X),
    canopy = list(fit = canopy_mixture(X, 3, seed = seed), rows = X),
    topics = list(fit = hdp_topics(word_counts(), seed = seed), rows = word_counts()))
}

# All that two objects must share, to the bit.
without_state <- function(object) {
  attr(object, "state") <- NULL
  if (!is.null(object$terms)) environment(object$terms) <- globalenv()
  object
}

no_python <- paste0("\\b(nan|None|True|False|ndarray|DataFrame|dict|ints?|array|lambda_|",
                    "sample_weight|np)\\b|'")
