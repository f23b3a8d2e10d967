package parts

import "testing"

func TestQuery_WordsOfOneColumn(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "web": true, "retry": true, "state:retry": true, "st:retry": true, "state:web": false, "name:web": true, "name:default": false,
		"ns:def": true, "namespace:def web": true, "web other": false, "Web": true, "more": true, "10:30": true, ":x": false, "state:": true,
	} {
		f := NewFilter()
		f.Type()
		typed(&f, text)
		if got := f.Query("state", "namespace", "name").Matches("retrying", "default", "web-cache", "more at 10:30"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
