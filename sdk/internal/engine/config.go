package engine

import (
	"log/slog"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/reviews"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// Config configures an operator.
type Config struct {
	Registry   *handlers.Registry
	Settings   func() core.Settings // returns the settings; called again after the startup handlers, which may change them
	Namespaces []string             // namespace patterns; empty for the whole cluster
	REST       *rest.Config         // client configuration; nil if there are logins
	Logins     []*handlers.Handler
	Logger     *slog.Logger
	Dev        bool          // development session: log which operators act concurrently
	Identity   string        // identity of the operator in peerings and claims
	HandOver   func() bool   // reports whether to keep the peering record for the operator's next process; nil means never
	Inspector  string        // address of the inspector; empty for no inspector
	Traffic    bool          // log each request to the cluster
	OnReady    func()        // called once when all objects are being watched
	OnLogins   func(*Logins) // called once at the start; required if REST is nil
	Memo       any           // memo of the operator, shared by its own handlers
	NewMemo    func() any    // constructor of an object's memo; nil if objects have no memos
	Extra      any           // value of [handlers.Call.Extra] for the operator's own handlers
	Exit       func()        // ends a process that is still running ExitingTimeout after the stop request; may be nil

	NewPasses     func(*core.Deps) core.Passes     // constructor of the passes; nil without reconcile handlers
	NewConditions func(*core.Deps) core.Conditions // constructor of the conditions; nil if no resource asks for them
	NewLimits     func(*core.Deps) core.CallLimits // constructor of the limits of calls; nil if no handler has one
	NewAdmission  reviews.NewControl               // nil without admission handlers

	Now func() time.Time // clock of records and delays; nil for time.Now
}
