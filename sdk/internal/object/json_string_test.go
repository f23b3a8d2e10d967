package object

import "testing"

func TestAppendString_EscapesAllButPrintableASCII(t *testing.T) {
	in := "aé☃😀\u007f\u0000\"\\\n\r\t\b\f\u2028<>&/ \xed\xa0\x80\xff"
	want := `"a\u00e9\u2603\ud83d\ude00\u007f\u0000\"\\\n\r\t\b\f\u2028<>&/ \ud800\ufffd"`
	if got := string(AppendString(nil, in)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
