# Finds and starts the programs.

fedpvi_program <- function(name = "sim") {
  folder <- Sys.getenv("FEDPVI_BIN")
  if (nzchar(folder)) {
    path <- file.path(folder, name)
    if (file.exists(path)) {
      return(path)
    }
  }
  path <- unname(Sys.which(name))
  if (!nzchar(path)) {
    stop("the program ", name, " is not installed: set FEDPVI_BIN to the folder that make build fills")
  }
  path
}

# Settings as flags: TRUE sets a flag, NULL and FALSE leave it out, a vector repeats it.
as_flags <- function(settings) {
  unlist(lapply(names(settings), function(key) {
    flag <- paste0("--", gsub("_", "-", key))
    value <- settings[[key]]
    if (isTRUE(value)) {
      flag
    } else if (!is.null(value) && !isFALSE(value)) {
      paste0(flag, "=", as_text(value))
    }
  }))
}

as_text <- function(value) {
  if (is.numeric(value)) format(value, digits = 15, scientific = FALSE, trim = TRUE, drop0trailing = TRUE) else as.character(value)
}

# Replaced settings of a study as flags --set.
as_overrides <- function(set) {
  unlist(lapply(names(set), function(key) {
    value <- set[[key]]
    text <- if (is.logical(value)) tolower(as.character(value)) else if (is.character(value)) as.character(jsonlite::toJSON(value, auto_unbox = TRUE)) else as_text(value)
    paste0("--set=", key, "=", text)
  }))
}

# Runs sim and returns its standard output as one text.
start <- function(arguments) {
  errors <- tempfile()
  on.exit(unlink(errors))
  out <- suppressWarnings(system2(fedpvi_program(), shQuote(arguments), stdout = TRUE, stderr = errors))
  code <- attr(out, "status")
  if (!is.null(code) && code != 0) {
    message <- paste(readLines(errors, warn = FALSE), collapse = "\n")
    stop(structure(
      class = c("fedpvi_error", "error", "condition"),
      list(message = message, call = NULL, code = code)
    ))
  }
  paste(out, collapse = "\n")
}
