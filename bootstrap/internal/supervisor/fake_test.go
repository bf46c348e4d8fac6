package supervisor

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// TestMain lets the test binary act as a supervised program: the variable FAKE selects its
// behaviour.
func TestMain(m *testing.M) {
	if part := os.Getenv("FAKE"); part != "" {
		play(part)
		return
	}
	os.Exit(m.Run())
}

// play runs one of these behaviours:
//
//	server       sends READY and runs until SIGTERM
//	mute         never sends READY, runs until SIGTERM
//	stubborn     sends READY and ignores SIGTERM
//	crash        exits at once with status 3
//	web ADDR     serves 200 at http://ADDR after READY
func play(part string) {
	journal("start")
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	switch part {
	case "crash":
		os.Exit(3)
	case "mute":
	case "web":
		go func() {
			_ = http.ListenAndServe(os.Getenv("FAKE_ADDR"), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		}()
		sendReady()
	default:
		sendReady()
	}
	for {
		<-terminated
		if part != "stubborn" {
			journal("stop")
			return
		}
	}
}

func sendReady() {
	conn, err := net.Dial("unixgram", os.Getenv("NOTIFY_SOCKET"))
	if err == nil {
		_, err = conn.Write([]byte("STATUS=up\nREADY=1\n"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "notify:", err)
	}
}

// journal appends "<event> <name>" to the file that all fakes of a test share.
func journal(event string) {
	file, err := os.OpenFile(os.Getenv("FAKE_JOURNAL"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer file.Close()
	fmt.Fprintln(file, event, os.Getenv("FAKE_NAME"))
}
