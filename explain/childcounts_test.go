package explain_test

import (
	"testing"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestChildCounts_FailedChildrenHaveMark(t *testing.T) {
	for _, test := range []struct {
		counts *inspect.ChildCounts
		tone   explain.Tone
		text   string
	}{
		{nil, explain.Dim, ""},
		{&inspect.ChildCounts{}, explain.Dim, "0/0"},
		{&inspect.ChildCounts{Ready: 4, Total: 4}, explain.Dim, "4/4"},
		{&inspect.ChildCounts{Ready: 3, Total: 4}, explain.Text, "3/4"},
		{&inspect.ChildCounts{Ready: 2, Failed: 1, Total: 4}, explain.Err, "✗ 2/4"},
	} {
		tone, text := explain.ChildCounts(&inspect.Object{Children: test.counts})
		if tone != test.tone || text != test.text {
			t.Errorf("%+v is shown as %q in tone %v, want %q in tone %v", test.counts, text, tone, test.text, test.tone)
		}
	}
}
