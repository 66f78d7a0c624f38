/** The limits of a server: those of `rateLimit()`, and those that its tools, prompts and resources declare for themselves. */

import type { CallAttempt } from '../../declarations/call-attempt.ts'
import type { RateLimit } from '../../declarations/caller.ts'
import type { Declarations } from '../../declarations/declarations.ts'
import { entryOf } from '../../engine/required-scopes.ts'
import { bindingOf, type Rate, readQuota, readRate } from './parse-rate.ts'

/** The limits of one caller for the server, or for one entry. */
export type DeclaredLimit = {
  /** Name of the entry; empty for the server. */
  readonly what: string
  readonly rate: Rate | undefined
  readonly quota: Rate | undefined
  readonly concurrent: number
}

/** @throws Error with one sentence that names the fix */
export function readLimit(
  { rate, quota, concurrent = Number.POSITIVE_INFINITY }: RateLimit,
  what: string,
  owner: string,
): DeclaredLimit {
  return {
    what,
    rate: rate === undefined ? undefined : readRate(rate, owner),
    quota: quota === undefined ? undefined : readQuota(quota, owner),
    concurrent,
  }
}

export class DeclaredLimits {
  /** The limits of every call. */
  readonly common: DeclaredLimit
  readonly #byEntry = new WeakMap<RateLimit, DeclaredLimit>()

  constructor(common: DeclaredLimit) {
    this.common = common
  }

  /** Reads the limits of all entries. @throws Error with one sentence that names the fix */
  read(declarations: Declarations): void {
    for (const { owner, what, limit } of limitedEntries(declarations)) {
      if (!this.#byEntry.has(limit)) this.#byEntry.set(limit, readLimit(limit, what, owner))
    }
  }

  /** Returns the limits of the server, and those of the entry that a call names. */
  of(
    declarations: Declarations,
    { method, params = {} }: Pick<CallAttempt, 'method'> & Partial<CallAttempt>,
  ): readonly DeclaredLimit[] {
    const limit = entryOf(declarations, method, params)?.rateLimit
    // What is declared after serve() was called is read when it is first used.
    if (limit && !this.#byEntry.has(limit)) this.read(declarations)
    const own = limit && this.#byEntry.get(limit)
    return own ? [this.common, own] : [this.common]
  }
}

/** Returns the names of limits that the Durable Object of states counts. */
export function limitsWithState(
  common: DeclaredLimit,
  declarations: Declarations,
  bindings: Readonly<Record<string, unknown>>,
): readonly string[] {
  const namesOf = ({ quota, rate }: DeclaredLimit, owner: string) => {
    const names = quota ? [`the quota "${quota.text}" of ${owner}`] : []
    const binding = rate && bindingOf(rate)
    if (rate && binding && !bindings[binding]) {
      names.push(`the rate "${rate.text}" of ${owner} (which has no binding ${binding})`)
    }
    return names
  }
  return [
    ...namesOf(common, 'rateLimit()'),
    ...limitedEntries(declarations).flatMap(({ owner, what, limit }) =>
      namesOf(readLimit(limit, what, owner), `"${what}"`),
    ),
  ]
}

/** Returns the entries with limits of their own. */
function limitedEntries({ tools, prompts, resources, templates, forwarded }: Declarations) {
  const entries = [
    ...[...tools, ...forwarded.flatMap(({ guarded }) => [...guarded])].map(([name, { rateLimit }]) => ({
      owner: `The tool "${name}"`,
      what: name,
      limit: rateLimit,
    })),
    ...[...prompts].map(([name, { rateLimit }]) => ({
      owner: `The prompt "${name}"`,
      what: `prompt ${name}`,
      limit: rateLimit,
    })),
    ...[...resources, ...templates].map(([uri, { rateLimit }]) => ({
      owner: `The resource "${uri}"`,
      what: uri,
      limit: rateLimit,
    })),
  ]
  return entries.flatMap(({ limit, ...rest }) => (limit ? [{ ...rest, limit }] : []))
}
