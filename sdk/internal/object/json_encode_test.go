package object

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAppendFloat_AsPython(t *testing.T) {
	for want, f := range map[string]float64{
		"1.0": 1, "0.0": 0, "-0.0": math.Copysign(0, -1), "0.1": 0.1, "1.5": 1.5, "-2.5": -2.5,
		"1e-07": 1e-7, "0.0001": 1e-4, "1e-05": 1e-5, "1.5e-05": 1.5e-5,
		"1e+16": 1e16, "9999999999999998.0": 9999999999999998, "1e+21": 1e21, "1.2345678901234567e+19": 12345678901234567890,
		"123456789012345.6": 123456789012345.6, "1.7976931348623157e+308": math.MaxFloat64, "5e-324": 5e-324,
		"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1),
	} {
		if got := string(appendFloat(nil, f)); got != want {
			t.Errorf("%v is %s, not %s", f, got, want)
		}
	}
}

func TestAppendJSON_KeysFollowTheOrderThenSorted(t *testing.T) {
	order := []byte(` { "z" : {"b":1,"a":2} , "q\u0041": [ {"y":1,"x":2}, 3 ], "gone": {"k":"}"}, "n": 18446744073709551616, "\"": 1 } `)
	v := map[string]any{
		"z": map[string]any{"a": int64(2), "b": int64(1), "c": nil}, "qA": []any{map[string]any{"x": true, "y": 1.0}, int64(3), "more"},
		"n": 18446744073709551616.0, "\"": "v", "new": map[string]any{"q": int64(1), "p": 5}, "empty": map[string]any{}, "list": []any{},
	}
	want := `{"z":{"b":1,"a":2,"c":null},"qA":[{"y":1.0,"x":true},3,"more"],"n":18446744073709551616,"\"":"v","empty":{},"list":[],"new":{"p":5,"q":1}}`
	got, err := AppendJSON(nil, v, order)
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

func TestAppendJSON_ToleratesAnUnrelatedOrder(t *testing.T) {
	v := map[string]any{"a": []any{int64(1)}, "b": map[string]any{"c": 1.5}}
	want := `{"a":[1],"b":{"c":1.5}}`
	for _, order := range []string{"", "null", "[1,2]", `"`, `{`, `{"a"`, `{"a":{"x":1},"b":[`, `{"b":1e5`, `{"a":[`} {
		got, err := AppendJSON(nil, v, []byte(order))
		var back any
		if err == nil {
			back, err = DecodeJSON(got)
		}
		if err != nil || !cmp.Equal(back, any(v)) {
			t.Errorf("with %q: %s, %v; want %s", order, got, err, want)
		}
	}
}

func TestAppendJSON_EncodesGoTypes(t *testing.T) {
	type small struct {
		N int `json:"n"`
	}
	got, err := AppendJSON(nil, map[string]any{"s": small{N: 1}, "l": []string{"é"}, "j": json.Number("1e2")}, nil)
	if err != nil || string(got) != `{"j":100.0,"l":["\u00e9"],"s":{"n":1}}` {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := AppendJSON(nil, map[string]any{"c": make(chan int)}, nil); err == nil {
		t.Error("a channel was written")
	}
	if _, err := AppendJSON(nil, json.Number("x"), nil); err == nil {
		t.Error("a number that is none was written")
	}
}

func FuzzJSON_RoundTrip(f *testing.F) {
	f.Add(`{"a":[1,2.5,"\ud800é",null,true],"b":{"c":12345678901234567890}}`)
	f.Add("\"\\u00e9\xff\"")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := DecodeJSON([]byte(text))
		if err != nil {
			return
		}
		out, err := AppendJSON(nil, v, []byte(text))
		if err != nil {
			t.Fatalf("%q was read, but is not written: %v", text, err)
		}
		if _, err := DecodeJSON(out); err != nil {
			t.Fatalf("%q was written as %q, which is not read: %v", text, out, err)
		}
	})
}

func BenchmarkAppendJSON(b *testing.B) {
	text := []byte(`{"spec":{"size":"10Gi","ttl":3600,"template":{"labels":{"app":"x","tier":"gold"},"ports":[80,443],"ratio":1.5}},"metadata":{"labels":{"app":"x"},"annotations":{"a.example.com/b":"c"}}}`)
	v, err := DecodeJSON(text)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := AppendJSON(nil, v, text); err != nil {
			b.Fatal(err)
		}
	}
}
