package object

import "bytes"

// SameBut reports whether the texts of two versions of an object are equal, except for the
// status, the resourceVersion, the generation, the managed fields, and the annotations for which
// the function returns true. It decodes nothing, so it returns false for equal content in different
// notations.
func (o *Object) SameBut(other *Object, annotation func(key string) bool) bool {
	topLevel := func(key []byte) bool { return string(key) == "status" || string(key) == "metadata" }
	volatile := func(key []byte) bool {
		switch string(key) {
		case "resourceVersion", "generation", "managedFields", "annotations":
			return true
		}
		return false
	}
	mine, theirs := o.Member("metadata"), other.Member("metadata")
	return sameMembers(o.Raw, other.Raw, topLevel) &&
		sameMembers(mine, theirs, volatile) &&
		sameMembers(Member(mine, "annotations"), Member(theirs, "annotations"), func(key []byte) bool { return annotation(keyText(key)) })
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
