/** Tells what a server cannot do without its Durable Objects, and what to add. */
export function warnOfMissingExports(names: readonly string[]): void {
  console.warn(
    `edgemcp runs without sessions, streams and updates: this Worker has no Durable Object class ${names.join(' and ')}. ` +
      `Add to it\n\nexport const { ${names.join(', ')} } = worker\n\nand to its wrangler.toml\n\n` +
      `[[migrations]]\ntag = "v1"\nnew_sqlite_classes = ["${names.join('", "')}"]`,
  )
}
