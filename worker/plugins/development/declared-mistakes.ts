/** Warnings of declarations that do not do what they say. */
import type { Declarations } from '../../declarations/declarations.ts'
import type { Auth } from '../../plugin.ts'

/** The options of `serve()` that restrict callers. */
export type Guards = { auth?: Auth | undefined; tenants?: object | undefined; limiter?: object | undefined }

const namesOf = (
  { tools, resources, templates, prompts }: Declarations,
  isFound: (entry: { readonly scopes?: readonly string[]; readonly rateLimit?: unknown }) => unknown,
) =>
  [tools, resources, templates, prompts]
    .flatMap((kind) => [...kind].filter(([, entry]) => isFound(entry)).map(([name]) => `"${name}"`))
    .join(', ')

/** Warns of scopes on a server without `auth`. */
export function warnOfScopes(declarations: Declarations): void {
  const names = namesOf(declarations, ({ scopes = [] }) => scopes.length > 0)
  if (names) {
    console.warn(
      `edgemcp refuses every call of ${names}: scopes need auth, so pass auth to serve(), such as auth: bearer({ issuer })`,
    )
  }
}

/** Warns of limits on a server without `rateLimit()`. */
export function warnOfLimits(declarations: Declarations): void {
  const names = namesOf(declarations, ({ rateLimit }) => rateLimit)
  if (names) {
    console.warn(
      `edgemcp ignores the rateLimit of ${names}: add rateLimit() of "edgemcp/rate-limit" to the plugins of serve()`,
    )
  }
}

/** Warns of resources whose URI has a variable as routers write it. */
export function warnOfColons({ resources }: Declarations): void {
  for (const uri of resources.keys()) {
    const written = uri.replace(/\/:(\w+)/g, '/{$1}')
    if (written === uri) continue
    console.warn(`edgemcp publishes the URI ${uri} as it is: write ${written} for variables, or %3A for a colon`)
  }
}
