import { hasClass, isExported } from '../../platform.ts'
import { migrationFor } from './migration.ts'

/** The Durable Object classes that an endpoint needs, by their exported names. */
export type RequiredClasses = {
  readonly session: string
  readonly plugins: readonly string[]
}

/** Warns of Durable Object classes that the Worker does not export: what the endpoint cannot do without them, and what to add. */
export function warnOfMissingClasses({ session, plugins }: RequiredClasses): void {
  const missing = plugins.filter((name) => !hasClass(name))
  if (missing.length === 0) return
  const unexported = missing.filter((name) => !isExported(name))
  const exporting = unexported.length > 0 ? `to it\n\nexport const { ${unexported.join(', ')} } = worker\n\nand ` : ''
  const addition = exporting + migrationFor(missing)
  const without = missing.includes(session) ? 'sessions and streams' : `the plugins that need ${missing.join(' and ')}`
  console.warn(
    `edgemcp cannot run ${without}: this Worker has no Durable Object class ${missing.join(' and ')}. Add ${addition}`,
  )
}
