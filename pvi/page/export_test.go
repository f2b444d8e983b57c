package page

// PicturesOf exports picturesOf for tests.
var PicturesOf = picturesOf
