package main

import "path/filepath"

// validateWorkspace checks that what the tools may read and write holds nothing of the gateway's own: no tokens, no
// database, and no config in which somebody could let himself in.
func validateWorkspace(c *checker, cfg *Config) {
	if cfg.Tools.Workspace == "" {
		return
	}
	own, err := cfg.own()
	if err != nil {
		c.add("tools.workspace", "%v", err)
		return
	}
	workspace := resolved(cfg.Tools.Workspace)
	for _, path := range own {
		if path = resolved(path); contains(workspace, path) {
			c.add("tools.workspace", "%s is in it, which tools must not reach; name a folder of its own", path)
			return
		}
	}
	if contains(resolved(cfg.DataDir), workspace) && !contains(resolved(cfg.work()), workspace) {
		c.add("tools.workspace", "%s is in data_dir, which tools must not reach; name a folder of its own", workspace)
	}
}

// resolved is a path without links, absolute; as it is as far as that does not work.
func resolved(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if parent := filepath.Dir(path); parent != path { // what is not there yet may lie in a folder that is a link
		return filepath.Join(resolved(parent), filepath.Base(path))
	}
	return path
}

// contains tells whether a path is a folder or lies in it; both are resolved.
func contains(folder, path string) bool {
	relative, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(relative)
}
