fedpvi_plan <- function(study, set = list(), clients = NULL) {
  jsonlite::fromJSON(start(c("plan", study, "--json", as_overrides(set), as_flags(list(clients = clients)))))
}

fedpvi_privacy <- function(...) {
  jsonlite::fromJSON(start(c("privacy", "--json", as_flags(list(...)))))
}

fedpvi_run <- function(study, out = tempfile("fedpvi-"), seed = NULL, set = list(), data = NULL, non_private = FALSE) {
  settings <- list(out = out, seed = seed, data = data, non_private = non_private, quiet = TRUE)
  start(c("run", study, "--json", as_overrides(set), as_flags(settings)))
  fedpvi_read(out)
}

fedpvi_read <- function(folder) {
  result <- jsonlite::fromJSON(file.path(folder, "run.json"))
  shown <- result$noise_aware$marginals
  if (is.null(shown)) {
    shown <- result$posterior
  }
  effects <- NULL
  if (!is.null(shown)) {
    effects <- data.frame(
      name = shown$name, mean = shown$natural_mean, sd = shown$natural_sd,
      low = shown$natural_low, high = shown$natural_high, unit = shown$unit
    )
  }
  structure(list(folder = folder, result = result, effects = effects, notes = result$notes), class = "fedpvi_run")
}

fedpvi_statement <- function(run) {
  paste(readLines(file.path(run$folder, "privacy.txt"), encoding = "UTF-8"), collapse = "\n")
}

fedpvi_draws <- function(run, natural = TRUE) {
  pattern <- if (natural) "^natural-draws-[0-9]+\\.csv$" else "^draws-[0-9]+\\.csv$"
  files <- sort(list.files(run$folder, pattern, full.names = TRUE))
  chains <- lapply(files, function(file) {
    draws <- utils::read.csv(file, comment.char = "#", check.names = FALSE)
    as.matrix(draws[, !grepl("__$", names(draws)), drop = FALSE])
  })
  out <- array(
    dim = c(nrow(chains[[1]]), length(chains), ncol(chains[[1]])),
    dimnames = list(iteration = NULL, chain = NULL, variable = colnames(chains[[1]]))
  )
  for (i in seq_along(chains)) {
    out[, i, ] <- chains[[i]]
  }
  if (requireNamespace("posterior", quietly = TRUE)) posterior::as_draws_array(out) else out
}

print.fedpvi_run <- function(x, ...) {
  if (is.null(x$effects)) {
    print(x$result$estimates[, c("name", "natural_estimate", "unit")], ...)
  } else {
    print(x$effects, digits = 4, ...)
  }
  for (note in x$notes) {
    cat(strwrap(note), sep = "\n")
  }
  invisible(x)
}

plot.fedpvi_run <- function(x, ...) {
  e <- x$effects
  rows <- rev(seq_len(nrow(e)))
  old <- graphics::par(mar = c(4, 12, 1, 1))
  on.exit(graphics::par(old))
  graphics::plot(e$mean / e$sd, rows,
    xlim = range(0, e$low / e$sd, e$high / e$sd), yaxt = "n", ylab = "",
    xlab = "mean and 95 % interval, in posterior sds", pch = 19, ...
  )
  graphics::segments(e$low / e$sd, rows, e$high / e$sd, rows)
  graphics::abline(v = 0, lty = 3)
  graphics::axis(2, at = rows, labels = e$name, las = 1)
  invisible(x)
}
