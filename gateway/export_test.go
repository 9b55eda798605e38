package gateway

// Held counts what a gateway keeps in memory for what is under way, by where; nothing may be left at a quiet moment.
func (g *Gateway) Held() map[string]int {
	count := map[string]int{
		"conversations": g.live.len(), "turns": g.turns.len(), "turns left": g.left.len(), "questions": g.waits.len(),
	}
	g.outbox.mu.Lock()
	count["lanes"], count["edits owed"] = len(g.outbox.lanes), len(g.outbox.owed)
	g.outbox.mu.Unlock()
	g.outbox.editing.mu.Lock()
	count["edits"] = len(g.outbox.editing.edits)
	g.outbox.editing.mu.Unlock()
	g.tally.mu.Lock()
	count["acceptances"] = len(g.tally.open)
	g.tally.mu.Unlock()
	g.pool.mu.Lock()
	count["slots"] = len(g.pool.running) + len(g.pool.waiting) + len(g.pool.order)
	g.pool.mu.Unlock()
	g.room.mu.Lock()
	count["waiting messages"] = g.room.all + len(g.room.ofOne)
	g.room.mu.Unlock()
	return count
}
