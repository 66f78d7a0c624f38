import type { Declarations } from '../../declarations/declarations.ts'
import type { Auth } from '../../request-hooks.ts'

/** The options of `serve()` that restrict callers. */
export type Guards = { auth?: Auth | undefined; limiter?: object | undefined }

/** Warns of scopes on a server without `auth`, and of limits on a server without `rateLimit()`. */
export function warnOfUnguarded(
  { tools, resources, templates, prompts }: Declarations,
  { auth, limiter }: Guards,
): void {
  const entries = [tools, resources, templates, prompts].flatMap((kind) => [...kind.entries()])
  const named = (found: typeof entries) => found.map(([name]) => `"${name}"`).join(', ')
  const scoped = entries.filter(([, { scopes = [] }]) => scopes.length > 0)
  if (!auth && scoped.length > 0) {
    console.warn(
      `edgemcp refuses every call of ${named(scoped)}: scopes need auth, so pass auth to serve(), such as auth: bearer({ issuer })`,
    )
  }
  const limited = entries.filter(([, entry]) => entry.rateLimit)
  if (!limiter && limited.length > 0) {
    console.warn(
      `edgemcp ignores the rateLimit of ${named(limited)}: add rateLimit() of "edgemcp/rate-limit" to the plugins of serve()`,
    )
  }
}
