package inspect

import (
	"encoding/json"
	"testing"
	"time"
)

func TestDuration_IsSecondsInJSON(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                   "0",
		24 * time.Millisecond:               "0.024",
		time.Nanosecond:                     "0.000000001",
		90*time.Minute + time.Nanosecond:    "5400.000000001",
		-1500 * time.Millisecond:            "-1.5",
		20*24*time.Hour - 3*time.Nanosecond: "1727999.999999997",
	} {
		text, err := json.Marshal(Duration(d))
		if err != nil || string(text) != want {
			t.Errorf("%s is %s, %v; want %s", d, text, err, want)
		}
		var back Duration
		if err := json.Unmarshal(text, &back); err != nil || time.Duration(back) != d {
			t.Errorf("%s comes back as %s, %v", d, back, err)
		}
	}
}

func TestDuration_RejectsWhatIsNoNumberOfSeconds(t *testing.T) {
	for _, text := range []string{`"24ms"`, `true`, `1e300`, `-1e10`} {
		var d Duration
		if err := json.Unmarshal([]byte(text), &d); err == nil {
			t.Errorf("%s is %s", text, d)
		}
	}
}
