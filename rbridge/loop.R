# Reads requests from standard input until it closes; each answer goes to a file.
local({
  given <- commandArgs(trailingOnly = TRUE)
  answer <- source(file.path(given[1], "server.R"), local = TRUE)$value
  requests <- file("stdin", "rb")
  signal_ready <- function() {
    cat("\n", given[3], "\n", sep = "")
    flush(stdout())
  }
  suspendInterrupts({ # but where `answer` allows them
    signal_ready() # R has started
    repeat {
      size <- readBin(requests, "integer", 1L, endian = "big")
      if (!length(size)) break
      writeBin(answer(readBin(requests, "raw", size)), given[2])
      signal_ready()
    }
  })
})
