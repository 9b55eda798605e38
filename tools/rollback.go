package tools

// Rollback is what a person wants to have taken back.
type Rollback struct {
	ID    string                      // names the command, which is carried out once however often it comes
	N     int                         // how many turns and earlier rollbacks to go back
	Force bool                        // even what somebody else has changed since then
	May   func(requester string) bool // whether the person may take back what was done for somebody
}
