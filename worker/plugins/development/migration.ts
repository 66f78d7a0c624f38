/** Returns what declares classes in wrangler.toml. The tag names the classes, so it fits a project whatever migrations it has. */
export const migrationFor = (classes: readonly string[]): string =>
  `a migration of its own to the end of its wrangler.toml\n\n[[migrations]]\ntag = "add-${classes.join('-')}"\n` +
  `new_sqlite_classes = ["${classes.join('", "')}"]`
