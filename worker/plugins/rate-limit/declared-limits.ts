/** The limits of a server: those of `rateLimit()`, and those that its tools, prompts and resources declare for themselves. */

import type { Guarded, RateLimit } from '../../declarations/caller.ts'
import type { Declarations } from '../../declarations/declarations.ts'
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
  readonly #byEntry = new WeakMap<Guarded, DeclaredLimit>()

  constructor(common: DeclaredLimit) {
    this.common = common
  }

  /** Reads the limits of all entries. @throws Error with one sentence that names the fix */
  read(declarations: Declarations): void {
    for (const { owner, what, entry, limit } of limitedEntries(declarations)) {
      if (!this.#byEntry.has(entry)) this.#byEntry.set(entry, readLimit(limit, what, owner))
    }
  }

  /** Returns the limits of the server, and those of the entries. */
  of(declarations: Declarations, entries: readonly Guarded[]): readonly DeclaredLimit[] {
    const limited = entries.filter(({ rateLimit }) => rateLimit)
    // What is declared after serve() was called is read when it is first used.
    if (limited.some((entry) => !this.#byEntry.has(entry))) this.read(declarations)
    return [this.common, ...limited.flatMap((entry) => this.#byEntry.get(entry) ?? [])]
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
  const entries: { owner: string; what: string; entry: Guarded }[] = [
    ...[...tools, ...forwarded.flatMap(({ guarded }) => [...guarded])].map(([name, entry]) => ({
      owner: `The tool "${name}"`,
      what: name,
      entry,
    })),
    ...[...prompts].map(([name, entry]) => ({ owner: `The prompt "${name}"`, what: `prompt ${name}`, entry })),
    ...[...resources, ...templates].map(([uri, entry]) => ({ owner: `The resource "${uri}"`, what: uri, entry })),
  ]
  return entries.flatMap(({ entry, ...rest }) => (entry.rateLimit ? [{ ...rest, entry, limit: entry.rateLimit }] : []))
}
