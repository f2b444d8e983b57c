// Package truth measures whether the posteriors of studies are right. It simulates a bank, a fixed
// set of federations with the default settings of the newest study language, on made-up records and
// on public data sets. It compares each posterior with the true parameters, with the fit of the
// pooled records, and with the posterior after an ideal release.
//
// The bank is a covering design over families, sizes, splits, budgets, privacy units, columns,
// bounds and units ([Cells]). It contains every pair of levels that can occur together. The number
// of a cell determines everything in the cell. The true parameters are drawn from the prior.
//
// Seeds below [Reporting] are for choosing constants of a method. All other seeds are for reporting
// measurements.
package truth

// Reporting is the first seed for reporting results. Seeds from Reporting on must not be used to
// choose constants of a method, because the results would then be biased.
const Reporting = 10_000
