import type { Declarations } from '../../declarations/declarations.ts'
import { declaredNames } from '../../declarations/state-declaration.ts'
import { hasClass, isExported } from '../../platform.ts'
import type { Limiter } from '../../request-hooks.ts'
import { atFirstRequest } from './at-first-request.ts'
import { migrationFor } from './migration.ts'

/** Classes in which servers of this Worker store states. */
const classNames = new Set<string>()

/** Warns if a server needs the class of states and the Worker does not export it: requests that need it fail. */
export function warnOfMissingState(
  declarations: Declarations,
  limiter: () => Limiter | undefined,
  className: string,
): void {
  classNames.add(className)
  atFirstRequest(() => {
    if (hasClass(className)) return
    // A state belongs to no server in particular, so another server of this Worker may keep it.
    const states = [...classNames].some(hasClass) ? [] : declaredNames().map((name) => `the state "${name}"`)
    const needs = [...(limiter()?.needsState?.(declarations) ?? []), ...states]
    if (needs.length === 0) return
    const list = needs.join(', ').replace(/, ([^,]*)$/, ' and $1')
    const alias = className === 'McpState' ? '' : ` as ${className}`
    const exporting = isExported(className) ? '' : `to it\n\nexport { McpState${alias} } from 'edgemcp/state'\n\nand `
    const addition = exporting + migrationFor([className])
    console.warn(
      `edgemcp cannot store ${list}: this Worker has no Durable Object class ${className}. Requests that need it fail. Add ${addition}`,
    )
  })
}
