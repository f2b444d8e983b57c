package page

// PicturesOf is picturesOf, for tests.
var PicturesOf = picturesOf
