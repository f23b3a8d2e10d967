package inspect

import "slices"

// Index is an index of objects in the operator's memory: how much there is in it. It is
// complete when all of its resources are [Resource.Listed].
type Index struct {
	ID        string   `json:"id"`        // that of the handlers which fill it
	Key       string   `json:"key"`       // the Go type of the keys
	Value     string   `json:"value"`     // and of the values
	Resources []string `json:"resources"` // the keys of those served that it is filled from, in order
	Keys      int      `json:"keys"`
	Values    int      `json:"values"`  // at least one for each key
	Objects   int      `json:"objects"` // that have given the values
}

// equal tells whether two states of an index are the same.
func (x *Index) equal(other *Index) bool {
	return x.ID == other.ID && x.Key == other.Key && x.Value == other.Value &&
		x.Keys == other.Keys && x.Values == other.Values && x.Objects == other.Objects &&
		slices.Equal(x.Resources, other.Resources)
}

// IndexPage is a part of what is in an index, as it was at one moment or very close to it.
// Entries are in the order of their keys' whole texts, so that pages which are asked for one after
// another fit together as far as the index did not change meanwhile. Keys with equal texts, as
// pointers of one type are, have no order: they may come in another one in each page.
type IndexPage struct {
	ID      string       `json:"id"`
	Offset  int          `json:"offset"` // entries before this page
	Total   int          `json:"total"`  // entries in the index
	Entries []IndexEntry `json:"entries"`
}

// IndexEntry is one value under its key, as texts to be read by people. Long ones are cut.
type IndexEntry struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// MaxIndexPage is the most entries that a page has.
const MaxIndexPage = 1000
