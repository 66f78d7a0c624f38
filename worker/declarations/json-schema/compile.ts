/**
 * Validates values by a JSON Schema. A schema is compiled once, into functions: Workers do not allow generated code.
 *
 * @see https://json-schema.org/draft/2020-12/json-schema-core
 */

import { resolvePointer } from '../../protocol/json-pointer.ts'
import { isObject } from '../../protocol/jsonrpc.ts'
import type { JsonSchema, Params } from '../../protocol/types.ts'
import type { Issues } from '../schema.ts'
import { accept, all, type Check, circle, groups, InvalidParameter, none, refuse, Seen } from './keywords.ts'
import { TooMuchWork, Work } from './work.ts'

class InvalidSchema extends Error {}

/** The URI of a schema without `$id`. */
const nowhere = 'schema:/'

/**
 * What checks of one value have in common.
 *
 * @param bases the schema resources on the way to a check, the outermost first: a dynamic reference searches them
 */
const emptyScope = (...bases: readonly string[]) => ({
  bases,
  /** Results of references. Without them, alternatives in a recursive schema would take exponential time. */
  results: new Map<Check, Map<unknown, Result>>(),
  /** How many results were stored since some were deleted. */
  stored: 0,
})

/** Results that a scope stores. A value that needs those of earlier parts needs the last ones. */
const mostResults = 100_000

/** Schemas whose evaluations are inside of each other: two thirds of those that the stack has room for. */
const mostLevels = 700

/** @param seen the evaluated properties and items, if they were collected */
type Result = { readonly issues: Issues; readonly seen: Seen | undefined }

/** The result of a reference whose check runs. */
const running: Result = { issues: circle, seen: undefined }
/** The result of most references. */
const passed: Result = { issues: none, seen: undefined }

/**
 * Compiles a schema. It may refer to itself; a reference that returns to its schema for the same value matches nothing.
 *
 * @param owner the owner of the schema, for errors: `inputSchema of tool "greet"`
 * @returns a function that returns the issues of a value, none if it is valid
 * @throws Error for an invalid keyword and for a reference without a target
 */
export const compile = (schema: JsonSchema, owner: string): ((value: unknown) => Issues) =>
  new SchemaCompiler(schema, owner).compile()

