package discord

// Zombie makes the gateway go deaf and dumb while its connections stay up: no heartbeat is acknowledged and no event
// is sent until it is switched off. What was missed is replayed to a session that resumes.
func (s *Server) Zombie(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gateway.zombie = on
}

// Mute makes the gateway take IDENTIFYs and answer nothing.
func (s *Server) Mute(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gateway.mute = on
}

// Op7First makes the next n IDENTIFYs be answered with op 7 (reconnect) instead of READY.
func (s *Server) Op7First(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gateway.op7First = n
}

// Op11First puts a heartbeat ACK before the next n READYs.
func (s *Server) Op11First(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gateway.op11First = n
}

// Reconnect asks all connected clients to reconnect (op 7), as the service does when a gateway node is replaced.
func (s *Server) Reconnect() { s.toAll(func(k *socket) { k.op(opReconnect, nil) }) }

// Invalidate ends all sessions (op 9), or tells clients that theirs can be resumed.
func (s *Server) Invalidate(resumable bool) {
	s.toAll(func(k *socket) { k.op(opInvalidSession, resumable) })
	if !resumable {
		s.mu.Lock()
		defer s.mu.Unlock()
		clear(s.gateway.sessions)
	}
}

// Heartbeat asks all connected clients for a heartbeat (op 1).
func (s *Server) Heartbeat() { s.toAll(func(k *socket) { k.op(opHeartbeat, nil) }) }

// CloseSockets closes all connections with a close code; 0 cuts them without a word.
func (s *Server) CloseSockets(code int) {
	s.toAll(func(k *socket) {
		if code == 0 {
			k.cut()
			return
		}
		k.close(code)
	})
}

// Dispatch sends an event as it is given, for what people and the service do beyond the Stage, and for nonsense.
func (s *Server) Dispatch(name string, data any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dispatch(name, data, 0)
}

// Frame sends a frame as it is given to all connected clients.
func (s *Server) Frame(raw string) { s.toAll(func(k *socket) { k.send([]byte(raw)) }) }

// Identifies returns how many sessions can still be started.
func (s *Server) Identifies() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gateway.identifies
}

// SetIdentifies sets how many sessions can still be started; with none left the token is revoked, as the service does.
func (s *Server) SetIdentifies(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gateway.identifies = n
}

// Resumed returns how often a session was resumed.
func (s *Server) Resumed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gateway.resumed
}

// Connected returns the number of connected sessions.
func (s *Server) Connected() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, ses := range s.gateway.sessions {
		if ses.socket != nil {
			n++
		}
	}
	return n
}

func (s *Server) toAll(f func(*socket)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.gateway.sockets {
		f(k)
	}
}

// SetToken makes another token the bot's; the one before is refused from now on.
func (s *Server) SetToken(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts.Token = token
}

// Unanswered returns how many interactions have run out without a first response.
func (s *Server) Unanswered() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unanswered
}
