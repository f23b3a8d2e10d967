package inspect

import "time"

// The variable and the header by which "kopf plan" and an operator on a copy of its objects know each other.
const (
	// PlanVariable makes an operator run for a plan: it starts no daemons and timers, calls no steps, and repeats handlers without a
	// delay. The value is the maximum number of calls of a handler for one object.
	PlanVariable = "KOPF_PLAN"

	// PlanHeader is a header of all requests of an operator that runs for a plan: the id of the handler, the UID of its object and
	// the number of the attempt, divided by spaces, or [PlanEngine] for the operator's own requests.
	PlanHeader = "Kopf-Handler"
	PlanEngine = "engine"

	// PlanStep is the end of the error of a handler that stops at a step.
	PlanStep = "plans do not call steps"

	// PlanLater is added to the delay of a handler that reached the maximum number of calls, so that the delay outlasts the plan.
	PlanLater = 1000 * time.Hour
)
