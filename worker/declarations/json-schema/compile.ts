/**
 * Checks values by a JSON Schema. A schema is read once, into functions; no code is generated, which Workers refuse.
 *
 * @see https://json-schema.org/draft/2020-12/json-schema-core
 */

import { isObject } from '../../protocol/jsonrpc.ts'
import type { JsonSchema, Params } from '../../protocol/types.ts'
import type { Issues } from '../schema.ts'
import { accept, all, type Check, circle, groups, none, refuse } from './keywords.ts'

class InvalidSchema extends Error {}

/** Where a schema without `$id` is. */
const nowhere = 'schema:/'

/**
 * Where a check is.
 *
 * @param bases the schema resources on the way here, the outermost first: a dynamic reference searches them
 */
const emptyScope = (...bases: readonly string[]) => ({
  bases,
  /** What references found. Without it, alternatives in a recursive schema would take exponential time. */
  found: new Map<Check, Map<unknown, Issues>>(),
})

/**
 * Reads a schema. It may refer to itself: a reference that comes back without having gone into the value fits nothing.
 *
 * @param owner who has the schema, for the errors: `input of tool "greet"`
 * @returns the check: what is wrong with a value, which is nothing when it fits
 * @throws Error with one sentence when a keyword makes no sense or a reference leads nowhere
 */
export function compile(schema: JsonSchema, owner: string): (value: unknown) => Issues {
  const checks = new Map<unknown, Check>([
    [true, accept],
    [false, refuse],
  ])
  // By URI: the schemas that have a name.
  const named = new Map<string, unknown>([[`${nowhere}#`, schema]])
  const dynamic = new Set<string>()
  const unresolved: (() => void)[] = []
  let scope = emptyScope()

  const root = attempt(
    () => read(schema, nowhere),
    () => 'has an $id that is no URI',
  )
  // What a reference leads to may refer to more.
  for (const resolve of unresolved) resolve()
  return (value) => {
    scope = emptyScope()
    return root(value)
  }

  function read(schema: unknown, outerBase: string): Check {
    const known = checks.get(schema)
    if (known) return known
    if (!isObject(schema)) throw new TypeError()
    const steps: Check[] = []
    const collects = schema.unevaluatedProperties !== undefined || schema.unevaluatedItems !== undefined
    const check: Check = (value, seen) => {
      const own = seen || collects ? new Set<string | number>() : undefined
      const outer = scope
      if (dynamic.size > 0 && !scope.bases.includes(base)) scope = emptyScope(...scope.bases, base)
      let issues = none
      for (const step of steps) {
        issues = step(value, own)
        if (issues.length > 0) break
      }
      scope = outer
      if (seen && own && issues.length === 0) for (const key of own) seen.add(key)
      return issues
    }
    checks.set(schema, check)
    const base = name(schema, outerBase)
    const place = {
      schema,
      read: (part: unknown) => read(part, base),
      refer: (reference: string, isDynamic: boolean) => refer(reference, base, isDynamic),
    }
    for (const [is, keywords] of groups) {
      const compiled: Check<never>[] = []
      for (const [keyword, make] of keywords) {
        const parameter = schema[keyword]
        if (parameter === undefined) continue
        const problem = () => `makes no sense at ${keyword}: ${JSON.stringify(parameter)}`
        compiled.push(attempt(() => make(parameter, place), problem))
      }
      const step = all(compiled)
      if (compiled.length > 0) steps.push((value, seen) => (is(value) ? step(value as never, seen) : none))
    }
    return check
  }

  /** Notes what a schema is called. Returns the URI that references in it start from. */
  function name(schema: Params, outerBase: string): string {
    const { $id, $anchor, $dynamicAnchor, $recursiveAnchor } = schema
    // In draft 7, an $id with nothing before its # is an anchor.
    const [path, anchor] = String($id ?? '').split('#')
    const base = locate(path, outerBase)
    if (path) named.set(`${base}#`, schema)
    for (const name of [anchor, $anchor, $dynamicAnchor]) if (name) named.set(`${base}#${name}`, schema)
    if ($dynamicAnchor) dynamic.add(`${base}#${$dynamicAnchor}`)
    if ($recursiveAnchor) dynamic.add(`${base}#`)
    return base
  }

  function refer(reference: string, base: string, isDynamic: boolean): Check {
    let target = refuse
    let anchor = ''
    const resolve = () => {
      const [path, fragment = ''] = reference.split('#')
      const resource = locate(path, base)
      const [name, ...steps] = decodeURIComponent(fragment).split('/')
      let found = named.get(`${resource}#${name}`)
      for (const step of steps) {
        const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
        found = Object.hasOwn(Object(found), key) ? (found as Params)[key] : undefined
      }
      target = read(found, resource)
      if (isDynamic && dynamic.has(`${resource}#${fragment}`)) anchor = `#${fragment}`
    }
    unresolved.push(() =>
      attempt(
        resolve,
        () => `refers to ${reference}, which is not in it: put that schema under $defs and refer to it there`,
      ),
    )
    return (value, seen) => {
      const outermost = anchor && scope.bases.find((base) => dynamic.has(base + anchor))
      const check = checks.get(named.get(outermost + anchor)) ?? target
      const results = scope.found.get(check) ?? new Map<unknown, Issues>()
      scope.found.set(check, results)
      let issues = results.get(value)
      if (!issues || (seen && issues !== circle)) {
        results.set(value, circle)
        issues = check(value, seen)
        results.set(value, issues)
      }
      return issues
    }
  }

  function attempt<T>(make: () => T, problem: () => string): T {
    try {
      return make()
    } catch (cause) {
      throw cause instanceof InvalidSchema ? cause : new InvalidSchema(`The ${owner} ${problem()}`)
    }
  }
}

const locate = (path: string | undefined, base: string) => (path ? new URL(path, base).href : base)
