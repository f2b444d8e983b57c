# The programs and the studies of the project are found through FEDPVI_BIN and FEDPVI_STUDIES.
hospitals <- file.path(Sys.getenv("FEDPVI_STUDIES"), "demo", "hospitals.toml")

skip_without_programs <- function() {
  skip_if(!nzchar(Sys.getenv("FEDPVI_BIN")) || !file.exists(hospitals), "FEDPVI_BIN or FEDPVI_STUDIES is not set: use make test-r")
}

test_that("a run has the numbers of its files", {
  skip_without_programs()
  run <- fedpvi_run(hospitals, seed = 3)
  expect_equal(run$effects$name, c("intercept", "age", "stay", "diagnosis[heart]", "diagnosis[lung]"))
  expect_true(all(run$effects$low < run$effects$mean & run$effects$mean < run$effects$high))
  expect_equal((run$effects$high - run$effects$low) / run$effects$sd, rep(2 * qnorm(.975), 5), tolerance = 1e-6)
  expect_match(fedpvi_statement(run), "against anyone who reads what the client sends")
  expect_output(print(run), "diagnosis\\[heart\\]")
  draws <- fedpvi_draws(run)
  expect_equal(dim(draws), c(1000, 4, 5))
  means <- apply(unclass(draws), 3, mean)
  # Five standard errors of the mean of 4,000 independent draws.
  expect_true(all(abs(means - run$effects$mean) < 5 * run$effects$sd / sqrt(4000)))
  again <- fedpvi_run(hospitals, seed = 3, set = list("privacy.epsilon" = .5))
  expect_equal(again$result$privacy$views$epsilon[1], .5, tolerance = 1e-3)
  pdf(NULL)
  expect_no_error(plot(run))
  dev.off()
})

test_that("plan and calculator are those of the program", {
  skip_without_programs()
  expect_equal(fedpvi_plan(hospitals)$privacy$epsilon, 1, tolerance = 1e-6)
  # 1.83, docs/prove/privacy.md
  epsilon <- fedpvi_privacy(sampling = "poisson", noise_multiplier = 1, q = .01, steps = 1000, delta = 1e-5)$epsilon_upper
  expect_true(1.82 < epsilon && epsilon < 1.84)
})

test_that("errors are those of the program", {
  skip_without_programs()
  expect_error(fedpvi_plan(file.path(tempdir(), "nothing.toml")), "nothing.toml", class = "fedpvi_error")
})
