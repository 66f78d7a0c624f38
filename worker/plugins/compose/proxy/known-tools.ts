import { BoundedMap } from '../../../protocol/bounded-map.ts'
import { isObject } from '../../../protocol/jsonrpc.ts'
import { type HeaderParameter, headerParameters } from '../../../protocol/param-headers.ts'
import type { JsonSchema, Params } from '../../../protocol/types.ts'
import { maxKeyCharacters } from './listed-ids.ts'
import { SizedMap } from './sized-map.ts'
import type { UpstreamHeaders } from './upstream-headers.ts'
import { headersKey } from './upstream-sessions.ts'

/** Tools in memory, those of each set of headers counted. A tool that is not there is sent once and without mirrored arguments, or its list is read again. */
const maxTools = 20_000
/** Characters of the names and mirrored arguments of all tools in memory, as JSON: the upstream chooses their length, for each set of headers. */
const maxCharacters = 2_000_000
/** Sets of headers in memory. */
const maxCredentials = 1000

/** What calls of a tool need to know. */
export type KnownTool = {
  /** Whether calls may be sent again: the annotations say that the tool only reads, or is idempotent. */
  readonly isSafeToRetry: boolean
  /** The output schema, with the `type` `object` only. A tool without a schema has it, too: it changes no result. */
  readonly outputSchema: JsonSchema
  /**
   * The arguments that calls repeat in headers.
   *
   * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#custom-headers-from-tool-parameters
   */
  readonly mirrored: readonly HeaderParameter[]
  /** Whether clients must reject the tool, so that it is neither listed nor called. */
  readonly isRefused?: true
}

/** The mirrored arguments are a text, whose length is known. */
type StoredTool = Omit<KnownTool, 'mirrored'> & { readonly mirrored: string }

/** A tool that no list has. */
const unlisted: StoredTool = { isSafeToRetry: false, outputSchema: { type: 'object' }, mirrored: '' }
const refused: StoredTool = { ...unlisted, isRefused: true }

/**
 * The tools of an upstream, as far as its lists have been read. What an upstream lists can depend on the credential, so the list of one caller
 * says nothing about the calls of another one: tools are stored for the headers with which they were listed.
 */
export class KnownTools {
  readonly #tools = new SizedMap<StoredTool>({ maxEntries: maxTools, maxCharacters })
  /** Short keys for headers. A number is never used again. */
  readonly #numbers = new BoundedMap<string, number>({ maxEntries: maxCredentials, maxKeyCharacters })
  #count = 0

  /** Stores tools; of several with one name the first, which lists contain. @param tools under their names on the upstream */
  learn(headers: UpstreamHeaders, tools: readonly Params[]): void {
    const number = this.#numberOf(headers)
    for (const tool of [...tools].reverse()) this.#set(number, tool.name, stored(tool))
  }

  /** Stores that no list has a tool. @param name on the upstream */
  setUnlisted(headers: UpstreamHeaders, name: string): void {
    this.#set(this.#numberOf(headers), name, unlisted)
  }

  /** Stores that clients must reject tools. @param names on the upstream */
  refuse(headers: UpstreamHeaders, names: readonly unknown[]): void {
    const number = this.#numberOf(headers)
    for (const name of names) this.#set(number, name, refused)
  }

  /** Returns a tool; `undefined` if no list for these headers has been read that had it. @param name on the upstream */
  get(headers: UpstreamHeaders, name: unknown): KnownTool | undefined {
    const tool = this.#tools.get(`${this.#numberOf(headers)} ${name}`)
    return tool && { ...tool, mirrored: tool.mirrored === '' ? [] : JSON.parse(tool.mirrored) }
  }

  /** @param tool `undefined`: its mirrored arguments are longer than those of all tools may be */
  #set(number: number, name: unknown, tool: StoredTool | undefined): void {
    this.#tools.set(`${number} ${name}`, tool ?? unlisted, tool ? tool.mirrored.length : Number.POSITIVE_INFINITY)
  }

  #numberOf(headers: UpstreamHeaders): number {
    const key = headersKey(headers)
    const number = this.#numbers.get(key)
    if (number !== undefined) return number
    this.#count += 1
    this.#numbers.set(key, this.#count)
    return this.#count
  }
}

/** @returns `undefined` if the mirrored arguments are too long. Each has its whole path, so their JSON can be a hundred times the schema */
function stored({ annotations, outputSchema, inputSchema }: Params): StoredTool | undefined {
  const mirrored = isObject(inputSchema) ? headerParameters(inputSchema) : []
  let characters = 0
  for (const { header, path } of mirrored) for (const name of [header, ...path]) characters += name.length
  if (characters > maxCharacters) return undefined
  return {
    isSafeToRetry: isObject(annotations) && (annotations.readOnlyHint === true || annotations.idempotentHint === true),
    outputSchema: isObject(outputSchema) && outputSchema.type !== 'object' ? {} : unlisted.outputSchema,
    mirrored: mirrored.length === 0 ? '' : JSON.stringify(mirrored),
  }
}
