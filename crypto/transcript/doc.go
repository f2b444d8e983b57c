// Package transcript is what the parties of a study say to one another, as bytes.
//
// All that the coordinator says to all is one append-only list of entries, numbered from
// 1: the roster; the plans and outcomes of every phase, in order; and the end, or the
// reason for which the study was aborted. The envelope of an entry (package signed)
// names the envelope before it by its hash, so that whoever knows the last one has all of
// them, and two clients that compare one hash have compared everything.
//
// A client says one thing per question: a Release, whose body is sealed and as large as
// every other of the study. Before that it consents, with an Approval, and it may take
// that back, with a Leave.
//
// Of the bodies this package knows the size and the hash. What the numbers in them mean
// is for others to say.
package transcript
