// Package autoencoder trains a variational autoencoder of images on one machine, as an
// experiment file says: with privacy of every image, or without. It says what that costs by
// two accountings, draws what the network has learned, and is for simulations only.
package autoencoder
