package discord

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/talaria-agent/talaria/platforms/sim"
)

// Intents that matter here.
const (
	intentGuilds         = 1 << 0
	intentMembers        = 1 << 1
	intentPresences      = 1 << 8
	intentGuildMessages  = 1 << 9
	intentDirectMessages = 1 << 12
	intentMessageContent = 1 << 15
	allIntents           = 1<<26 - 1
)

// Opcodes of the gateway.
const (
	opDispatch       = 0
	opHeartbeat      = 1
	opIdentify       = 2
	opPresence       = 3
	opVoiceState     = 4
	opResume         = 6
	opReconnect      = 7
	opRequestMembers = 8
	opInvalidSession = 9
	opHello          = 10
	opHeartbeatAck   = 11
)

// identifyEvery is the distance that max_concurrency 1 asks for.
const identifyEvery = 5 * time.Second

// gateway is the state of the websocket side. It is guarded by the server's lock.
type gateway struct {
	sessions   map[string]*session
	sockets    map[*socket]bool
	identifies int // left today
	identified time.Time
	resumed    int
	held       *event // waits for its successor, after a swap

	zombie    bool
	mute      bool
	op7First  int
	op11First int
}

// session outlives its socket for a while, so that it can be resumed.
type session struct {
	id       string
	intents  int
	seq      int
	replay   []event
	socket   *socket // nil while disconnected
	detached time.Time
}

// event is one dispatch of one session, or before it has a sequence number, of all.
type event struct {
	seq    int
	name   string
	data   any
	intent int
}

// encode writes the frame.
func (e event) encode() []byte {
	b, _ := json.Marshal(object{"op": opDispatch, "t": e.name, "s": e.seq, "d": e.data}) // made of decoded JSON and strings
	return b
}

func (s *Server) gatewayURL(r *http.Request) string { return "ws://" + r.Host + "/gateway/" }

func (s *Server) getGateway(c *call) (int, any, error) {
	return http.StatusOK, object{"url": s.gatewayURL(c.Request)}, nil
}

func (s *Server) getGatewayBot(c *call) (int, any, error) {
	return http.StatusOK, object{"url": s.gatewayURL(c.Request), "shards": 1, "session_start_limit": object{
		"total": 1000, "remaining": s.gateway.identifies, "reset_after": 4 * time.Hour.Milliseconds(), "max_concurrency": 1,
	}}, nil
}

// messageIntent is the intent under which a place's messages arrive.
func messageIntent(p *place) int {
	if p.kind == typeDM {
		return intentDirectMessages
	}
	return intentGuildMessages
}

// dispatch sends an event to all sessions with the intent (0 = whatever they have), through the faults. The caller
// holds the lock.
func (s *Server) dispatch(name string, data any, intent int) {
	g := &s.gateway
	e := event{name: name, data: data, intent: intent}
	if g.held == nil && s.faults.Events.TakeSwap() {
		g.held = &e
		return
	}
	times := 1
	if s.faults.Events.TakeDuplicate() {
		times = 2
	}
	for range times {
		s.deliver(e)
	}
	if g.held != nil {
		late := *g.held
		g.held = nil
		s.deliver(late)
	}
}

// deliver numbers the event in each session, keeps it for a replay and sends it if the session is connected.
func (s *Server) deliver(e event) {
	for _, ses := range s.gateway.sessions {
		if e.intent == 0 || ses.intents&e.intent != 0 {
			ses.push(e, s.gateway.zombie)
		}
	}
}

func (ses *session) push(e event, deaf bool) {
	if m, ok := e.data.(veil); ok {
		e.data = m.under(ses.intents)
	}
	ses.seq++
	e.seq = ses.seq
	if len(ses.replay) >= keepReplay {
		ses.replay = ses.replay[1:]
	}
	ses.replay = append(ses.replay, e)
	if ses.socket != nil && !deaf {
		ses.socket.send(e.encode())
	}
}

// veil is a message whose content only those see who may: by intent, or because it concerns them.
type veil struct {
	message object
	open    bool
}

func (v veil) under(intents int) object {
	if v.open || intents&intentMessageContent != 0 {
		return v.message
	}
	o := object{}
	for k, value := range v.message {
		o[k] = value
	}
	o["content"] = ""
	for _, k := range []string{"embeds", "attachments", "components"} {
		o[k] = []object{}
	}
	delete(o, "poll")
	delete(o, "message_snapshots")
	return o
}

