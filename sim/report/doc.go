// Package report writes results of the simulator for people: tables, a privacy statement in plain
// words, plots, files for statistical software, and the folder with all of them.
package report
