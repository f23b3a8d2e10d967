package handlers

import "time"

// CallLimit limits the calls of all handlers that point to it, taken together.
type CallLimit struct {
	Running int           // maximum number of calls that run at the same time
	Rate    int           // maximum number of calls that begin in each period; 0 means no limit
	Per     time.Duration // the period
}
