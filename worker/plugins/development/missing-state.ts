import { declaredNames } from '../../declarations/state-declaration.ts'
import { hasClass, isExported } from '../../platform.ts'
import { atFirstRequest } from './first-request.ts'
import { migrationFor } from './migration.ts'

/** The classes that servers of this Worker keep states in. */
const classNames = new Set<string>()

/** Warns when states are declared and the Worker has no class of states: requests that need it fail. */
export function warnOfMissingState(className: string): void {
  classNames.add(className)
  atFirstRequest(() => {
    // A state belongs to no server in particular, so another server of this Worker may keep it.
    if ([...classNames].some(hasClass)) return
    const states = declaredNames().map((name) => `the state "${name}"`)
    if (states.length === 0) return
    const list = states.join(', ').replace(/, ([^,]*)$/, ' and $1')
    const alias = className === 'McpState' ? '' : ` as ${className}`
    const exporting = isExported(className) ? '' : `to it\n\nexport { McpState${alias} } from 'edgemcp/state'\n\nand `
    const addition = exporting + migrationFor([className])
    console.warn(
      `edgemcp cannot keep ${list}: this Worker has no Durable Object class ${className}. Requests that need it fail. Add ${addition}`,
    )
  })
}
