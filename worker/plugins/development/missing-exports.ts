import { hasClass, isExported } from '../../platform.ts'
import { migrationFor } from './migration.ts'

/** Tells what a server cannot do without its Durable Objects, and what to add. */
export function warnOfMissingExports(names: readonly string[]): void {
  const missing = names.filter((name) => !hasClass(name))
  if (missing.length === 0) return
  const unexported = missing.filter((name) => !isExported(name))
  const exporting = unexported.length > 0 ? `to it\n\nexport const { ${unexported.join(', ')} } = worker\n\nand ` : ''
  const addition = exporting + migrationFor(missing)
  console.warn(
    `edgemcp runs without sessions, streams and subscriptions: this Worker has no Durable Object class ${missing.join(' and ')}. Add ${addition}`,
  )
}
