// Package installplugins is the task install-plugins, which gives a cluster the plugins of the request
// and removes the plugins that the request does not list any more.
//
// It works on the cluster as a user of its own, whose key only exists in its memory and whose rights it
// deletes at the end. For each plugin, in the order of their needs, it runs the playbook on the nodes,
// applies the objects, waits until they are ready and runs the test. It stores the state of all plugins
// after each of them.
//
// Invariants: it deletes only objects that the plugin's inventory in the cluster lists and that have
// the plugin's label. An object is in the inventory before it is applied, so that a later run finds
// everything that a killed one has left. A plugin that is Skipped has nothing in the cluster. A failed
// plugin does not keep plugins that do not need it from being installed. A second run applies
// everything again, which repairs what others have changed.
package installplugins
