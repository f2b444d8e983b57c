// Package autoencoder trains a variational autoencoder of images on one machine from an
// experiment file, with or without privacy of every image. It states the cost by two
// accountings and draws images from the trained network. It is for simulations only.
package autoencoder
