// Package report writes results of the simulator for people. It writes tables, a privacy
// statement in plain words, plots, files for statistical software, and the folder that contains
// all of them.
package report
