plot.dyntree <- function(x, proj = 1, add = FALSE, ylim = NULL, col = 2, lwd = 1,
                         ptype = c("each", "mean"), ...) {
  ptype <- chosen(ptype, "ptype", c("each", "mean"))
  check_flag(add, "add")
  check_ours(x)
  if (is_value(x) && !add && (x$model == "class" || is.null(x$mean))) {
    curves <- dependence(x, sys.call(), if (!missing(proj)) proj)
    return(draw_dependence(curves, what_is_drawn(x), ...))
  }
  if (x$model == "class")
    stop("plot is for regression; draw the fields p and entropy of a class model")
  if (is.null(x$mean)) stop("nothing to plot; call predict first")
  inputs <- ncol(x[["X"]]) - ones(x)
  if (!is_single(proj, is.numeric) || !proj %in% seq_len(inputs))
    refuse(proj, "proj", paste("be one input, 1 to", inputs))
  column <- proj + ones(x)
  if (!add) draw_rows(x, column, ylim, ...)
  odr <- order(x[["XX"]][, column])
  for (name in intersect(c("mean", "q1", "q2"), names(x))) {
    values <- as.matrix(x[[name]]) / over(x$XXexposure)
    if (ptype == "mean") values <- as.matrix(rowMeans(values))
    graphics::matlines(x[["XX"]][odr, column], values[odr, , drop = FALSE], col = col,
                       lwd = lwd, lty = if (name == "mean") 1 else 2)
  }
  invisible(NULL)
}

# What counts are divided by, so that they can be drawn beside one another.
over <- function(exposure) if (is.null(exposure)) 1 else exposure

# The active rows of an object as points, one input against the response.
draw_rows <- function(x, column, ylim, xlab = NULL, ylab = NULL, ...) {
  y <- x$y / over(x$exposure)
  if (is.null(ylab)) ylab <- if (all(over(x$exposure) == 1)) "y" else "y / exposure"
  if (is.null(ylim))
    ylim <- range(if (is.null(x$q1)) y else c(x$q1, x$q2) / over(x$XXexposure))
  name <- colnames(x[["X"]])[column]
  if (is.null(xlab)) xlab <- if (is.null(name)) "x" else name
  graphics::plot(x[["X"]][, column], y, ylim = ylim, pch = 20, xlab = xlab, ylab = ylab,
                 ...)
}

plotprogress <- function(x, xstar, ystar, method = "alm", track, f1d, prec, ...) {
  if (missing(prec)) prec <- 1
  old <- graphics::par(mfrow = c(2, 2))
  on.exit(graphics::par(old))
  odr <- order(x[["XX"]][, ncol(x[["XX"]])])
  grid <- x[["XX"]][odr, ncol(x[["XX"]])]
  plot(x, ...)
  points(xstar, ystar, pch = 18, col = 3, cex = 1.5)
  lines(grid, f1d(grid, sd = 0), col = 8, lty = 4)
  abline(v = xstar, col = 3, lty = 2)
  n <- length(x$y)
  start <- n - length(track) + 1L
  graphics::plot(start:n, log(track), type = "l", xlim = c(1, n), xlab = "time",
                 ylab = paste("log", method))
  abline(v = start - 0.5, col = 2, lty = 2)
  values <- as.matrix(alcalc(x, method, prec))
  graphics::plot(grid, rowMeans(values)[odr], type = "l", xlab = "x", ylab = method)
  abline(v = xstar, col = 3, lty = 2)
  hist(x[["X"]][, ncol(x[["X"]])], main = "", xlab = "X samples")
  invisible(NULL)
}
