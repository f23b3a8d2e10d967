package leases

import (
	"fmt"
	"time"
)

// Times say how long leases last, as for the leader election of client-go.
type Times struct {
	Duration      time.Duration // time after the last renewal until another replica may take a lease; whole seconds
	RenewDeadline time.Duration // time after which a replica that cannot renew a lease stops the work that the lease protects
	RetryPeriod   time.Duration // between two looks at the leases
}

// Check returns an error for times with which two replicas could hold a lease, or none.
func (t Times) Check() error {
	switch {
	case t.Duration < time.Second || t.Duration%time.Second != 0:
		return fmt.Errorf("the lease duration is %s: it must be a whole number of seconds", t.Duration)
	case t.RenewDeadline >= t.Duration:
		return fmt.Errorf("the renew deadline %s must be shorter than the lease duration %s", t.RenewDeadline, t.Duration)
	case t.RetryPeriod <= 0 || t.RetryPeriod*2 > t.RenewDeadline:
		return fmt.Errorf("the retry period %s must be at most half of the renew deadline %s", t.RetryPeriod, t.RenewDeadline)
	}
	return nil
}

// renewDue reports whether a lease must be renewed. A third of the duration leaves time for more attempts.
func (t Times) renewDue(renewed, now time.Time) bool {
	return now.Sub(renewed) >= t.Duration/3-t.RetryPeriod/2
}
