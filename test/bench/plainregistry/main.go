// Command plainregistry is the peer with which the depot is compared. It is the distribution
// project's registry with its file system storage and no middleware, as in that project's binary.
package main

import (
	"context"
	"flag"
	"log"
	"net/http"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem" // registers the storage "filesystem"
	"github.com/sirupsen/logrus"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:5001", "address")
	root := flag.String("root", "", "directory of the store")
	flag.Parse()
	logrus.SetLevel(logrus.FatalLevel) // otherwise the registry logs each HEAD of missing content as an error
	app := handlers.NewApp(context.Background(), &configuration.Configuration{
		Version: configuration.MajorMinorVersion(0, 1),
		Log:     configuration.Log{Level: "fatal"},
		Storage: configuration.Storage{"filesystem": {"rootdirectory": *root}, "delete": {"enabled": true}},
	})
	log.Fatal(http.ListenAndServe(*listen, app)) //nolint:gosec // a peer on loopback for as long as a measurement lasts
}
