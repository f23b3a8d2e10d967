package children

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestNameOf_IsReadableAndValid(t *testing.T) {
	long := strings.Repeat("long", 20)
	for _, tt := range []struct {
		parts []string
		want  string // a hash stands where * is
	}{
		{[]string{"shop", "web"}, "shop-web"},
		{[]string{"shop", "v1.2"}, "shop-v1-2-*"},
		{[]string{"Shop"}, "shop-*"},
		{[]string{"-shop-"}, "shop-*"},
		{[]string{long}, long[:43] + "-*"},
		{[]string{""}, "*"},
		{nil, "*"},
	} {
		got := NameOf(tt.parts...)
		readable, hashed := strings.CutSuffix(tt.want, "*")
		if !strings.HasPrefix(got, readable) || !hashed && got != tt.want || hashed && len(got) != len(readable)+8 {
			t.Errorf("NameOf(%q) is %s, not %s", tt.parts, got, tt.want)
		}
	}
	if NameOf("a.b") == NameOf("a_b") || NameOf(long+"1") == NameOf(long+"2") {
		t.Error("two names are one")
	}
}

func TestChecksum_DiffersIfContentsDo(t *testing.T) {
	type config struct{ A, B string }
	if Checksum(map[string]string{"A": "1", "B": "2"}) != Checksum(config{"1", "2"}) {
		t.Error("the type counts")
	}
	if Checksum("ab", "c") == Checksum("a", "bc") || Checksum(1) == Checksum("1") || Checksum() == Checksum(nil) {
		t.Error("different values have one checksum")
	}
	defer func() {
		if r, _ := recover().(string); !strings.HasPrefix(r, "manifest.Checksum: ") {
			t.Errorf("a channel: %q", r)
		}
	}()
	Checksum(make(chan int))
}

func FuzzNames_AreValid(f *testing.F) {
	for _, seed := range []string{"", "shop", "webapps.example.com", "Ünïcode", strings.Repeat("x", 64), "--..__", strings.Repeat("-", 60) + "a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if problems := validation.IsDNS1123Label(NameOf(text)); problems != nil || len(NameOf(text)) > 52 {
			t.Errorf("NameOf(%q) is %q: %v", text, NameOf(text), problems)
		}
		if problems := validation.IsValidLabelValue(LabelValue(text)); problems != nil {
			t.Errorf("LabelValue(%q) is %q: %v", text, LabelValue(text), problems)
		}
		if validation.IsValidLabelValue(text) == nil && LabelValue(text) != text {
			t.Errorf("LabelValue(%q) is %q", text, LabelValue(text))
		}
	})
}
