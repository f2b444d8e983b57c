library(testthat)
library(fedpvi)

test_check("fedpvi")
