package cli

import (
	"context"
	"fmt"

	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// siteDepotUsage is the help of --depot of the commands that call siteDepot.
const siteDepotUsage = "URL of the depot (default: depot-url of ConfigMap config-bpa)"

// siteDepot connects to the depot that the flags name, or else to the one of the site's settings.
func (s *session) siteDepot(ctx context.Context, f depotFlags) (*client.Depot, error) {
	if f.url != "" {
		return f.connect(ctx, "depot")
	}
	site, err := s.connect()
	if err != nil {
		return nil, err
	}
	parsed, err := site.readSettings(ctx, "which name the depot")
	if err != nil {
		return nil, fmt.Errorf("%w\nCorrect that, or name the depot with --depot", err)
	}
	if parsed.Depot.URL == "" {
		return nil, usageError(fmt.Errorf("--depot is missing: the URL of the depot; ConfigMap %s in namespace %s names none", settings.Name, settings.Namespace))
	}
	f.use(parsed.Depot)
	return f.connect(ctx, "depot")
}

// use takes the address of the depot, and its CA unless a flag names one.
func (f *depotFlags) use(d settings.Depot) {
	f.url, f.ca = d.URL, d.CA
}
