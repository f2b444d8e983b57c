// Package coordinator runs studies: it lets invited clients join, begins when they have
// consented, opens rounds, takes their answers, closes rounds at their deadline, and says
// at the end what came out.
//
// A [Hub] is a state directory with its studies. Each [Study] answers its clients, as
// [fedpvi/transport.Coordinator] says, and is one loop: commands that came while the disk
// was busy are carried out together, in order, and what they change is written in one
// transaction. Nobody gets an answer, and no client sees an entry, before what it rests
// on is safe on disk. When a transaction fails the study is what the disk says it is.
//
// So a coordinator that is killed at any instant goes on with the same round when it is
// started again, and every entry that anybody has seen is there, byte for byte.
//
// Time comes from a clock function of the caller. Nothing here draws noise, and nothing
// that is derived from records is logged.
package coordinator
