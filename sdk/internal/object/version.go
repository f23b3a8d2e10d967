package object

import "strconv"

// Older compares versions of one object. They are numbers that grow; a server that
// makes them in another way gets the benefit of the doubt only for equal ones.
func Older(a, b string) bool {
	if a == b {
		return false
	}
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	if errX != nil || errY != nil {
		return true
	}
	return x < y
}

// Detached returns the same version with a tree of its own: what is decoded of it is
// forgotten with it, while this one is kept for long.
func (o *Object) Detached() *Object {
	return &Object{
		Raw: o.Raw, APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, UID: o.UID,
		ResourceVersion: o.ResourceVersion, Generation: o.Generation, Created: o.Created, Deleting: o.Deleting,
	}
}
