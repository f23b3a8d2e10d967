package kopf

// NewPatch is for the tests of patches; other tests use package kopftest.
var NewPatch = newPatch
