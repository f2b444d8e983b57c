// Package autoencoder trains a variational autoencoder of images on one machine, with or without
// differential privacy of each image. It reads an experiment file, computes the privacy cost, and
// draws images from the trained network. It is only for simulations.
package autoencoder
