library(testthat)
library(dyntree)

if (dyntree:::has_python()) test_check("dyntree")
