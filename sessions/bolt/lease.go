package bolt

import (
	"go.etcd.io/bbolt"

	"github.com/talaria-agent/talaria/sessions"
)

// acquire gives a new lease of a key.
type acquire struct {
	lease sessions.Lease // Epoch is the result
}

func (o *acquire) check(*Store, *bbolt.Tx) error { return nil }

func (o *acquire) put(s *Store, _ *bbolt.Tx) (bool, error) {
	s.epoch++
	o.lease.Epoch = s.epoch
	s.leases[o.lease.Key] = o.lease
	return false, nil
}

// release takes a lease back, if it is the current one.
type release struct {
	lease sessions.Lease
}

func (o *release) check(*Store, *bbolt.Tx) error { return nil }

func (o *release) put(s *Store, _ *bbolt.Tx) (bool, error) {
	if s.leases[o.lease.Key] == o.lease {
		delete(s.leases, o.lease.Key)
	}
	if len(s.leases) == 0 {
		s.leases = map[sessions.Key]sessions.Lease{} // one that was full keeps its room
	}
	return false, nil
}
