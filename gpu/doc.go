// Package gpu is the engine: it runs a verified record program over batches of
// rows and returns sums over records, never anything of one record.
//
// An [Engine] compiles a model for a table into an [Evaluator]. The CPU engine is
// always there; an engine on a graphics card comes behind the same interface.
//
// What a record contributes is the gradient of its log density, clipped to an L2
// norm C. A record whose density, gradient or norm is not finite contributes zero.
// Norms are exact: contributions of a record to one coordinate are added before
// squares are taken.
//
// Two ways lead out. [Evaluator.Sum] adds contributions up as floats, in an order
// that depends on the batch alone, so that the result has the same bits with any
// number of workers: for work without privacy. [Evaluator.Each] hands every
// contribution to a [Sink], in which a mechanism adds integers: the private path.
package gpu
