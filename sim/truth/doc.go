// Package truth measures whether the posterior of a study is true. It plays a bank of federations
// with the default settings of the newest study language, on made-up records and on public data
// sets, and compares each posterior with the truth, with the fit of the pooled records, and with
// an ideal release.
//
// The bank is a covering design over families, sizes, splits, budgets, privacy units, columns,
// bounds and units ([Cells]): every pair of levels that can occur together does occur. A cell is
// a function of its number. The truth is drawn from the prior.
//
// Seeds below [Reporting] are for choosing constants of a method, and seeds from it on for
// reporting what was measured.
package truth

// Reporting is the first of the seeds with which results are reported. These seeds must not be used
// to choose constants of a method, because the results would then be biased.
const Reporting = 10_000
