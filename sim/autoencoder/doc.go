// Package autoencoder trains a variational autoencoder of images on one machine, with or without
// privacy of every image. It reads an experiment file, states the cost by two accountings, and
// draws images from the trained network. It is only for simulations.
package autoencoder
