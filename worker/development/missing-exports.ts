import { hasClass } from '../platform.ts'

/** Tells what a server cannot do without its Durable Objects, and what to add. */
export function warnOfMissingExports(names: readonly string[]): void {
  const missing = names.filter((name) => !hasClass(name))
  if (missing.length === 0) return
  console.warn(
    `edgemcp runs without sessions, streams and updates: this Worker has no Durable Object class ${missing.join(' and ')}. ` +
      `Add to it\n\nexport const { ${missing.join(', ')} } = worker\n\nand to its wrangler.toml\n\n` +
      `[[migrations]]\ntag = "v1"\nnew_sqlite_classes = ["${missing.join('", "')}"]`,
  )
}
