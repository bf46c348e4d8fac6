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
	for api, want := range map[*API]string{
		nil:                               "",
		{Names: []string{"api.example"}}:  "",
		{Address: "10.0.0.9", Port: 8443}: "https://10.0.0.9:8443",
		{Address: "api.example", Port: 6443, Names: []string{"b"}}: "https://api.example:6443",
	} {
		s := Spec{API: api}
		if api.URL() != want || s.ExternalEndpoint() != (want != "") {
			t.Errorf("%+v: %q, external %t", api, api.URL(), s.ExternalEndpoint())
		}
	}
}

func TestMoves(t *testing.T) {
	for api, want := range map[*API]bool{nil: false, {Virtual: true}: false, {Address: "10.0.0.9", Port: 6443}: false, {Address: "10.0.0.9", Port: 6443, Virtual: true}: true} {
		if api.Moves() != want {
			t.Errorf("%+v moves: %t", api, !want)
		}
	}
}

func TestAPIServerURL(t *testing.T) {
	for port, want := range map[string]string{"": "https://10.0.0.1:6443", "7443": "https://10.0.0.1:7443", `"7443"`: "https://10.0.0.1:6443", "0": "https://10.0.0.1:6443", "70000": "https://10.0.0.1:6443"} {
		if got := APIServerURL("10.0.0.1", json.RawMessage(port)); got != want {
			t.Errorf("port %s: %s, want %s", port, got, want)
		}
	}
}
