package inspect

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Duration is a [time.Duration] that is a number of seconds in JSON, such as 0.024. Durations below 20
// days keep their nanoseconds.
type Duration time.Duration

// String returns the duration as [time.Duration.String] does.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalJSON implements [encoding/json.Marshaler].
func (d Duration) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(d)/float64(time.Second), 'f', -1, 64), nil
}

// UnmarshalJSON implements [encoding/json.Unmarshaler]. It returns an error for anything but a number of
// seconds that a [time.Duration] can hold.
func (d *Duration) UnmarshalJSON(text []byte) error {
	seconds, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return fmt.Errorf("the duration %s is not a number of seconds", text)
	}
	nanoseconds := math.Round(seconds * float64(time.Second))
	if math.Abs(nanoseconds) >= math.MaxInt64 {
		return fmt.Errorf("the duration of %s seconds is out of range", text)
	}
	*d = Duration(nanoseconds)
	return nil
}
