// Package truth measures whether the posteriors of studies are right. It simulates a bank: a fixed
// set of federations with the default settings of the newest study language, on made-up records and
// on public data sets. It compares each posterior with the true parameters, with the fit of the
// pooled records, and with the posterior after an ideal release.
//
// The bank is a covering design over families, sizes, splits, budgets, privacy units, columns,
// bounds and units ([Cells]): if two levels of these properties can occur together, some cell has
// both. The number of a cell determines everything in it. The true parameters are drawn from the
// prior.
//
// The constants of a method are chosen with seeds below [Reporting]. Measurements are reported with
// all other seeds.
package truth

// Reporting is the first seed for reported results. If constants of a method were chosen with seeds
// from Reporting on, the results would be biased.
const Reporting = 10_000
