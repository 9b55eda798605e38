package bolt

import (
	"bytes"
	"context"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/talaria-agent/talaria/sessions"
)

// set replaces a value.
type set struct{ sessions.Set }

func (o *set) check(_ *Store, tx *bbolt.Tx) error {
	if !bytes.Equal(tx.Bucket(valuesBucket).Get([]byte(o.Name)), o.Was) {
		return sessions.ErrState
	}
	return nil
}

func (o *set) put(_ *Store, tx *bbolt.Tx) (bool, error) {
	if len(o.Value) == 0 {
		return true, tx.Bucket(valuesBucket).Delete([]byte(o.Name))
	}
	return true, tx.Bucket(valuesBucket).Put([]byte(o.Name), bytes.Clone(o.Value))
}

// Value implements sessions.Store.
func (s *Store) Value(ctx context.Context, name string) (value []byte, err error) {
	if err = ctx.Err(); err == nil {
		err = s.view(func(tx *bbolt.Tx) error {
			value = bytes.Clone(tx.Bucket(valuesBucket).Get([]byte(name)))
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("value %s: %w", name, err)
	}
	return value, nil
}
