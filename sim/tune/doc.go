// Package tune searches settings of a study's private inference: the clip, the steps
// and their size, the sampling rate, the damping.
//
// What is searched on decides what a search costs. On records made up from the study's
// own model, prior and public bounds, or on records that the user asserts to be public
// ([Search]), it costs nothing. On the private records every run and every score is a
// release, and a search is possible only as a selection whose whole cost meets the
// study's target ([Selection]).
package tune
