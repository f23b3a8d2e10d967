package binary

import "testing"

func TestParsePlan_CountsCachedPackages(t *testing.T) {
	p := parsePlan("unsafe false\nfmt true\nexample.com/a true\nexample.com/main false\n")
	if p.total != 4 || p.cached != 1 || p.main != "example.com/main" || len(p.pending) != 3 || p.pending["unsafe"] {
		t.Errorf("got %+v", p)
	}
}
