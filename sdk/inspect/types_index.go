package inspect

// Index describes an index of the operator. It is complete when all of its resources are
// [Resource].Listed.
type Index struct {
	ID        string   `json:"id"`        // id of the indexing functions
	Key       string   `json:"key"`       // Go type of the keys
	Value     string   `json:"value"`     // Go type of the values
	Resources []string `json:"resources"` // keys of the served resources whose objects fill the index, sorted
	Keys      int      `json:"keys"`
	Values    int      `json:"values"`  // number of values; at least one per key
	Objects   int      `json:"objects"` // number of objects with values
}

// IndexPage is a part of the contents of an index, at about one point in time. Entries are sorted by the full texts of their
// keys, so that consecutive pages fit together unless the index changes in between. Keys with equal texts, such as pointers,
// have no fixed order.
type IndexPage struct {
	ID      string       `json:"id"`
	Offset  int          `json:"offset"` // number of entries before this page
	Total   int          `json:"total"`  // number of entries in the index; in a search, number of matching entries
	Entries []IndexEntry `json:"entries"`
}

// IndexEntry is one value under its key, as texts for people. Long texts are cut.
type IndexEntry struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// MaxIndexPage is the maximum number of entries in a page.
const MaxIndexPage = 1000
