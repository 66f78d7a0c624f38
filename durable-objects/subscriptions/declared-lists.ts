/** The declared tools, prompts and resources as a short text, by which an object notices that a deployment has changed them. */
import type { Declarations } from '../../worker/declarations/declarations.ts'
import { type List, lists } from '../../worker/protocol/changes.ts'
import { hash } from '../../worker/protocol/hash.ts'

const known = new WeakMap<Declarations, { readonly version: number; readonly text: string }>()

/** Returns a text that changes when a list changes: a number for each list. Computed once in each isolate. */
export function listsText(declarations: Declarations): string {
  const { version, tools, prompts, resources, templates } = declarations
  const cached = known.get(declarations)
  if (cached?.version === version) return cached.text
  const entries = {
    tools: [...tools.values()],
    prompts: [...prompts.values()],
    resources: [...resources.values(), ...templates.values()],
  }
  const hashOf = (list: List) =>
    hash(
      JSON.stringify(
        entries[list].map(({ item, scopes, listWithoutScopes, enabled }) => [item, scopes, listWithoutScopes, enabled]),
      ),
    )
  const text = lists.map((list) => hashOf(list).toString(36)).join(' ')
  known.set(declarations, { version, text })
  return text
}

const emptyList = hash('[]').toString(36)

/** Returns the lists that differ, except those that were empty: the server has not offered their changes to its clients. */
export function changedLists(before: string, now: string): List[] {
  const [one, other] = [before.split(' '), now.split(' ')]
  return lists.filter((_, index) => one[index] !== emptyList && one[index] !== other[index])
}
