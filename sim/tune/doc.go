// Package tune searches settings of a study's private inference: the clip, the number and size of
// the steps, the sampling rate, the damping.
//
// The cost of a search depends on its records. On records made up from the study's own model,
// prior and public bounds, or on records that the user asserts to be public ([Search]), it costs
// nothing. On the private records every run and every score is a release, and the search is a
// selection whose whole cost meets the study's target ([Selection]).
package tune
