// Package truth measures whether the posteriors of studies are right. It simulates a bank: a fixed
// set of federations with the default settings of the newest study language, on made-up records and
// on public data sets. It compares each posterior with the true parameters, with the fit of the
// pooled records, and with the posterior after an ideal release.
//
// The bank is a covering design over families, sizes, splits, budgets, privacy units, columns,
// bounds and units ([Cells]). It contains every pair of levels that can occur together. The number
// of a cell determines everything in it. The true parameters are drawn from the prior.
//
// Seeds below [Reporting] are for choosing constants of a method. All others are for reporting
// measurements.
package truth

// Reporting is the first seed for reporting results. Constants of a method must not be chosen with
// the seeds from Reporting on, because the results would then be biased.
const Reporting = 10_000
