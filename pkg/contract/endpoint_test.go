package contract

import (
	"encoding/json"
	"testing"
)

func TestExternalEndpoint(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: false,
		`{"loadbalancer_apiserver":{"address":"10.0.0.9","port":8383}}`: true,
		`{"loadbalancer_apiserver":null}`:                               false,
		`{"loadbalancer_apiserver_localhost":true}`:                     false,
		`{"apiserver_loadbalancer_domain_name":"api.example"}`:          false,
	} {
		var r Request
		if err := json.Unmarshal([]byte(text), &r.Vars); err != nil {
			t.Fatal(err)
		}
		if got := r.ExternalEndpoint(); got != want {
			t.Errorf("ExternalEndpoint with %s = %t", text, got)
		}
	}
}
