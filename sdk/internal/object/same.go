package object

import "bytes"

// SameBut reports if two versions of an object are the same text but for the status, for
// what the server counts (the resource version, the generation), and for the annotations that the
// function names. It decodes nothing, and is false when in doubt: versions that mean the same may
// be written in different ways.
func (o *Object) SameBut(other *Object, annotation func(key string) bool) bool {
	status := func(key []byte) bool { return string(key) == "status" || string(key) == "metadata" }
	counted := func(key []byte) bool {
		switch string(key) {
		case "resourceVersion", "generation", "managedFields", "annotations":
			return true
		}
		return false
	}
	mine, theirs := o.Member("metadata"), other.Member("metadata")
	return sameMembers(o.Raw, other.Raw, status) &&
		sameMembers(mine, theirs, counted) &&
		sameMembers(memberOf(mine, "annotations"), memberOf(theirs, "annotations"), func(key []byte) bool { return annotation(keyText(key)) })
}

// sameMembers compares two objects member by member, in the order of their texts. An
// absent object has no members.
func sameMembers(a, b []byte, skip func(key []byte) bool) bool {
	one, two := membersOf(a), membersOf(b)
	for {
		moreOne, moreTwo := one.nextExcept(skip), two.nextExcept(skip)
		switch {
		case one.problem != "" || two.problem != "":
			return false
		case !moreOne || !moreTwo:
			return moreOne == moreTwo
		case !bytes.Equal(one.key, two.key) || !bytes.Equal(one.value, two.value):
			return false
		}
	}
}

func (m *members) nextExcept(skip func(key []byte) bool) bool {
	for m.next() {
		if !skip(m.key) {
			return true
		}
	}
	return false
}
