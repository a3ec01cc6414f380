test_that("topics have the words of the columns", {
  W <- word_counts()
  fit <- hdp_topics(W, seed = 1)
  expect_identical(nrow(fit$topics), 2L)
  expect_equal(sum(fit$topics$weight), 1)
  words <- summary(fit, n = 5)$words
  expect_identical(nrow(words), 10L)
  for (topic in fit$topics$topic) {
    own <- as.numeric(sub("w", "", words$word[words$topic == topic]))
    expect_true(all(own <= 10) || all(own > 10))
    expect_false(is.unsorted(-words$probability[words$topic == topic]))
  }
  p <- coef(fit)
  expect_identical(names(p), colnames(W))
  expect_equal(unname(rowSums(p)), c(1, 1))
  expect_identical(p[1, words$word[1]], words$probability[1])
  shares <- predict(fit, W)
  expect_identical(dimnames(shares), list(rownames(W), as.character(fit$topics$topic)))
  topic <- predict(fit, W, type = "topic")
  expect_identical(names(topic), rownames(W))
  expect_identical(as.vector(table(topic)), c(30L, 30L))
  expect_identical(nobs(update(fit, W[1:3, ])), 63L)
})

test_that("documents have words in any order, some or others", {
  W <- word_counts()
  fit <- hdp_topics(W, seed = 1)
  shares <- predict(fit, W)
  expect_identical(predict(fit, W[, 20:1]), shares)
  expect_identical(predict(fit, as.data.frame(W)), shares)
  some <- predict(fit, W[, 1:10])
  expect_identical(some, predict(fit, replace(W, col(W) > 10, 0)))
  other <- cbind(W, new = 1)
  expect_error(predict(fit, other), "^newdata must hold words of the fit; got \"new\"")
  expect_identical(predict(fit, other, ignore_unknown = TRUE), shares)
  expect_error(predict(fit, W, ignore_unknown = NA), "^ignore_unknown must be TRUE or FALSE")
  expect_error(predict(fit, unname(W)[, 1:3]), "^newdata must have the words of the fit, 20")
  expect_error(summary(fit, n = 0), "^n must be a whole number >= 1; got 0")
  unnamed <- hdp_topics(unname(W), seed = 1)
  expect_identical(names(coef(unnamed))[1], "V1")
  expect_identical(unname(as.matrix(predict(unnamed, W))), unname(as.matrix(shares)))
})

test_that("sparse matrices are taken as they are", {
  W <- word_counts()
  fit <- hdp_topics(W, seed = 1)
  triplets <- structure(
    c(as.list(as.data.frame(which(W > 0, arr.ind = TRUE))), list(W[W > 0])),
    names = c("i", "j", "v"))
  slam <- structure(c(triplets, list(nrow = 60L, ncol = 20L, dimnames = dimnames(W))),
                    class = "simple_triplet_matrix")
  expect_identical(predict(fit, slam), predict(fit, W))
  tm <- slam
  names(tm)[1:2] <- c("j", "i") # terms by documents
  tm[c("nrow", "ncol", "dimnames")] <- list(20L, 60L, rev(dimnames(W)))
  class(tm) <- c("TermDocumentMatrix", "simple_triplet_matrix")
  expect_identical(predict(fit, tm), predict(fit, W))
  slam$dimnames[[2]][20] <- "new"
  expect_error(predict(fit, slam), "got \"new\"")
  expect_identical(predict(fit, slam, ignore_unknown = TRUE),
                   predict(fit, replace(W, col(W) == 20, 0)))
  skip_if_not_installed("Matrix")
  sparse <- Matrix::Matrix(W, sparse = TRUE)
  expect_s4_class(sparse, "dgCMatrix")
  again <- hdp_topics(sparse, seed = 1)
  expect_identical(again$topics, fit$topics)
  expect_identical(predict(again, W), predict(fit, sparse))
  expect_identical(predict(fit, as(sparse, "TsparseMatrix")), predict(fit, W))
  expect_identical(predict(fit, as(sparse, "RsparseMatrix")[, 20:1]), predict(fit, W))
})

test_that("topics print, summarise and draw", {
  fit <- hdp_topics(word_counts(), seed = 1)
  expect_output(print(fit), "2 topics.*60 documents learned")
  expect_output(print(summary(fit)), "2 topics of 60 documents")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_null(plot(fit))
})

test_that("documents without a name are counted, and none leave a fit as it was", {
  W <- word_counts()
  expect_error(hdp_topics(rbind(W, 0)), "^row 61 of x has no words")
  fit <- hdp_topics(W, seed = 1)
  expect_identical(update(fit, W[0, ]), fit)
})

test_that("columns that hold no counts are refused by name", {
  X <- as.data.frame(word_counts())
  fit <- hdp_topics(X, seed = 1)
  X$w2 <- structure(as.numeric(X$w2), class = "integer64") # whose bits are other numbers
  expect_error(predict(fit, X), "^column \"w2\" of newdata must hold counts; .* integer64")
  expect_error(hdp_topics(X), "^column \"w2\" of x must hold counts; .* integer64")
  X$w2 <- factor(seq_len(60))
  expect_error(update(fit, X), "^column \"w2\" of newdata must hold counts; got a factor. Make")
})
