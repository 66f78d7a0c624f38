/** Options that select and change the tools of another server or of an API: those of `proxy()` and `openApiTools()`. */
import { consistsOf } from '../protocol/consists-of.ts'
import type { JsonSchema, ToolAnnotations } from '../protocol/types.ts'
import type { AccessOptions } from './caller.ts'
import { checkOptions, type KindsOf } from './check-options.ts'
import * as kind from './option-kinds.ts'

/** Changes one tool of another server or of an API. */
export type ToolOverride = Pick<AccessOptions, 'scopes' | 'rateLimit' | 'visibleTo'> & {
  /** Name on this server, after the prefix. Default: its own name. */
  readonly name?: string
  /** Name for users. Default: its own title. */
  readonly title?: string
  /** Description for the model. Default: its own description. */
  readonly description?: string
  /** Hints about side effects, merged with its own. `readOnlyHint` and `idempotentHint` allow retries. Default: its own. */
  readonly annotations?: ToolAnnotations
  /**
   * Schema of the structured content. `false` lists none. `proxy()` passes the result of the upstream on without validation;
   * `openApiTools()` reads the response as JSON and validates it. Default: that of the upstream; none for an operation.
   */
  readonly outputSchema?: JsonSchema | false
}

/** Selects and changes the tools of another server or of an API, by their own names: without prefix. */
export type ToolSelection = {
  /** Changes tools, by name. Default: none. */
  tools?: Readonly<Record<string, ToolOverride>>
  /** Names of the tools that this server has; `*` stands for any text, as in `get_*`. Default: all. */
  include?: readonly string[]
  /** Names of the tools that this server lacks, also if `include` names them; `*` stands for any text. Default: none. */
  exclude?: readonly string[]
}

const overrideKinds: KindsOf<ToolOverride> = {
  name: [
    (value) => typeof value === 'string' && kind.toolName.test(value),
    '1 to 128 letters, digits, "_", "." or "-"',
  ],
  title: kind.string,
  description: kind.string,
  annotations: kind.toolAnnotations,
  outputSchema: [(value) => value === false || kind.object()[0](value), 'a JSON Schema, or false'],
  scopes: kind.scopes,
  rateLimit: kind.object({ rate: kind.string, quota: kind.string, concurrent: kind.atLeastOne }),
  visibleTo: kind.fn,
}

export const selectionKinds: KindsOf<ToolSelection> = {
  tools: kind.object(undefined, "an object by name of the tool, such as { search: { scopes: ['read'] } }"),
  include: kind.strings,
  exclude: kind.strings,
}

type Pattern = (name: string) => boolean

/** A selection, ready for look-ups. */
export class SelectedTools {
  readonly overrides: ReadonlyMap<string, ToolOverride>
  readonly #include: readonly Pattern[] | undefined
  readonly #exclude: readonly Pattern[]
  /** Own names of the renamed tools, by their names on this server without prefix. */
  readonly #renamed = new Map<string, string>()
  /** The names and patterns of the options, with the option of each. */
  readonly #named: readonly { readonly option: string; readonly name: string }[]

  /**
   * @param owner the function with the options, such as `proxy()`
   * @throws Error for an invalid override, and for two tools with the same name
   */
  constructor(owner: string, { tools = {}, include, exclude = [] }: ToolSelection) {
    this.overrides = new Map(Object.entries(tools))
    this.#include = include?.map(patternOf)
    this.#exclude = exclude.map(patternOf)
    this.#named = [
      ...Object.keys(tools).map((name) => ({ option: 'tools', name })),
      ...(include ?? []).map((name) => ({ option: 'include', name })),
      ...exclude.map((name) => ({ option: 'exclude', name })),
    ]
    for (const [ownName, override] of this.overrides) {
      checkOptions(`${owner} for the tool "${ownName}"`, override, overrideKinds)
      if (!this.has(ownName)) continue
      const { name = ownName } = override
      if (this.#renamed.has(name)) {
        throw new Error(`${owner} gives the name "${name}" to two tools, "${this.#renamed.get(name)}" and "${ownName}"`)
      }
      this.#renamed.set(name, ownName)
    }
  }

  /** Whether this server has a tool. @param ownName its name without prefix, where it is declared */
  has(ownName: string): boolean {
    if (this.#exclude.some((pattern) => pattern(ownName))) return false
    return this.#include?.some((pattern) => pattern(ownName)) ?? true
  }

  /** Returns the name that a tool would have on this server, without prefix. */
  nameOf(ownName: string): string {
    return this.overrides.get(ownName)?.name ?? ownName
  }

  /** Returns the own name of a tool; `undefined` if this server has no tool with the name. @param name on this server, without prefix */
  ownNameOf(name: string): string | undefined {
    const ownName = this.#renamed.get(name) ?? name
    return this.nameOf(ownName) === name && this.has(ownName) ? ownName : undefined
  }

  /** Whether a tool that this server would have is left out, because the options give its name to another tool. */
  isTaken(ownName: string): boolean {
    return this.has(ownName) && this.ownNameOf(this.nameOf(ownName)) !== ownName
  }

  /** Returns the names and patterns of the options that no tool has, as `"tools" names "x"`. */
  findUnknown(ownNames: Iterable<string>): string[] {
    const known = [...ownNames]
    return this.#named
      .filter(({ name }) => !known.some(patternOf(name)))
      .map(({ option, name }) => `"${option}" names "${name}"`)
  }
}

/** Returns whether a name fits a pattern. Callers send names, so it never goes back in one. */
const patternOf = (pattern: string) => {
  const texts = pattern.split('*')
  return (name: string) => consistsOf(texts, name)
}
