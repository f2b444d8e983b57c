package page

// PictureOf is pictureOf, for tests.
var PictureOf = pictureOf
