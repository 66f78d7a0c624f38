/** What a request names: its method and its entry, looked up once for each round of a call. */

import type { Guarded } from '../declarations/caller.ts'
import type { Declarations } from '../declarations/declarations.ts'
import type { Params } from '../protocol/types.ts'
import { declaredMethod, methods } from './methods/index.ts'
import { isVisible } from './methods/lists.ts'
import type { EntryName, Found, Target } from './methods/method.ts'
import { findResource, findTemplate } from './methods/resources.ts'
import { mergeScopes } from './required-scopes.ts'

/** Looks up what a request names. Params that an interceptor has changed need a target of their own. */
export function resolve(
  declarations: Declarations,
  { method: name, params = {} }: { readonly method: string; readonly params?: Params },
): Target {
  const known = methods[name]
  const added = declaredMethod(declarations, name)
  const decisions = new Map<Guarded, Promise<boolean>>()
  let found: Found | undefined
  const target: Target = {
    // Found when it is first read: a function of `proxy()` that decides about scopes may throw, and the step reports it.
    get found() {
      found ??= find(declarations, known?.names?.(params))
      return found
    },
    methodIn: ({ requests }) => (requests.has(name) ? known : undefined),
    callIn(revision) {
      const method = added ?? target.methodIn(revision)
      return method?.requires ? undefined : method
    },
    guards(open) {
      const entries = (scopes = added?.requiredScopes) =>
        scopes ? [{ visibleTo: undefined, scopes }] : target.found.entries
      return added?.scopes ? added.scopes(params, open).then(entries) : entries()
    },
    decideAgain: () => decisions.clear(),
    isVisible(entry, context) {
      const decision = decisions.get(entry) ?? isVisible(entry, context)
      decisions.set(entry, decision)
      return decision
    },
  }
  return target
}

function find(declarations: Declarations, named: EntryName | undefined): Found {
  if (!named) return { entries: [] }
  const { kind, name } = named
  const tool = kind === 'tool' ? declarations.tools.get(name) : undefined
  const prompt = kind === 'prompt' ? declarations.prompts.get(name) : undefined
  const isNamed = kind === 'tool' || kind === 'prompt'
  const match = isNamed ? undefined : findResource(declarations, name)
  const resource = isNamed ? undefined : (findTemplate(declarations, name) ?? match?.resource)
  const own = tool ?? prompt ?? resource
  // Of all upstreams that may have the entry: only a request shows which of them has it.
  const entries = own ? [own] : declarations.forwarded.flatMap((upstream) => upstream.accessTo(kind, name) ?? [])
  return { tool, prompt, resource, match, entries, entry: entries.length > 1 ? mergeScopes(entries) : entries[0] }
}
