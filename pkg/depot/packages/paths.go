package packages

import (
	"archive/tar"
	"errors"
	"fmt"
	"path"
	"strings"
)

// paths checks the paths and links of an archive. Every path must stay in the folder into which it is
// unpacked, whatever the links before it are.
type paths struct {
	folders, links map[string]bool // clean paths
	bytes          int
}

// add checks an entry and returns its clean path.
func (p *paths) add(header *tar.Header) (string, error) {
	at, err := inside(header.Name)
	if err != nil {
		return "", err
	}
	switch header.Typeflag {
	case tar.TypeReg, tar.TypeDir, tar.TypeGNUSparse:
	case tar.TypeSymlink:
		err = checkTarget(at, header.Linkname)
	case tar.TypeLink:
		err = p.checkHardLink(at, header.Linkname)
	case tar.TypeXGlobalHeader:
		return ".", nil
	default:
		err = fmt.Errorf("%.200q is neither a file, a folder nor a link", header.Name)
	}
	if err != nil {
		return "", err
	}
	if err := p.checkParents(at); err != nil {
		return "", err
	}
	if header.Typeflag == tar.TypeSymlink {
		if p.folders[at] {
			return "", fmt.Errorf("link %.200q replaces a folder of the archive", at)
		}
		return at, p.keep(p.links, at)
	}
	delete(p.links, at) // a file replaces the link
	if header.Typeflag == tar.TypeDir {
		return at, p.keep(p.folders, at)
	}
	return at, nil
}

// inside returns the clean form of a path below the archive's root.
func inside(name string) (string, error) {
	at := path.Clean(name)
	if name == "" || len(name) > maxPath || strings.ContainsAny(name, "\x00\\") || path.IsAbs(name) || hasDotDot(name) {
		return "", fmt.Errorf("path %.200q leads out of the archive, or is longer than %d bytes", name, maxPath)
	}
	return at, nil
}

func hasDotDot(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return true
		}
	}
	return false
}

// checkTarget checks the target of a symbolic link. ".." may only be at its beginning: after the name of
// another link, it would leave the folder to which that link points.
func checkTarget(at, target string) error {
	rest, depth := target, strings.Count(at, "/")
	for rest == ".." || strings.HasPrefix(rest, "../") {
		rest = strings.TrimPrefix(strings.TrimPrefix(rest, ".."), "/")
		depth--
	}
	if target == "" || len(target) > maxPath || path.IsAbs(target) || strings.ContainsAny(target, "\x00\\") || depth < 0 || path.IsAbs(rest) || hasDotDot(rest) {
		return fmt.Errorf("link %.200q to %.200q leads out of the archive", at, target)
	}
	return nil
}

// checkHardLink checks the target of a hard link, a path from the archive's root.
func (p *paths) checkHardLink(at, target string) error {
	to, err := inside(target)
	if err != nil || p.links[to] || p.checkParents(to) != nil {
		return fmt.Errorf("link %.200q to %.200q leads out of the archive", at, target)
	}
	return nil
}

// checkParents refuses a path below a link, and keeps the folders of the path.
func (p *paths) checkParents(at string) error {
	for dir := path.Dir(at); dir != "."; dir = path.Dir(dir) {
		if p.links[dir] {
			return fmt.Errorf("path %.200q is below a link of the archive", at)
		}
		if p.folders[dir] { // then its parents are known too
			return nil
		}
		if err := p.keep(p.folders, dir); err != nil {
			return err
		}
	}
	return nil
}

func (p *paths) keep(in map[string]bool, at string) error {
	if in[at] {
		return nil
	}
	if p.bytes += len(at); p.bytes > maxPaths {
		return errors.New("the names of its folders and links are too long or too many")
	}
	in[at] = true
	return nil
}
