package etcd

import (
	"strings"
	"testing"
)

func TestRemoval(t *testing.T) {
	at := func(id uint64, address string) Member {
		return Member{ID: id, PeerURLs: []string{"https://" + address + ":2380"}, ClientURLs: []string{"https://" + address + ":2379"}}
	}
	a, b, c := at(1, "10.0.0.1"), at(2, "10.0.0.2"), at(3, "[fd00::3]")
	learner := at(4, "10.0.0.4")
	learner.IsLearner = true
	url := func(m Member) string { return m.ClientURLs[0] }
	for _, tc := range []struct {
		name      string
		members   []Member
		healthy   []string
		addresses []string
		want      uint64 // 0: there is no member to remove
		refused   bool
	}{
		{"one of three", []Member{a, b, c}, []string{url(a), url(b)}, []string{"10.0.0.9", "fd00:0::3"}, 3, false},
		{"a healthy one of three", []Member{a, b, c}, []string{url(a), url(b), url(c)}, []string{"10.0.0.2"}, 2, false},
		{"one of two", []Member{a, b}, []string{url(a)}, []string{"10.0.0.2"}, 2, false},
		{"one that has not started", []Member{a, {ID: 2, PeerURLs: b.PeerURLs}}, []string{url(a)}, []string{"10.0.0.2"}, 2, false},
		{"a learner", []Member{a, learner}, []string{url(a)}, []string{"10.0.0.4"}, 4, false},
		{"learners do not count", []Member{a, b, learner}, []string{url(b), url(learner)}, []string{"10.0.0.2"}, 0, true},
		{"no majority is left", []Member{a, b, c}, []string{url(a), url(c)}, []string{"fd00::3"}, 0, true},
		{"the only one", []Member{a}, []string{url(a)}, []string{"10.0.0.1"}, 0, true},
		{"no such member", []Member{a, b}, nil, []string{"10.0.0.3", ""}, 0, false},
	} {
		m, found, err := Removal(tc.members, tc.healthy, tc.addresses)
		if m.ID != tc.want || found != (tc.want != 0) || (err != nil) != tc.refused {
			t.Errorf("%s: member %d, %t, %v", tc.name, m.ID, found, err)
		}
		if tc.refused && !strings.Contains(err.Error(), "of etcd") {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}
