package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/talaria-agent/talaria/gateway"
)

// TestDeliveries: a chat follows its platform and that the rest, in whatever order they stand.
func TestDeliveries(t *testing.T) {
	cfg, _, err := loadConfig(writeConfig(t, `
[[delivery.at]]
place = "telegram:-5"
[[delivery.at]]
place = "telegram:-6"
final = "new"
[[delivery.at]]
place = "telegram"
final = "edit"
stream = "edit"
[[delivery.at]]
place = "slack:C1"
stream = "native"
`), env("TELEGRAM_BOT_TOKEN", "1:a"))
	if err != nil {
		t.Fatal(err)
	}
	want := gateway.Deliveries{
		"":            {Final: gateway.FinalNew, Stream: gateway.StreamOff},
		"telegram":    {Final: gateway.FinalEdit, Stream: gateway.StreamEdit},
		"telegram:-5": {Final: gateway.FinalEdit, Stream: gateway.StreamEdit},
		"telegram:-6": {Final: gateway.FinalNew, Stream: gateway.StreamEdit},
		"slack:C1":    {Final: gateway.FinalNew, Stream: gateway.StreamNative},
	}
	if d := cmp.Diff(want, cfg.deliveries()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