// dispatchMessage sends a message event with what an event has over the HTTP form. The caller holds the lock.
func (s *Server) dispatchMessage(name string, m *message) {
	o := s.wire(m)
	if g := m.place.guild(); g != "" {
		o["guild_id"] = g
		if m.author != sim.Bot {
			o["member"] = object{"roles": []string{}, "nick": nil, "joined_at": stamp(m.at), "deaf": false, "mute": false}
		}
	}
	s.dispatch(name, veil{o, s.open(m)}, messageIntent(m.place))
}

// open tells whether a bot sees a message's content without the intent.
func (s *Server) open(m *message) bool {
	return m.place.kind == typeDM || m.author == sim.Bot || s.mentionsBot(m)
}

// veiled is a message as the HTTP API gives it to a bot with or without the intent in its portal.
func (s *Server) veiled(m *message) object {
	v := veil{s.wire(m), s.open(m) || !s.opts.NoMessageContent}
	return v.under(0)
}

// identify answers op 2: READY, then the guild. The caller holds the lock.
func (s *Server) identify(k *socket, d object, resumeURL string) {
	g := &s.gateway
	now := time.Now()
	if code := s.refuseIdentify(d); code != 0 {
		k.close(code)
		return
	}
	if g.mute {
		return
	}
	if !s.opts.NoRateLimits && now.Sub(g.identified) < identifyEvery {
		k.op(opInvalidSession, false)
		return
	}
	g.identified = now
	g.identifies--
	if g.op7First > 0 {
		g.op7First--
		k.op(opReconnect, nil)
		return
	}
	if g.op11First > 0 {
		g.op11First--
		k.op(opHeartbeatAck, nil)
	}
	intents, _ := d["intents"].(float64)
	ses := &session{id: "s" + s.ids.next(), intents: int(intents), socket: k}
	g.sessions[ses.id] = ses
	k.session = ses
	ready := object{
		"v": 9, "user": s.person(s.opts.BotUser), "guilds": []object{{"id": Guild, "unavailable": true}}, "private_channels": []any{},
		"session_id": ses.id, "session_type": "normal", "resume_gateway_url": resumeURL, "shard": []int{0, 1},
		"application": object{"id": s.opts.Application, "flags": flagMessageContentLimited},
	}
	ses.push(event{name: "READY", data: ready}, false)
	if ses.intents&intentGuilds != 0 {
		ses.push(event{name: "GUILD_CREATE", data: s.guild()}, g.zombie)
	}
}

// refuseIdentify returns the close code for an IDENTIFY that is refused, 0 if it is not.
func (s *Server) refuseIdentify(d object) int {
	token := strings.TrimPrefix(text(d, "token"), "Bot ")
	intents, isNumber := d["intents"].(float64)
	shard := list(d, "shard")
	switch {
	case !s.tokenFits(token) || s.gateway.identifies <= 0:
		return 4004
	case len(shard) == 2 && (shard[0] != float64(0) || shard[1] != float64(1)):
		return 4010
	case !isNumber || int(intents)&^allIntents != 0:
		return 4013
	case int(intents)&(intentMembers|intentPresences) != 0, int(intents)&intentMessageContent != 0 && s.opts.NoMessageContent:
		return 4014
	}
	return 0
}

func (s *Server) guild() object {
	channels, threads := []object{}, []object{}
	for _, p := range s.places {
		switch p.kind {
		case typeDM:
		case typePublicThread:
			threads = append(threads, s.channel(p))
		default:
			channels = append(channels, s.channel(p))
		}
	}
	return object{
		"id": Guild, "name": "Talaria", "unavailable": false, "channels": channels, "threads": threads, "member_count": len(s.users) + 1,
		"members": []object{s.botMember()}, "roles": []object{{"id": Guild, "name": "@everyone"}, {"id": BotRole, "name": s.opts.BotName}},
	}
}

// resume answers op 6: what was missed, then RESUMED. The caller holds the lock.
func (s *Server) resume(k *socket, d object) {
	if !s.tokenFits(strings.TrimPrefix(text(d, "token"), "Bot ")) {
		k.close(4004)
		return
	}
	ses := s.gateway.sessions[text(d, "session_id")]
	seq, _ := d["seq"].(float64)
	if ses == nil || (ses.socket == nil && time.Since(ses.detached) > s.opts.ResumeWindow) {
		k.op(opInvalidSession, false)
		return
	}
	if int(seq) > ses.seq || (len(ses.replay) > 0 && int(seq) < ses.replay[0].seq-1) {
		k.close(4007)
		return
	}
	if ses.socket != nil {
		ses.socket.cut()
	}
	ses.socket, k.session = k, ses
	s.gateway.resumed++
	for _, e := range ses.replay {
		if e.seq > int(seq) {
			k.send(e.encode())
		}
	}
	ses.push(event{name: "RESUMED", data: object{"_trace": []string{}}}, false)
}
