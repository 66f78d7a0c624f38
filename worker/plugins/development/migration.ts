/** Returns the migration in wrangler.toml that adds classes. Its tag contains their names, so it is unique in any project. */
export const migrationFor = (classes: readonly string[]): string =>
  `a migration of its own to the end of its wrangler.toml\n\n[[migrations]]\ntag = "add-${classes.join('-')}"\n` +
  `new_sqlite_classes = ["${classes.join('", "')}"]`
