// Command plainregistry is the peer that the depot is measured against: the distribution project's registry with its file system storage and
// nothing around it, as its own binary runs it.
package main

import (
	"context"
	"flag"
	"log"
	"net/http"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem" // the storage below
	"github.com/sirupsen/logrus"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:5001", "address")
	root := flag.String("root", "", "directory of the store")
	flag.Parse()
	logrus.SetLevel(logrus.FatalLevel) // it calls a HEAD of what is not there an error
	app := handlers.NewApp(context.Background(), &configuration.Configuration{
		Version: configuration.MajorMinorVersion(0, 1),
		Log:     configuration.Log{Level: "fatal"},
		Storage: configuration.Storage{"filesystem": {"rootdirectory": *root}, "delete": {"enabled": true}},
	})
	log.Fatal(http.ListenAndServe(*listen, app)) //nolint:gosec // a peer on loopback for as long as a measurement lasts
}
