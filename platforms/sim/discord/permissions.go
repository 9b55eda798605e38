package discord

import (
	"net/http"
	"strconv"
)

// Permissions of a bot in a server (https://discord.com/developers/docs/topics/permissions).
const (
	mayReact       = 1 << 6
	mayView        = 1 << 10
	maySend        = 1 << 11
	mayReadHistory = 1 << 16
	mayOpenThreads = 1 << 35
	mayUseThreads  = 1 << 38
	allPermissions = 1<<50 - 1
)

// may is what the bot is allowed to do in the server. The lock is held.
func (s *Server) may() uint64 {
	if s.opts.Permissions == 0 {
		return allPermissions
	}
	return s.opts.Permissions
}

// getGuilds lists the servers that the bot is in, with its permissions there as a number in a string.
func (s *Server) getGuilds(*call) (int, any, error) {
	if s.opts.Outside {
		return http.StatusOK, []object{}, nil
	}
	return http.StatusOK, []object{{
		"id": Guild, "name": "Talaria", "icon": nil, "owner": false, "permissions": strconv.FormatUint(s.may(), 10), "features": []string{},
	}}, nil
}

// forbids refuses a call about a channel of the server that the bot has no permission for. The lock is held.
func (s *Server) forbids(c *call) *problem {
	if c.place.kind == typeDM {
		return nil
	}
	if s.may()&mayView == 0 {
		return errMissingAccess
	}
	for _, need := range needs(c) {
		if s.may()&need == 0 {
			return errMissingPermission
		}
	}
	return nil
}

// needs returns the permissions that a call needs beside that to view the channel.
func needs(c *call) []uint64 {
	switch c.route {
	case "POST /channels/messages":
		need := []uint64{maySend}
		if c.place.kind == typePublicThread {
			need[0] = mayUseThreads
		}
		if _, reply := c.form()["message_reference"]; reply {
			need = append(need, mayReadHistory)
		}
		return need
	case "POST /channels/typing":
		return []uint64{maySend}
	case "PUT /channels/messages/reactions":
		return []uint64{mayReact, mayReadHistory}
	case "POST /channels/threads", "POST /channels/messages/threads":
		return []uint64{mayOpenThreads}
	}
	return nil
}

// SetPermissions changes what the bot may do in the server.
func (s *Server) SetPermissions(bits uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts.Permissions = bits
}
