/** Checks of the options of policies. */
import { checkOptions, type KindsOf } from '../declarations/check-options.ts'
import { required, strings } from '../declarations/option-kinds.ts'
import { checkPolicy } from './check-policy.ts'
import type { Policy } from './guard.ts'
import type { BrowserOptions } from './policies.ts'

export const policyKinds: KindsOf<Policy> = { origins: strings, hosts: strings }

/** @throws Error that says what to write instead */
export function checkBrowserPolicy(options: BrowserOptions): void {
  checkOptions('policies.browser()', options, { ...policyKinds, origins: required(policyKinds.origins) })
  const { origins, hosts = [] } = options
  if (origins.length === 0) {
    throw new Error("policies.browser() needs pages: policies.browser({ origins: ['https://app.example.com'] })")
  }
  if (origins.includes('*')) throw new Error('"*" is every page there is: use policies.public')
  checkPolicy({ origins, hosts })
}
