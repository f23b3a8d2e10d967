package observe

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// TestInspector_HasConstantsForTheKindsOfTheEngine compares values that the inspector copies as strings.
func TestInspector_HasConstantsForTheKindsOfTheEngine(t *testing.T) {
	for _, pair := range [][2]string{
		{string(handlers.Create), string(inspect.KindCreate)},
		{string(handlers.Update), string(inspect.KindUpdate)},
		{string(handlers.Delete), string(inspect.KindDelete)},
		{string(handlers.Resume), string(inspect.KindResume)},
		{string(handlers.Field), string(inspect.KindField)},
		{string(handlers.Sub), string(inspect.KindSub)},
		{string(handlers.Event), string(inspect.KindEvent)},
		{string(handlers.Daemon), string(inspect.KindDaemon)},
		{string(handlers.Timer), string(inspect.KindTimer)},
		{string(handlers.Index), string(inspect.KindIndex)},
		{string(handlers.Validate), string(inspect.KindValidate)},
		{string(handlers.Mutate), string(inspect.KindMutate)},
		{string(handlers.Startup), string(inspect.KindStartup)},
		{string(handlers.Cleanup), string(inspect.KindCleanup)},
		{string(handlers.Login), string(inspect.KindLogin)},
		{string(handlers.Probe), string(inspect.KindProbe)},

		{string(handlers.ReasonCreate), string(inspect.ReasonCreate)},
		{string(handlers.ReasonUpdate), string(inspect.ReasonUpdate)},
		{string(handlers.ReasonDelete), string(inspect.ReasonDelete)},
		{string(handlers.ReasonResume), string(inspect.ReasonResume)},
		{string(handlers.ReasonNoop), string(inspect.ReasonNoop)},
		{string(handlers.ReasonFree), string(inspect.ReasonFree)},

		{string(handlers.KindTemporary), string(inspect.ErrorTemporary)},
		{string(handlers.KindPermanent), string(inspect.ErrorPermanent)},
		{string(handlers.KindArbitrary), string(inspect.ErrorArbitrary)},
		{string(handlers.KindTimeout), string(inspect.ErrorTimeout)},
		{string(handlers.KindRetries), string(inspect.ErrorRetries)},
		{string(handlers.KindPanic), string(inspect.ErrorPanic)},
		{string(handlers.KindAdmission), string(inspect.ErrorAdmission)},

		{string(handlers.MismatchReason), string(inspect.MismatchReason)},
		{string(handlers.MismatchDeleted), string(inspect.MismatchDeleted)},
		{string(handlers.MismatchLabel), string(inspect.MismatchLabel)},
		{string(handlers.MismatchAnnotation), string(inspect.MismatchAnnotation)},
		{string(handlers.MismatchField), string(inspect.MismatchField)},
		{string(handlers.MismatchValue), string(inspect.MismatchValue)},
		{string(handlers.MismatchOld), string(inspect.MismatchOld)},
		{string(handlers.MismatchNew), string(inspect.MismatchNew)},
		{string(handlers.MismatchWhen), string(inspect.MismatchWhen)},

		{string(object.DiffAdd), string(inspect.DiffAdd)},
		{string(object.DiffChange), string(inspect.DiffChange)},
		{string(object.DiffRemove), string(inspect.DiffRemove)},
	} {
		if pair[0] != pair[1] {
			t.Errorf("the engine says %q, the inspector %q", pair[0], pair[1])
		}
	}
}