class SchemaCompiler {
  readonly #schema: JsonSchema
  readonly #owner: string
  readonly #checks = new Map<unknown, Check>([
    [true, accept],
    [false, refuse],
  ])
  /** Schemas with a name, by URI. */
  readonly #named: Map<string, unknown>
  /** URIs of dynamic anchors. */
  readonly #dynamic = new Set<string>()
  /** Resolve references, once every schema has been read. */
  readonly #references: (() => void)[] = []
  #scope = emptyScope()
  #levels = 0
  #work = new Work()

  constructor(schema: JsonSchema, owner: string) {
    this.#schema = schema
    this.#owner = owner
    this.#named = new Map([[`${nowhere}#`, schema]])
  }

  compile(): (value: unknown) => Issues {
    const check = this.#attempt(
      () => this.#read(this.#schema, nowhere),
      () => 'has an $id that is no URI',
    )
    // The schema that a reference leads to may have more references.
    for (const resolve of this.#references) resolve()
    return (value) => {
      try {
        return check(value)
      } catch (problem) {
        if (problem instanceof TooMuchWork) return [{ path: '', message: problem.message }]
        throw problem
      } finally {
        // They refer to the value of a caller.
        this.#scope = emptyScope()
        this.#levels = 0
        this.#work = new Work()
      }
    }
  }

  /** @param outerBase the base URI of references in the enclosing schema */
  #read(schema: unknown, outerBase: string): Check {
    const known = this.#checks.get(schema)
    if (known) return known
    if (!isObject(schema)) throw new InvalidParameter('a schema (an object, true or false)', schema)
    const steps: Check[] = []
    const base = this.#name(schema, outerBase)
    const check = this.#runSteps(steps, schema, base)
    // Before its parts are read, because they may refer to it.
    this.#checks.set(schema, check)
    const place = {
      schema,
      read: (part: unknown) => this.#read(part, base),
      refer: (reference: string, isDynamic: boolean) => this.#refer(reference, base, isDynamic),
      work: () => this.#work,
    }
    for (const [is, keywords] of groups) {
      const compiled: Check<never>[] = []
      for (const [keyword, make] of keywords) {
        const parameter = schema[keyword]
        if (parameter === undefined) continue
        const problem = (cause: unknown) => {
          const place = `#${pointerTo(schema, this.#schema) ?? '…'}/${keyword}`
          const { expected, found } =
            cause instanceof InvalidParameter ? cause : { expected: 'a valid value', found: parameter }
          return `is not a valid JSON Schema: expected ${expected} at ${place}, found ${JSON.stringify(found)}`
        }
        compiled.push(this.#attempt(() => make(parameter, place), problem))
      }
      const step = all(compiled)
      // `is` has checked the type of the value, which TypeScript cannot relate to the keywords of a group.
      if (compiled.length > 0) steps.push((value, seen) => (is(value) ? step(value as never, seen) : none))
    }
    return check
  }

  /** Returns the check of a schema: its steps, until one finds an issue. */
  #runSteps(steps: readonly Check[], schema: Params, base: string): Check {
    const collects = schema.unevaluatedProperties !== undefined || schema.unevaluatedItems !== undefined
    return (value, seen) => {
      this.#work.count(1)
      this.#levels += 1
      if (this.#levels > mostLevels) throw new TooMuchWork('has too many levels for its schema: nest it less')
      const own = seen || collects ? new Seen(this.#work) : undefined
      const outer = this.#scope
      if (this.#dynamic.size > 0 && !outer.bases.includes(base)) this.#scope = emptyScope(...outer.bases, base)
      let issues = none
      for (const step of steps) {
        issues = step(value, own)
        if (issues.length > 0) break
      }
      this.#scope = outer
      this.#levels -= 1
      if (own && issues.length === 0) seen?.addAll(own)
      return issues
    }
  }

  /** Registers the names of a schema. Returns the base URI of references in it. */
  #name(schema: Params, outerBase: string): string {
    const { $id, $anchor, $dynamicAnchor, $recursiveAnchor } = schema
    // In draft 7, an $id with nothing before its # is an anchor.
    const [path, anchor] = String($id ?? '').split('#')
    const base = locate(path, outerBase)
    if (path) this.#named.set(`${base}#`, schema)
    for (const name of [anchor, $anchor, $dynamicAnchor]) if (name) this.#named.set(`${base}#${name}`, schema)
    if ($dynamicAnchor) this.#dynamic.add(`${base}#${$dynamicAnchor}`)
    if ($recursiveAnchor) this.#dynamic.add(`${base}#`)
    return base
  }

  /** Returns the check of a reference, which is resolved later: the target may not have been compiled yet. */
  #refer(reference: string, base: string, isDynamic: boolean): Check {
    let target = refuse
    let anchor = ''
    const resolve = () => {
      const [path, fragment = ''] = reference.split('#')
      const resource = locate(path, base)
      target = this.#read(this.#find(resource, fragment), resource)
      if (isDynamic && this.#dynamic.has(`${resource}#${fragment}`)) anchor = `#${fragment}`
    }
    const problem = () =>
      `refers to ${reference}, which is not in it: put that schema under $defs and refer to it there`
    this.#references.push(() => this.#attempt(resolve, problem))
    return (value, seen) => {
      const scope = this.#scope
      const outermost = anchor && scope.bases.find((base) => this.#dynamic.has(base + anchor))
      const check = this.#checks.get(this.#named.get(outermost + anchor)) ?? target
      const results = scope.results.get(check) ?? new Map<unknown, Result>()
      scope.results.set(check, results)
      let result = results.get(value)
      if (!result || (result === passed && seen)) {
        const own = seen && new Seen(this.#work)
        results.set(value, running)
        const issues = check(value, own)
        result = own || issues.length > 0 ? { issues, seen: own } : passed
        if (++scope.stored > mostResults) deleteResults(scope)
        results.set(value, result)
      }
      if (result.seen) seen?.addAll(result.seen)
      return result.issues
    }
  }

  /** Returns the schema of a fragment: an anchor, or a JSON Pointer. */
  #find(resource: string, fragment: string): unknown {
    const decoded = decodeURIComponent(fragment)
    const [name = ''] = decoded.split('/', 1)
    return resolvePointer(this.#named.get(`${resource}#${name}`), decoded.slice(name.length))
  }

  /** @throws InvalidSchema when this fails */
  #attempt<T>(make: () => T, problem: (cause: unknown) => string): T {
    try {
      return make()
    } catch (cause) {
      throw cause instanceof InvalidSchema ? cause : new InvalidSchema(`The ${this.#owner} ${problem(cause)}`)
    }
  }
}

/** Deletes the results of a scope, but not that references run. */
function deleteResults(scope: ReturnType<typeof emptyScope>): void {
  scope.stored = 0
  for (const results of scope.results.values()) {
    for (const [value, result] of results) if (result !== running) results.delete(value)
  }
}

const locate = (path: string | undefined, base: string) => (path ? new URL(path, base).href : base)

/** Returns the JSON Pointer to an object inside a value; `undefined` if the value does not contain it. */
function pointerTo(target: object, value: unknown, seen = new Set<unknown>()): string | undefined {
  if (value === target) return ''
  if (typeof value !== 'object' || value === null || seen.has(value)) return undefined
  seen.add(value)
  for (const [name, member] of Object.entries(value)) {
    const rest = pointerTo(target, member, seen)
    if (rest !== undefined) return `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}${rest}`
  }
  return undefined
}
