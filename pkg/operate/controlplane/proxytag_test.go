package controlplane

import (
	"testing"
)

func TestProxyTag(t *testing.T) {
	for vars, want := range map[string]string{
		`{}`: "nginx",
		`{"loadbalancer_apiserver_localhost":true}`:                                                 "nginx",
		`{"loadbalancer_apiserver_localhost":"{{ true }}"}`:                                         "nginx",
		`{"loadbalancer_apiserver_type":"haproxy"}`:                                                 "haproxy",
		`{"loadbalancer_apiserver_localhost":false}`:                                                "",
		`{"loadbalancer_apiserver_localhost":"No","loadbalancer_apiserver_type":"haproxy"}`:         "",
		`{"loadbalancer_apiserver":{"address":"10.0.0.9"}}`:                                         "",
		`{"loadbalancer_apiserver":{"address":"10.0.0.9"},"loadbalancer_apiserver_localhost":true}`: "nginx",
	} {
		if got, err := ProxyTag([]byte(vars)); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", vars, got, err, want)
		}
	}
	if _, err := ProxyTag([]byte("[")); err == nil {
		t.Error("broken variables are no error")
	}
}
