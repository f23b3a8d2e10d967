package object

import (
	"testing"
	"time"
)

func TestFormatTime_UTCWithMicroseconds(t *testing.T) {
	at := time.Date(2021, 1, 1, 1, 59, 59, 123456789, time.FixedZone("", 2*3600))
	if got := FormatTime(at); got != "2020-12-31T23:59:59.123456+00:00" {
		t.Error(got)
	}
	if got := FormatTime(time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)); got != "2020-01-02T03:04:05.000000+00:00" {
		t.Error(got)
	}
}

func TestParseTime_AllNotations(t *testing.T) {
	want := time.Date(2020, 12, 31, 23, 59, 59, 123456000, time.UTC)
	for _, s := range []string{
		"2020-12-31T23:59:59.123456+00:00", "2020-12-31T23:59:59.123456Z", "2020-12-31T23:59:59.123456", "2021-01-01T01:59:59.123456+02:00",
		"2020-12-31T23:59:59,123456+0000", "2020-12-31 23:59:59.123456", "2020-12-31 23:59:59.123456+00:00", "2021-01-01T00:59:59.123456+01",
	} {
		if got, err := ParseTime(s); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"yesterday", "0000-06-01T00:00:00Z", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"} {
		if got, err := ParseTime(s); err == nil {
			t.Errorf("%s is %v", s, got)
		}
	}
}
