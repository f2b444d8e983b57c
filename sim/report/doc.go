// Package report turns what the simulator found into things for people: tables,
// a privacy statement in plain words, plots, files that statistical software
// reads, and the folder that holds them.
package report
